//! The command line by which the real Pi, or a program around it, is started for a case.

use fake_pi::Version;
use serde_json::json;
use tokio::process::Command;

use super::files::{RunFiles, library_path};
use crate::case::{Case, Connector, Mode};
use crate::hosts::folder::CaseFolder;
use crate::setup::RealPi;

/// The provider and the model of every play, as `models.json` names them.
const PROVIDER: &str = "bench";
const MODEL: &str = "scripted";

/// Program, arguments and environment.
pub fn command(case: &Case, pi: &RealPi, folder: &CaseFolder, files: &RunFiles) -> Command {
    let mut command = Command::new(&pi.node);
    if case.host.mode == Mode::Embedded {
        embedding(&mut command, case, pi, files);
    } else {
        arguments(&mut command, case, pi, files);
    }
    command
        .current_dir(folder.project())
        .env_clear()
        .env("HOME", folder.home())
        .env("TMPDIR", folder.scratch())
        .env("LANG", "C.UTF-8")
        .env("PI_CODING_AGENT_DIR", folder.agent())
        .env("PI_OFFLINE", "1")
        .env("GORTEX_PI_LOG", folder.log())
        .env("FAKE_GORTEX_SCRIPT", &files.script)
        .env("FAKE_GORTEX_JOURNAL", &files.journal)
        .envs(folder.variables(case));
    command
}

/// Whether this Pi has no `--no-mcp` (pi-host.md 14); its settings say the same there.
pub fn lacks_no_mcp(pi: &RealPi) -> bool {
    pi.version == Version::V1_0_3.as_str()
}

fn arguments(command: &mut Command, case: &Case, pi: &RealPi, files: &RunFiles) {
    command.arg(&pi.cli);
    match case.host.mode {
        Mode::Rpc => {
            command.args(["--mode", "rpc"]);
        }
        Mode::Json => {
            command.args(["--mode", "json"]);
        }
        Mode::Print => {
            command.arg("-p");
        }
        Mode::Terminal | Mode::Embedded => {}
    }
    command.args(["--provider", PROVIDER, "--model", MODEL]);
    if case.host.connector == Connector::Absent && !lacks_no_mcp(pi) {
        command.arg("--no-mcp");
    }
    if case.host.trusted {
        command.arg("--approve");
    }
    for extension in files.extensions(&pi.package) {
        command.arg("-e").arg(extension);
    }
    if case.host.mode.is_one_shot() {
        command.args(case.prompts());
    }
}

/// Our own program around Pi's SDK. What it is told stands in one argument, as JSON.
fn embedding(command: &mut Command, case: &Case, pi: &RealPi, files: &RunFiles) {
    let sdk = pi
        .folder
        .join("node_modules/@earendil-works/pi-coding-agent/dist/index.js");
    let told = json!({
        "sdk": sdk,
        "provider": PROVIDER,
        "model": MODEL,
        "extensions": files.extensions(&pi.package).collect::<Vec<_>>(),
        "connects": case.host.connector == Connector::Builtin,
        "trusted": case.host.trusted,
        "binds": case.host.binds,
    });
    command.arg(library_path("embed.ts")).arg(told.to_string());
}
