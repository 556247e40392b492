//! Whole lives of instances on the path of real children, three at a time in one process.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adapter::child::ChildHook;
use adapter::{
    Block, Caps, CommandFact, Environment, HiddenMessage, Host, Instance, Level, Log, Ports,
    SessionFacts, ThreadWork, ToolCallFacts, ToolFact, ToolResultFacts, TurnFacts, WriteTable,
};
use futures::future::{BoxFuture, join3, ready};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::census::{Census, no_child_left};
use crate::lifeline::Lifeline;

/// Lives that are lived.
const LIVES: usize = 200;

/// A hook that answers by what it reads, names the session in whatever it says, and never ends when asked about `hang`.
const HOOK: &str = r#"#!/bin/sh
asked=$(cat)
session=${asked#*'"session_id":"'}
session=${session%%'"'*}
case "$asked" in
*'"event":"session_start"'*) printf '{"orientation":"briefing of %s"}' "$session" ;;
*'"tool_name":"Read"'*) printf '{"block":true,"reason":"no read in %s"}' "$session" ;;
*'"tool_name":"hang"'*) exec 3>line; sleep 600 & printf u >&3; sleep 600 ;;
*) printf '{"additional_context":"guidance of %s"}' "$session" ;;
esac
"#;

const EDIT: &str = "mcp__gortex__edit_file";

/// A host that lists one graph tool, knows no history and keeps what it is told.
#[derive(Default)]
struct OneTool(Mutex<Vec<String>>);

impl Host for OneTool {
    fn tools(&self) -> BoxFuture<'static, Option<Vec<ToolFact>>> {
        let tool = ToolFact {
            name: EDIT.to_owned(),
            exposure: Some("direct".to_owned()),
        };
        Box::pin(ready(Some(vec![tool])))
    }

    fn custom_messages(&self, _: &'static str) -> BoxFuture<'static, Option<Vec<Value>>> {
        Box::pin(ready(Some(Vec::new())))
    }

    fn notify(&self, message: &str, _: Level) {
        self.0.lock().expect("lock").push(message.to_owned());
    }
}

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Log for Lines {
    fn line(&self, line: &str) {
        self.0.lock().expect("lock").push(line.to_owned());
    }
}

/// What the instances of one process have in common.
pub struct Process {
    folder: tempfile::TempDir,
    writes: Arc<WriteTable>,
}

impl Process {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let hook = folder.path().join("gortex");
        fs::write(&hook, HOOK).expect("hook");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("mode");
        Self {
            folder,
            writes: Arc::default(),
        }
    }

    fn environment(&self) -> Environment {
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        Environment {
            vars: [("PATH".to_owned(), path)].into(),
            home: Some(self.folder.path().to_owned()),
            ..Environment::default()
        }
    }
}

/// One instance and its own folder.
pub struct Life {
    pub instance: Arc<Instance>,
    session: String,
    line: Lifeline,
    host: Arc<OneTool>,
    log: Arc<Lines>,
}

/// How an instance ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// Told to, with nothing under way.
    Shutdown,
    /// Told to while a hook decides.
    ShutdownInFlight,
    /// Nobody tells it: the host drops the handler that waits and the instance.
    Dropped,
    /// The turn is aborted while a hook decides, then it is told to.
    Aborted,
}

impl Life {
    pub fn begin(process: &Process, session: String) -> Self {
        let (host, log) = (Arc::<OneTool>::default(), Arc::<Lines>::default());
        let ports = Ports {
            host: host.clone(),
            hook: Arc::new(ChildHook::default()),
            writes: process.writes.clone(),
            log: log.clone(),
            work: Arc::new(ThreadWork),
        };
        // A loaded machine may need longer than a person would put up with.
        let patient = Duration::from_secs(60);
        let caps = Caps {
            hook_call: patient,
            hook_briefing: patient,
            diff: patient,
            diff_in_all: patient,
            ..Caps::default()
        };
        Self {
            instance: Instance::new(process.environment(), ports, caps),
            session,
            line: Lifeline::new(),
            host,
            log,
        }
    }

    fn cwd(&self) -> PathBuf {
        self.line.folder().to_owned()
    }

    pub fn call(&self, id: &str, name: &str) -> ToolCallFacts {
        ToolCallFacts {
            id: id.to_owned(),
            name: name.to_owned(),
            input: json!({"path": "a"}),
            parent_id: None,
            cwd: self.cwd(),
            session_id: self.session.clone(),
            abort: Some(CancellationToken::new()),
        }
    }

    /// The session hook.
    pub fn start(&self) {
        let session = SessionFacts {
            cwd: self.cwd(),
            session_id: self.session.clone(),
            reason: "startup".to_owned(),
            has_ui: true,
            commands: vec![CommandFact {
                name: "mcp".to_owned(),
                source_path: "builtin:mcp".to_owned(),
            }],
        };
        self.instance.session_start(&session, &mut |_| Ok(()));
    }

    /// What begins a run.
    pub async fn turn(&self) -> Option<HiddenMessage> {
        let turn = TurnFacts {
            session_id: self.session.clone(),
            cwd: self.cwd(),
            results: Some(0),
            abort: None,
        };
        self.instance.before_agent_start(turn).await
    }

    /// From the session hook to an edit with its diff. All instances use the same ids and names of files.
    async fn work(&self) {
        self.start();
        let briefing = self.turn().await;
        assert_eq!(
            briefing.map(|message| message.content),
            Some(format!("briefing of {}", self.session))
        );
        let blocked = self.instance.tool_call(self.call("c1", "read")).await;
        let reason = format!("no read in {}", self.session);
        assert_eq!(blocked, Some(Block { reason }));

        let file = self.line.folder().join("a");
        fs::write(&file, "old\n").expect("file");
        assert_eq!(self.instance.tool_call(self.call("c2", EDIT)).await, None);
        fs::write(&file, format!("{}\n", self.session)).expect("file");
        let patch = self.instance.tool_result(result("c2")).await;
        let patch = patch.expect("a patch");
        let guidance = json!({"type": "text", "text": format!("guidance of {}", self.session)});
        assert_eq!(patch.content.expect("content")[1], guidance);
        assert_eq!(
            patch.details.expect("details")["diff"],
            format!("-1 old\n+1 {}", self.session)
        );
        self.instance.turn_end();
    }

    async fn end(mut self, ending: Ending) {
        if let Ending::Shutdown = ending {
            self.instance.session_shutdown();
        } else {
            let call = self.call("c3", "hang");
            let abort = call.abort.clone().expect("a signal");
            let instance = self.instance.clone();
            let waits = tokio::spawn(async move { instance.tool_call(call).await });
            self.line.taken_up().await;
            match ending {
                Ending::Aborted => abort.cancel(),
                Ending::Dropped => waits.abort(),
                Ending::Shutdown | Ending::ShutdownInFlight => self.instance.session_shutdown(),
            }
            match waits.await {
                Ok(answer) => assert_eq!(answer, None, "{ending:?}"),
                Err(error) => assert!(error.is_cancelled(), "{ending:?}: {error}"),
            }
            // H9: the child and what it started are gone, while the instance still lives.
            self.line.let_go().await;
            if let Ending::Aborted = ending {
                self.instance.session_shutdown();
            }
        }
        assert_eq!(*self.host.0.lock().expect("lock"), [""; 0]);
        let lines = self.log.0.lock().expect("lock").join("\n");
        assert!(!lines.contains("no decision"), "{lines}");
    }
}

fn result(id: &str) -> ToolResultFacts {
    ToolResultFacts {
        id: id.to_owned(),
        content: Some(vec![json!({"type": "text", "text": "done"})]),
        details: None,
        structured_content: None,
        is_error: false,
        abort: None,
    }
}

async fn live(process: &Process, number: usize) {
    let life = Life::begin(process, format!("s-{number}"));
    life.work().await;
    let endings = [
        Ending::Shutdown,
        Ending::ShutdownInFlight,
        Ending::Dropped,
        Ending::Aborted,
    ];
    life.end(endings[number % endings.len()]).await;
}

/// Lives, three at a time, until `until` were lived.
async fn live_until(process: &Process, lived: &mut usize, until: usize) {
    while *lived < until {
        let [one, two, three] = [1, 2, 3].map(|next| live(process, *lived + next));
        join3(one, two, three).await;
        *lived += 3;
    }
    no_child_left().await;
    no_task_left().await;
    assert_eq!(process.writes.in_flight(), 0);
}

/// Waits until every task has ended: one that was told to takes a moment, as that of a child that was let go does.
pub async fn no_task_left() {
    let ended = async {
        while alive() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(30), ended).await;
    ended.expect("a task stays");
}

#[test]
fn h9_e6_two_hundred_sessions_leave_nothing_behind() {
    let process = Process::new();
    // What tokio makes once and keeps for the process, its pipe for signals, is made here.
    let mut lived = 0;
    runtime().block_on(live_until(&process, &mut lived, 3));
    let before = Census::take();
    assert!(before.descriptors > 0 && before.threads > 0, "{before:?}");

    let runtime = runtime();
    runtime.block_on(async {
        live_until(&process, &mut lived, 15).await;
        let (census, tasks) = (Census::take(), alive());
        live_until(&process, &mut lived, LIVES).await;
        assert_eq!((Census::take(), alive()), (census, tasks));
    });
    drop(runtime);
    assert_eq!(Census::take(), before);
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // One thread for blocking work, which stays, so that threads can be counted.
        .max_blocking_threads(1)
        .thread_keep_alive(Duration::from_secs(3600))
        .build()
        .expect("runtime")
}

/// The tasks of the runtime that have not ended.
fn alive() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}
