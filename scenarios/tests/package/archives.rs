//! The archives: small, and working as they are, in a Pi that never saw the extension.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::gate::real_pi;
use crate::world::{MODEL, World, block_on, edit, run, told};

/// The most that the archive may weigh, in bytes.
const HEAVIEST: u64 = 3 * 1024 * 1024;

/// Packs into `to`, as a person does. Answers what `pack` says.
#[expect(clippy::print_stdout, reason = "a measurement is there to be read")]
pub fn pack(to: &Path) -> Value {
    let packed = Command::new(env!("CARGO_BIN_EXE_pi-bench"))
        .args(["pack", "--format", "json", "--to"])
        .arg(to)
        .output()
        .expect("pi-bench runs");
    assert!(packed.status.success(), "{}", told(&packed));
    let summary: Value = serde_json::from_slice(&packed.stdout).expect("JSON");
    println!("the archive weighs {} bytes", summary["summary"]["bytes"]);
    summary["summary"].clone()
}

/// One prompt in JSON mode shows that all of it works: the model had the graph's tool, used it, and a diff came of it.
async fn works(world: &World, arguments: &[&str]) {
    let prompt = ["--mode", "json", "Greet properly."];
    let mut pi = world.pi(&[arguments, &MODEL, &prompt].concat());
    let output = run(&mut pi).await;
    let text = told(&output);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{text}"
    );
    let events: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let ended = |event: &&Value| event["type"] == "tool_execution_end";
    let end = events.iter().find(ended).unwrap_or(&Value::Null);
    let diff = end["result"]["details"]["diff"]
        .as_str()
        .unwrap_or_default();
    assert!(diff.contains("+3     format!(\"Hello {name}\")"), "{text}");
    let file = fs::read_to_string(world.folder.project().join("src/greet.rs")).expect("the file");
    assert!(file.contains("Hello {name}"), "{file}");
    let requests = world.requests();
    assert_eq!(requests.len(), 2, "{text}");
    assert!(
        requests[0]
            .payload
            .to_string()
            .contains("mcp__gortex__edit")
    );
}

/// npm without a network, in a folder whose `PATH` has what this process has.
fn offline(command: &mut tokio::process::Command) -> &mut tokio::process::Command {
    command
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("npm_config_offline", "true")
        .env("npm_config_update_notifier", "false")
}

#[test]
fn a_fresh_pi_installs_the_archive_from_its_path_and_it_works() {
    let Some(pi) = real_pi() else { return };
    block_on(async {
        let world = World::new(&pi, &edit()).await;
        let packed = pack(&world.folder.scratch().join("pack"));
        assert!(
            packed["bytes"]
                .as_u64()
                .is_some_and(|bytes| bytes < HEAVIEST),
            "{packed}"
        );

        let source = format!(
            "npm:gortex-pi@file:{}",
            packed["whole"].as_str().unwrap_or_default()
        );
        let installed = run(offline(&mut world.pi(&["install", &source]))).await;
        assert!(installed.status.success(), "{}", told(&installed));
        works(&world, &[]).await;
    });
}

#[test]
fn the_entry_finds_the_native_part_in_its_optional_package() {
    let Some(pi) = real_pi() else { return };
    block_on(async {
        let world = World::new(&pi, &edit()).await;
        let packed = pack(&world.folder.scratch().join("pack"));
        let place = world.folder.scratch().join("installed");
        fs::create_dir(&place).expect("made");
        let mut npm = world.command(Path::new("npm"));
        npm.args([
            "install",
            "--legacy-peer-deps",
            "--no-audit",
            "--no-fund",
            "--engine-strict=false",
        ])
        .args([&packed["entry"], &packed["native"]].map(|path| path.as_str().unwrap_or_default()))
        .current_dir(&place);
        let installed = run(offline(&mut npm)).await;
        assert!(installed.status.success(), "{}", told(&installed));

        let package: PathBuf = place.join("node_modules/gortex-pi");
        let own = fs::read_dir(&package).expect("installed").flatten();
        let natives = own.filter(|file| file.path().extension().is_some_and(|end| end == "node"));
        assert_eq!(
            natives.count(),
            0,
            "the native part has a package of its own"
        );
        works(&world, &["-e", &package.display().to_string()]).await;
    });
}

#[test]
fn the_archive_holds_what_it_should_and_nothing_else() {
    let Some(_) = real_pi() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let packed = pack(folder.path());
    let listed = Command::new("tar")
        .arg("-tzf")
        .arg(packed["whole"].as_str().unwrap_or_default())
        .output()
        .expect("tar runs");
    let text = String::from_utf8_lossy(&listed.stdout);
    let mut files: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("package/"))
        .collect();
    files.sort_unstable();
    let wanted = [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "addon.ts",
        "draw.ts",
        "facts.ts",
        "gortex-pi.linux-x64-gnu.node",
        "index.ts",
        "missing.ts",
        "native.d.ts",
        "package.json",
    ];
    assert_eq!(files, wanted);
}
