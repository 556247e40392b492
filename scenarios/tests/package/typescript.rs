//! The TypeScript of the package and of the recording extensions: its types against Pi's own, and its tests.
//!
//! One of the tests loads the addon that `pi-bench setup` built.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use scenarios::setup::RealPi;

use crate::gate::real_pi;

/// Lays the sources out beside Pi's packages, so that imports resolve as they do in an installed package.
fn beside_pi(pi: &RealPi) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (from, to) in [
        (pi.package.clone(), "package"),
        (pi.package.join("test"), "package/test"),
        (here.join("real-pi"), "real-pi"),
    ] {
        let to = folder.path().join(to);
        fs::create_dir(&to).expect("made");
        for file in fs::read_dir(&from).expect("read").flatten() {
            let path = file.path();
            if path
                .extension()
                .is_some_and(|end| end == "ts" || end == "json" || end == "node")
            {
                fs::copy(&path, to.join(file.file_name())).expect("copied");
            }
        }
    }
    symlink(
        pi.folder.join("node_modules"),
        folder.path().join("node_modules"),
    )
    .expect("linked");
    folder
}

fn told(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn type_check(pi: &RealPi, folder: &Path) -> Output {
    Command::new(&pi.node)
        .arg(pi.folder.join("node_modules/typescript/bin/tsc"))
        .args(["--project", "real-pi"])
        .current_dir(folder)
        .output()
        .expect("tsc runs")
}

#[test]
fn what_pi_loads_fits_the_types_that_pi_publishes() {
    let Some(pi) = real_pi() else { return };
    let folder = beside_pi(&pi);
    let checked = type_check(&pi, folder.path());
    assert!(checked.status.success(), "{}", told(&checked));

    // The check sees: a member that Pi does not have is refused.
    let entry = folder.path().join("package/index.ts");
    let text = fs::read_to_string(&entry).expect("the entry");
    let broken = text.replace("pi.registerMcpServer(", "pi.registerMcpServers(");
    assert_ne!(text, broken);
    fs::write(&entry, broken).expect("written");
    let checked = type_check(&pi, folder.path());
    assert!(
        !checked.status.success() && told(&checked).contains("registerMcpServers"),
        "{}",
        told(&checked)
    );
}

#[test]
fn the_packages_own_tests_pass() {
    let Some(pi) = real_pi() else { return };
    let folder = beside_pi(&pi);
    let tested = Command::new(&pi.node)
        .args(["--test", "--test-reporter=tap", "test/*.test.ts"])
        .current_dir(folder.path().join("package"))
        .output()
        .expect("Node runs");
    let told = told(&tested);
    assert!(tested.status.success(), "{told}");
    let passed = told.lines().find_map(|line| line.strip_prefix("# pass "));
    assert!(
        passed.and_then(|count| count.parse().ok()).unwrap_or(0) >= 20,
        "{told}"
    );
}
