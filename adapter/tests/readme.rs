//! The package's README lists the settings that the core reads (C1).

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use adapter::config::{KEYS, Settings};

const BEGIN: &str = "<!-- settings: generated, see adapter/tests/readme.rs -->\n";
const END: &str = "<!-- end of settings -->";

fn table() -> String {
    let mut out =
        "| key | variable | values | default | meaning |\n|---|---|---|---|---|\n".to_owned();
    for key in KEYS {
        let _ = writeln!(
            out,
            "| `{}` | `{}` | {} | {} | {} |",
            key.name, key.variable, key.values, key.default, key.meaning
        );
    }
    out
}

/// With `UPDATE_README=1` the table is written instead of compared.
#[expect(
    clippy::disallowed_methods,
    reason = "the switch of whoever runs the test"
)]
#[test]
fn c1_the_readme_lists_the_settings_that_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("package/README.md");
    let readme = fs::read_to_string(&path).expect("README");
    let (head, rest) = readme.split_once(BEGIN).expect("the table begins");
    let (kept, tail) = rest.split_once(END).expect("the table ends");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{}{END}{tail}", table())).expect("written");
        return;
    }
    assert_eq!(
        kept,
        table(),
        "run UPDATE_README=1 cargo nextest run -p adapter readme"
    );
}

/// A wrong value of each key in the user's own file is told with the key's name: each listed key is really read.
#[test]
fn c1_every_listed_key_is_read() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("extensions/gortex.json");
    fs::create_dir_all(file.parent().expect("its folder")).expect("made");
    for key in KEYS {
        fs::write(&file, format!("{{\"{}\": []}}", key.name)).expect("written");
        let agent = folder.path().to_string_lossy().into_owned();
        let mut environment = adapter::Environment::default();
        environment
            .vars
            .insert("PI_CODING_AGENT_DIR".to_owned(), agent);
        let settings = Settings::resolve(&environment, folder.path());
        let told = settings.problems.join("\n");
        assert!(
            told.contains(&format!("key {}", key.name)),
            "{}: {told}",
            key.name
        );
    }
}
