//! Every case is a test of its own name: `sim::<case>` plays it on the simulated Pi, `conform::<case>` on both hosts.

use std::env;
use std::error::Error;
use std::fmt;
use std::path::Path;

use scenarios::hosts::sim::Options;
use scenarios::report::conformance;
use scenarios::report::{Format, run};
use scenarios::setup;
use scenarios::suite::{self, Named};
use scenarios::trace::Trace;

type Outcome = Result<(), Box<dyn Error>>;

fn read(path: &Path) -> Result<Named, Box<dyn Error>> {
    suite::read_one(Path::new("cases"), path)
        .map_err(|problem| format!("{:?}", miette::Report::new(*problem)).into())
}

fn told(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Outcome {
    let mut report = Vec::new();
    write(&mut report)?;
    Err(Box::new(Report(String::from_utf8_lossy(&report).into())))
}

/// A report as an error: the harness shows errors in their debug form, which must stay readable.
struct Report(String);

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Report {}

/// The case holds on the simulated Pi, and two plays of it give the same bytes.
fn sim(path: &Path) -> Outcome {
    let named = read(path)?;
    let played = suite::play_on_sim(&named, &Options::default());
    let again = suite::play_on_sim(&named, &Options::default());
    if bytes(played.trace.as_ref())? != bytes(again.trace.as_ref())? {
        return Err("two plays gave different traces".into());
    }
    if played.held() {
        return Ok(());
    }
    told(|out| run::write(out, Format::Text, "sim", &[(&named, Some(played))]).map(drop))
}

fn bytes(trace: Option<&Trace>) -> Result<Vec<u8>, std::io::Error> {
    let mut bytes = Vec::new();
    trace.map_or(Ok(()), |trace| trace.write(&mut bytes))?;
    Ok(bytes)
}

/// The case holds on the real Pi too, and both hosts tell the same.
#[expect(
    clippy::print_stdout,
    reason = "a comparison that was not made must be said"
)]
fn conform(path: &Path) -> Outcome {
    let named = read(path)?;
    if named.case.sim_only.is_some() {
        return Ok(());
    }
    let version = env::var(setup::REAL_PI).unwrap_or_else(|_| setup::PINNED.to_owned());
    // A set-up that failed may have left an older addon: then there is nothing to compare with.
    let missing = env::var(setup::REAL_PI_MISSING).ok();
    let Some(pi) = setup::locate(&version).filter(|_| missing.is_none()) else {
        let why = missing.unwrap_or_else(|| "`pi-bench setup` was not run".to_owned());
        if env::var("CI").is_ok_and(|ci| ci == "true") {
            return Err(format!("the real Pi {version} is not there: {why}").into());
        }
        println!("NOT COMPARED with the real Pi {version}: {why}");
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let options = Options::default().of(version.parse()?);
    let conformed = runtime.block_on(suite::conform(&named, &pi, &options));
    if conformed.equal() {
        return Ok(());
    }
    told(|out| {
        conformance::write(
            out,
            Format::Text,
            &[(version, vec![(&named, Some(conformed))])],
        )
        .map(drop)
    })
}

datatest_stable::harness! {
    { test = sim, root = "cases", pattern = r"\.toml$" },
    { test = conform, root = "cases", pattern = r"\.toml$" },
}
