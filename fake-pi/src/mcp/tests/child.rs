//! Real children: their streams, their group, and how they are stopped (pi-host.md 4.9).

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, getpgid, getsid, test_kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use super::super::child::ChildLauncher;
use super::super::launch::{Launch, ServerLauncher, ServerProcess, stop};

fn shell(script: &str) -> Launch {
    Launch {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: [("GREETING".into(), "hello".into())].into(),
        cwd: PathBuf::from("/"),
    }
}

async fn launched(script: &str) -> ServerProcess {
    ChildLauncher.launch(shell(script)).await.unwrap()
}

/// Reads one line and returns the process to go on with.
async fn first_line(process: ServerProcess) -> (String, ServerProcess) {
    let mut reader = BufReader::new(process.stream);
    let mut line = String::new();
    reader.read_line(&mut line).await.unwrap();
    (
        line.trim().to_owned(),
        ServerProcess {
            stream: Box::new(reader.into_inner()),
            ..process
        },
    )
}

#[tokio::test]
async fn streams_and_environment_reach_the_child() {
    // Cargo sets the last variable for this process; a child has what its launch says.
    let script = "echo \"$GREETING $PWD${CARGO_MANIFEST_DIR}\"; echo oops >&2; cat";
    let mut process = launched(script).await;
    process.stream.write_all(b"ping\n").await.unwrap();
    process.stream.shutdown().await.unwrap();
    let mut output = String::new();
    process.stream.read_to_string(&mut output).await.unwrap();
    assert_eq!(output, "hello /\nping\n");
    process.control.closed().await;
    assert_eq!(process.stderr.shown().as_deref(), Some("oops"));
}

#[tokio::test]
async fn a_child_leads_a_session_and_its_group_dies_with_it() {
    let (line, process) = first_line(launched("sleep 600 <&- >&- 2>&- & echo $$; cat").await).await;
    let pid = Pid::from_raw(line.parse().unwrap()).unwrap();
    assert_eq!(
        (getpgid(Some(pid)).unwrap(), getsid(Some(pid)).unwrap()),
        (pid, pid)
    );
    drop(process.stream);
    timeout(Duration::from_secs(60), stop(&*process.control))
        .await
        .unwrap();
    // The grandchild is reaped by whoever adopted it; that the signal went out is all that can be seen at once.
    let gone = async {
        while test_kill_process_group(pid).is_ok() && !is_only_zombies(pid) {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), gone).await.unwrap();
}

/// Whether every process of the group has ended, reaped or not.
fn is_only_zombies(group: Pid) -> bool {
    let group = group.as_raw_nonzero().get().to_string();
    let entries = std::fs::read_dir("/proc").unwrap();
    entries
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .all(|stat| {
            let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
            fields[2] != group || fields[0] == "Z"
        })
}

#[tokio::test]
async fn a_child_that_ignores_the_end_of_its_input_is_terminated() {
    let (line, process) = first_line(launched("echo up; exec sleep 600").await).await;
    assert_eq!(line, "up");
    drop(process.stream);
    timeout(Duration::from_secs(60), stop(&*process.control))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_cannot_start_says_so_as_node_does() {
    let missing = Launch {
        command: "no-such-program".into(),
        ..shell("")
    };
    assert_eq!(
        ChildLauncher.launch(missing).await.err().as_deref(),
        Some("spawn no-such-program ENOENT")
    );
    let nowhere = Launch {
        cwd: PathBuf::from("/no/such/folder"),
        ..shell("")
    };
    assert_eq!(
        ChildLauncher.launch(nowhere).await.err().as_deref(),
        Some("spawn sh ENOENT")
    );
    let folder = Launch {
        command: "/".into(),
        ..shell("")
    };
    assert_eq!(
        ChildLauncher.launch(folder).await.err().as_deref(),
        Some("spawn / EACCES")
    );
}

#[tokio::test]
async fn shell_values_are_trimmed_and_failures_are_none() {
    assert_eq!(
        ChildLauncher
            .run_shell("echo ' x '; echo err >&2")
            .await
            .as_deref(),
        Some("x")
    );
    assert_eq!(ChildLauncher.run_shell("echo x; exit 3").await, None);
    assert_eq!(ChildLauncher.run_shell("true").await, None);
    assert_eq!(
        ChildLauncher.run_shell("head -c 2000000 /dev/zero").await,
        None
    );
}
