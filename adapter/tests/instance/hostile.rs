//! Calls that name what should not be opened, or far too much (E4, E6).

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use serde_json::{Value, json};

use crate::world::{World, result};

/// The kernel's own record of what is opened in some folders, or of some files.
pub struct Opened(OwnedFd);

impl Opened {
    pub fn watch(paths: &[&Path]) -> Self {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        let opened = Self(inotify::init(flags).expect("inotify"));
        for path in paths {
            inotify::add_watch(&opened.0, *path, WatchFlags::OPEN).expect("a watch");
        }
        opened
    }

    /// The names of what was opened; the watched file itself has none.
    pub fn names(&self) -> BTreeSet<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let mut names = BTreeSet::new();
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy());
            names.insert(name.unwrap_or_default().into_owned());
        }
        names
    }
}

fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo")
        .arg(path)
        .status()
        .expect("mkfifo");
    assert!(made.success());
}

async fn play(world: &mut World, tool: &str, input: Value) -> Option<Value> {
    world.set("GORTEX_ENFORCE", "0");
    let instance = world.ready();
    let tool = format!("mcp__gortex__{tool}");
    assert_eq!(
        instance.tool_call(world.call("c1", &tool, input)).await,
        None
    );
    world.write("repo/ok", "after\n");
    let patch = instance.tool_result(result("c1")).await;
    assert_eq!(world.writes.in_flight(), 0);
    patch.and_then(|patch| patch.details)
}

#[tokio::test(start_paused = true)]
async fn e4_e6_only_regular_files_that_the_call_names_are_opened() {
    let mut world = World::new();
    for file in ["ok", "other", "sub/inner"] {
        world.write(&format!("repo/{file}"), "before\n");
    }
    let at = |name: &str| world.cwd().join(name);
    fifo(&at("fifo"));
    for (to, link) in [
        ("fifo", "to fifo"),
        ("/dev/full", "to device"),
        ("loop", "loop"),
    ] {
        std::os::unix::fs::symlink(to, at(link)).expect("a link");
    }
    let opened = Opened::watch(&[&world.cwd(), &at("sub"), Path::new("/dev/full")]);
    let named = [
        "ok",
        "fifo",
        "to fifo",
        "to device",
        "/dev/full",
        "sub",
        ".",
        "..",
        "loop",
        "nul\u{0}",
        "none/x",
    ];
    let edits: Vec<Value> = named.iter().map(|path| json!({"path": path})).collect();
    let details = play(&mut world, "batch_edit", json!({"edits": edits})).await;
    let details = details.expect("details");
    assert_eq!(details["diff"], "-1 before\n+1 after");
    assert_eq!(details["diffs"].as_array().map(Vec::len), Some(1));
    assert_eq!(opened.names(), BTreeSet::from(["ok".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn e4_far_too_much_is_not_looked_at() {
    let deep = |levels: usize| {
        (0..levels).fold(
            json!({"path": "ok"}),
            |inner, _| json!({"arguments": inner}),
        )
    };
    let many: Vec<Value> = (0..10_000)
        .map(|item| json!({"path": format!("f{item}")}))
        .collect();
    let inputs = [
        ("10,000 items", json!({"edits": many})),
        (
            "as a text",
            json!({"edits": Value::from(many.clone()).to_string()}),
        ),
        ("a path of 1 MB", json!({"path": "x/".repeat(500_000)})),
        (
            "one in a batch",
            json!({"edits": [{"path": "ok"}, {"path": "x".repeat(1_000_000)}]}),
        ),
        (
            "a symbol of 1 MB",
            json!({"symbol_id": format!("{}::f", "x".repeat(1_000_000))}),
        ),
        ("deep containers", deep(1_000)),
        ("a deep text", json!({"edits": "[".repeat(100_000)})),
    ];
    for (name, input) in inputs {
        let mut world = World::new();
        world.write("repo/ok", "before\n");
        let opened = Opened::watch(&[&world.cwd()]);
        assert_eq!(play(&mut world, "batch_edit", input).await, None, "{name}");
        // The test itself opens it once, to write.
        let allowed = BTreeSet::from(["ok".to_owned()]);
        assert!(opened.names().is_subset(&allowed), "{name}");
    }
}
