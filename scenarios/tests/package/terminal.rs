//! E7: Pi's terminal draws the diff of a graph edit above the reply, and the reply once expanded.
//!
//! Pi's terminal mode runs under tmux, with a socket of its own, and the screen is read as text. The README shows it:
//! `UPDATE_README=1 cargo nextest run -p scenarios e7` writes it there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::gate::real_pi;
use crate::world::{MODEL, World, block_on, edit, told};

const BEGIN: &str =
    "<!-- terminal: generated, see scenarios/tests/package/terminal.rs -->\n```text\n";
const END: &str = "```\n<!-- end of terminal -->";

/// How long the screen may take to show what is waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// The changed line, as Pi draws it.
const CHANGED: &str = "+3     format!(\"Hello {name}\")";

/// A terminal that nobody sees. It ends with this.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Runs a command in it; `None` where there is no tmux.
    fn open(socket: PathBuf, command: &tokio::process::Command) -> Option<Self> {
        let command = command.as_std();
        let mut tmux = Command::new("tmux");
        tmux.arg("-S")
            .arg(&socket)
            .args([
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-x",
                "92",
                "-y",
                "40",
            ])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(command.get_current_dir().unwrap_or(Path::new("/")))
            .env_clear()
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh");
        for (name, value) in command.get_envs() {
            tmux.env(name, value.unwrap_or_default());
        }
        let opened = match tmux.output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            opened => opened.expect("tmux runs"),
        };
        assert!(opened.status.success(), "{}", told(&opened));
        Some(Self { socket })
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(arguments)
            .output()
            .expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// The screen once `shown` holds of it.
    async fn wait(&self, what: &str, shown: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + LIMIT;
        loop {
            let screen = self.screen();
            if shown(&screen) {
                return screen;
            }
            assert!(
                Instant::now() < end,
                "the screen does not show {what}:\n{screen}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// The lines from the prompt to the model's last word, as the README shows them.
fn excerpt(screen: &str) -> String {
    let mut lines: Vec<&str> = screen
        .lines()
        .map(str::trim_end)
        .skip_while(|line| line.trim() != "Greet properly.")
        .collect();
    let last = lines
        .iter()
        .position(|line| line.trim() == "Greeted properly.");
    lines.truncate(last.map_or(0, |last| last + 1));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The README's screen is this one.
fn shown_in_readme(screen: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(&path).expect("README");
    let (head, rest) = readme.split_once(BEGIN).expect("the screen begins");
    let (kept, tail) = rest.split_once(END).expect("the screen ends");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{screen}{END}{tail}")).expect("written");
        return;
    }
    assert_eq!(
        kept, screen,
        "run UPDATE_README=1 cargo nextest run -p scenarios e7"
    );
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that was not made must be said")]
fn e7_the_terminal_draws_the_diff_above_the_reply_and_the_reply_once_expanded() {
    let Some(pi) = real_pi() else { return };
    block_on(async {
        let world = World::new(&pi, &edit()).await;
        let package = pi.package.display().to_string();
        let command = world.pi(&[&["-e", package.as_str()], &MODEL[..]].concat());
        let Some(terminal) = Terminal::open(world.folder.scratch().join("tmux"), &command) else {
            println!("NOT TRIED in Pi's terminal: there is no tmux");
            return;
        };
        terminal
            .wait("Pi's prompt", |screen| screen.contains("scripted"))
            .await;
        terminal.press(&["-l", "Greet properly."]);
        terminal.press(&["Enter"]);
        let closed = terminal
            .wait("the diff", |screen| {
                screen.contains(CHANGED) && screen.contains("Greeted properly.")
            })
            .await;
        assert!(closed.contains("-3     format!(\"Hi {name}\")"), "{closed}");
        assert!(
            !closed.contains(REPLY),
            "the reply is shown only once expanded:\n{closed}"
        );
        shown_in_readme(&excerpt(&closed));

        terminal.press(&["C-o"]);
        let opened = terminal
            .wait("the reply", |screen| screen.contains(REPLY))
            .await;
        let (diff, reply) = (opened.find(CHANGED), opened.find(REPLY));
        assert!(
            diff.is_some() && diff < reply,
            "the diff stands above the reply:\n{opened}"
        );
        terminal.press(&["C-d"]);
    });
}

/// A part of what the scripted daemon answers to an edit.
const REPLY: &str = "edited src/greet.rs";
