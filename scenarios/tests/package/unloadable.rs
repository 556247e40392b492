//! F2, O12: an addon that cannot be loaded costs what it does, and the first turn says which file, on what platform, why,
//! and the remedy. (O12 d, a first call that throws, is among the panics.)

use std::fs;
use std::path::Path;

use scenarios::hosts::pi::play;
use scenarios::setup::RealPi;
use scenarios::trace::Lane;

use crate::gate::real_pi;
use crate::world::{block_on, edit};

const ADDON: &str = "gortex-pi.linux-x64-gnu.node";

/// What is done to the addon: `None` removes it.
type Spoil = fn(Vec<u8>) -> Option<Vec<u8>>;

/// Each way to spoil it, and what the model must read as the cause.
const WAYS: [(&str, Spoil, &str); 4] = [
    ("missing", |_| None, "the file is not there"),
    ("zeroed", zeroed, "invalid ELF header"),
    (
        "another-processor",
        another_processor,
        "cannot open shared object file",
    ),
    (
        "another-library",
        another_library,
        "libq.so.6: cannot open shared object file",
    ),
];

fn zeroed(mut addon: Vec<u8>) -> Option<Vec<u8>> {
    addon[..64].fill(0);
    Some(addon)
}

/// The field of the ELF header that names the processor, with the number of AArch64.
fn another_processor(mut addon: Vec<u8>) -> Option<Vec<u8>> {
    addon[18..20].copy_from_slice(&183_u16.to_le_bytes());
    Some(addon)
}

/// Asks for a C library that no machine has.
fn another_library(mut addon: Vec<u8>) -> Option<Vec<u8>> {
    let name = b"\0libc.so.6\0";
    let at = addon.windows(name.len()).position(|part| part == name);
    addon[at.expect("the addon needs a C library") + 4] = b'q';
    Some(addon)
}

/// A copy of the package with a spoilt addon.
fn package(pi: &RealPi, folder: &Path, spoil: Spoil) -> RealPi {
    fs::create_dir(folder).expect("made");
    for file in fs::read_dir(&pi.package).expect("the package").flatten() {
        if file.path().is_file() && file.file_name() != ADDON {
            fs::copy(file.path(), folder.join(file.file_name())).expect("copied");
        }
    }
    let addon = fs::read(pi.package.join(ADDON)).expect("the addon");
    if let Some(addon) = spoil(addon) {
        fs::write(folder.join(ADDON), addon).expect("written");
    }
    RealPi {
        package: folder.to_path_buf(),
        ..pi.clone()
    }
}

#[test]
fn f2_o12_an_addon_that_cannot_be_loaded_is_told_once_with_its_cause_and_the_session_works() {
    let Some(pi) = real_pi() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, spoil, cause) in WAYS {
        let spoilt = package(&pi, &folder.path().join(name), spoil);
        let trace = block_on(play(name, &edit(), &spoilt)).expect("a play to its end");
        let requests: Vec<String> = trace
            .named(Lane::Model, "request")
            .map(|event| event.payload["messages"].to_string())
            .collect();
        assert_eq!(requests.len(), 3, "{name}: the session goes on");
        for messages in &requests {
            for part in [
                ADDON,
                "Platform: linux-x64",
                cause,
                "Remedy: the user reinstalls the package",
            ] {
                assert!(messages.contains(part), "{name}: no {part:?} in {messages}");
            }
            assert_eq!(messages.matches("Cause: ").count(), 1, "{name}: {messages}");
        }
        assert_eq!(trace.named(Lane::Extension, "told").count(), 1, "{name}");
        let failed = trace.named(Lane::Host, "extension_error");
        assert_eq!(failed.count(), 0, "{name}");
        let closed = trace.named(Lane::Person, "closed").next().expect("an end");
        let end = ["exit", "stderr", "leftovers"].map(|member| closed.payload[member].clone());
        assert_eq!(end, [0.into(), "".into(), serde_json::json!([])], "{name}");
    }
}
