//! The whole path in the real Pi: from its start of a call until the tool runs, with the extension and without.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use scenarios::case::Case;
use scenarios::hosts::folder::CaseFolder;
use scenarios::hosts::model::ScriptedModel;
use scenarios::hosts::pi::endpoint::Endpoint;
use scenarios::setup::RealPi;
use scenarios::trace::recorder::Recorder;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::Outcome;
use crate::table::Samples;

/// No run of Pi takes longer.
const LIMIT: Duration = Duration::from_secs(90);

/// How often each way is run.
const RUNS: usize = 3;

/// What the hook says about each call: so it is seen that it was asked.
const GUIDANCE: &str = "Mind the graph.";

/// A way to run Pi.
struct Way {
    name: &'static str,
    /// Whether the extension is loaded.
    ours: bool,
    /// Whether its hook is asked.
    asked: bool,
    /// What is set for it.
    variable: Option<(&'static str, &'static str)>,
}

const WAYS: [Way; 4] = [
    Way {
        name: "without the extension",
        ours: false,
        asked: false,
        variable: None,
    },
    Way {
        name: "with it, enforce = false",
        ours: true,
        asked: false,
        variable: Some(("GORTEX_ENFORCE", "0")),
    },
    Way {
        name: "with it, warm_hook = false",
        ours: true,
        asked: true,
        variable: Some(("GORTEX_WARM_HOOK", "0")),
    },
    Way {
        name: "with it",
        ours: true,
        asked: true,
        variable: None,
    },
];

/// Measures each way, in turns, with so many calls a run. The hook is `fake-gortex` as the set-up has built it.
pub fn measure(
    pi: &RealPi,
    addon: &Path,
    calls: usize,
) -> Outcome<[(&'static str, Samples); WAYS.len()]> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut found = WAYS.map(|way| (way.name, Samples::default()));
    for _ in 0..RUNS {
        for (way, (_, samples)) in WAYS.iter().zip(&mut found) {
            samples.append(runtime.block_on(run(pi, way, addon, calls))?);
        }
    }
    Ok(found)
}

/// What the run showed. A way that is not what it is called measures nothing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    /// The time of each call, in microseconds.
    times: Vec<f64>,
    /// Whether the daemon's tools were there.
    graph_tools: bool,
    /// How many results held guidance of the hook.
    guided: usize,
}

async fn run(pi: &RealPi, way: &Way, addon: &Path, calls: usize) -> Outcome<Samples> {
    let probe = |call: usize| {
        // As a model has it: some time passes between two calls.
        json!({ "calls": [{ "id": format!("c{call}"), "tool": "probe", "args": {} }], "delay_ms": 30 })
    };
    let answers: Vec<Value> = (0..calls)
        .map(probe)
        .chain([json!({ "say": "Done." })])
        .collect();
    let case: Case = serde_json::from_value(json!({
        "title": "Calls of a tool that does nothing", "model": answers, "person": [{ "prompt": "Go." }],
        "hook": { "decisions": [{ "event": "tool_call", "decision": { "additional_context": GUIDANCE } }] },
    }))?;
    let folder = CaseFolder::lay_out(&case, Some(&pi.gortex), BTreeMap::new())?;
    let model = ScriptedModel::new(case.model.clone(), Recorder::new(folder.placeholders()));
    let endpoint = Endpoint::open(model).await?;
    fs::write(folder.agent().join("models.json"), endpoint.models_json())?;
    let script = folder.scratch().join("script.json");
    fs::write(
        &script,
        json!({ "daemon": case.daemon, "hook": case.hook }).to_string(),
    )?;
    let measuring = Path::new(env!("CARGO_MANIFEST_DIR")).join("node/whole-path.ts");
    let times = folder.scratch().join("times.json");

    let mut command = Command::new(&pi.node);
    command.arg(&pi.cli).arg("-e").arg(&measuring);
    if way.ours {
        command
            .arg("-e")
            .arg(package(&folder.scratch().join("package"), addon)?);
    }
    command
        .args(["--provider", "bench", "--model", "scripted", "-p", "Go."])
        .current_dir(folder.project())
        .env_clear()
        .envs(folder.variables(&case))
        .env("HOME", folder.home())
        .env("TMPDIR", folder.scratch())
        .env("PI_CODING_AGENT_DIR", folder.agent())
        .env("PI_OFFLINE", "1")
        .env("LANG", "C.UTF-8")
        .env("FAKE_GORTEX_SCRIPT", &script)
        .env("BENCH_TIMES", &times)
        .env("BENCH_GUIDANCE", GUIDANCE)
        .envs(way.variable)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output()).await??;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let seen: Seen = serde_json::from_slice(&fs::read(&times)?)?;
    let guided = if way.asked { calls } else { 0 };
    if (seen.graph_tools, seen.guided) != (way.ours, guided) {
        return Err(format!("{}: {seen:?}", way.name).into());
    }
    Ok(Samples::of(seen.times))
}

/// The extension with the addon of this bench in it: that of the checkout may be a debug build.
fn package(to: &Path, addon: &Path) -> Outcome<std::path::PathBuf> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../adapter/package");
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let wanted = [".ts", "package.json"]
            .iter()
            .any(|end| name.to_string_lossy().ends_with(end));
        if wanted && entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    let name = addon.file_name().ok_or("the addon has no name")?;
    fs::copy(addon, to.join(name))?;
    Ok(to.to_owned())
}
