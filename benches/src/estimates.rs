//! What Criterion measured in this run.

use std::path::PathBuf;

/// What a bench gives, or why it could not be made.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The median that Criterion wrote for a bench of this run, in nanoseconds.
///
/// # Errors
/// When it wrote none, as with `--test` and `--list`, which measure nothing.
pub fn median(group: &str, name: &str) -> Outcome<f64> {
    // Criterion writes below the target folder, in which the bench itself lies.
    let target = std::env::var_os("CRITERION_HOME")
        .map(PathBuf::from)
        .or_else(|| {
            let program = std::env::current_exe().ok()?;
            Some(program.ancestors().nth(3)?.join("criterion"))
        });
    let folder = target.ok_or("Criterion's folder was not found")?;
    let file = folder.join(group).join(name).join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    estimates["median"]["point_estimate"]
        .as_f64()
        .ok_or_else(|| format!("no median in {}", file.display()).into())
}
