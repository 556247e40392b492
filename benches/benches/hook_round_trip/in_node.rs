//! The addon inside Node, in turns with Node's own ways to ask the same child.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::table::Samples;
use crate::{Child, ENVELOPE, Outcome, built};

/// What was measured with one child.
pub struct Node {
    /// `execFileSync`, which stops the host.
    pub exec_file_sync: Samples,
    /// `execFile`.
    pub exec_file: Samples,
    /// The addon with `warm_hook` off.
    pub cold: Samples,
    /// The addon in a run.
    pub warm: Samples,
}

/// The addon as cargo built it for this bench, under the name that Node loads.
pub fn addon() -> Outcome<PathBuf> {
    let (built, name) = (built()?, "gortex-pi.linux-x64-gnu.node");
    let addon = built.join(name);
    std::fs::copy(built.join("libadapter_node.so"), &addon)?;
    Ok(addon)
}

/// Times in microseconds of one member of an answer.
pub fn samples(answer: &Value, member: &str) -> Outcome<Samples> {
    let times: Vec<f64> = serde_json::from_value(answer[member].clone())?;
    if times.is_empty() {
        return Err(format!("nothing was measured of {member}").into());
    }
    Ok(Samples::of(times))
}

/// Measures.
pub fn measure(node: &Path, addon: &Path, child: Child) -> Outcome<Node> {
    let told = json!({
        "addon": addon, "program": child.program, "envelope": ENVELOPE,
        "rounds": child.rounds, "pause": child.pause_ms(),
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("node/round-trip.mjs");
    let output = Command::new(node)
        .arg(script)
        .arg(told.to_string())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    Ok(Node {
        exec_file_sync: samples(&answer, "execFileSync")?,
        exec_file: samples(&answer, "execFile")?,
        cold: samples(&answer, "cold")?,
        warm: samples(&answer, "warm")?,
    })
}
