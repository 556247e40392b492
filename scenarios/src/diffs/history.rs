//! The edits of a git history: each file's text in a commit and in its first parent.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Pair;

/// The edits of a history, read from git.
#[derive(Debug, Default)]
pub struct History {
    /// An edit each, newest first.
    pub pairs: Vec<Pair>,
    /// Edits of files that are no text, or too large for the adapter to compare.
    pub left_out: usize,
    /// Whether the checkout holds the newest commits only.
    pub shallow: bool,
}

/// The adapter compares no larger file (E4).
const LARGEST: usize = 1024 * 1024;

impl History {
    /// Reads all commits that the current one leads back to. Runs `git`.
    ///
    /// # Errors
    /// Of the kind `NotFound` where there is no history: no repository, no commit in it, or no git. Of another where git's
    /// answer ends early.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let log = git(folder)
            .args(["log", "--format=", "--raw", "--no-abbrev", "--no-renames"])
            .args(["-z", "--diff-merges=first-parent", "--root"])
            .output()?;
        if !log.status.success() {
            let said = String::from_utf8_lossy(&log.stderr);
            let said = said.lines().next().unwrap_or_default().to_owned();
            return Err(io::Error::new(io::ErrorKind::NotFound, said));
        }
        let shallow = git(folder)
            .args(["rev-parse", "--is-shallow-repository"])
            .output()?;
        let mut objects = Objects::open(folder)?;
        let mut found = Self {
            shallow: shallow.stdout.starts_with(b"true"),
            ..Self::default()
        };
        // `:<mode> <mode> <object> <object> <letter>`, then the path, each ended by NUL.
        let mut fields = log.stdout.split(|byte| *byte == 0);
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let about = String::from_utf8_lossy(about);
            let about = about.trim_start_matches(['\n', ':']);
            let [old_mode, new_mode, old, new, _] = about.split(' ').collect::<Vec<_>>()[..] else {
                continue;
            };
            // A link or another repository has no text of its own.
            if [old_mode, new_mode]
                .iter()
                .any(|mode| !mode.starts_with("100") && *mode != "000000")
            {
                continue;
            }
            let pair = (objects.text(old)?, objects.text(new)?);
            match (pair, std::str::from_utf8(path)) {
                ((Some(old), Some(new)), Ok(path)) => found.pairs.push(Pair {
                    path: path.to_owned(),
                    old,
                    new,
                }),
                _ => found.left_out += 1,
            }
        }
        Ok(found)
    }
}

/// `git cat-file --batch`: objects by name.
struct Objects {
    git: std::process::Child,
    names: std::process::ChildStdin,
    contents: BufReader<std::process::ChildStdout>,
}

impl Objects {
    fn open(folder: &Path) -> io::Result<Self> {
        let mut git = git(folder)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        match (git.stdin.take(), git.stdout.take()) {
            (Some(names), Some(contents)) => Ok(Self {
                git,
                names,
                contents: BufReader::new(contents),
            }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// The text of an object: empty for the name of none, `None` where it is no text.
    fn text(&mut self, name: &str) -> io::Result<Option<String>> {
        if name.bytes().all(|byte| byte == b'0') {
            return Ok(Some(String::new()));
        }
        writeln!(self.names, "{name}")?;
        let mut head = String::new();
        self.contents.read_line(&mut head)?;
        let size = head
            .trim_end()
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse::<usize>().ok())
            .ok_or_else(|| io::Error::other(format!("git has no object {name}")))?;
        // The object is followed by an LF.
        let mut bytes = vec![0; size + 1];
        self.contents.read_exact(&mut bytes)?;
        bytes.truncate(size);
        let is_text = size <= LARGEST && !bytes.contains(&0);
        Ok(String::from_utf8(bytes).ok().filter(|_| is_text))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = self.git.kill();
        let _ = self.git.wait();
    }
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder);
    git
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(folder: &Path, args: &[&str]) {
        let done = git(folder)
            .args([
                "-c",
                "user.name=n",
                "-c",
                "user.email=e@e",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(args)
            .output()
            .expect("git runs");
        assert!(done.status.success(), "{args:?}");
    }

    #[test]
    fn e2_an_edit_is_what_a_commit_made_of_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        run(folder.path(), &["init", "-q"]);
        for (name, text) in [("a b", "1\n"), ("gone", "x"), ("nul", "a\0b")] {
            fs::write(at(name), text).expect("written");
        }
        run(folder.path(), &["add", "."]);
        run(folder.path(), &["commit", "-qm", "one"]);
        fs::write(at("a b"), "2\r\n").expect("written");
        fs::remove_file(at("gone")).expect("removed");
        run(folder.path(), &["add", "-A"]);
        run(folder.path(), &["commit", "-qm", "two"]);
        let history = History::read(folder.path()).expect("read");
        let pair = |path: &str, old: &str, new: &str| Pair {
            path: path.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        assert_eq!(
            history.pairs,
            [
                pair("a b", "1\n", "2\r\n"),
                pair("gone", "x", ""),
                pair("a b", "", "1\n"),
                pair("gone", "", "x"),
            ]
        );
        assert_eq!((history.left_out, history.shallow), (1, false));
        let clone = tempfile::tempdir().expect("a folder");
        let from = format!("file://{}", folder.path().display());
        run(clone.path(), &["clone", "-q", "--depth=1", &from, "."]);
        let history = History::read(clone.path()).expect("read");
        assert_eq!(history.pairs, [pair("a b", "", "2\r\n")]);
        assert!(history.shallow);
    }

    #[test]
    fn e2_a_folder_without_a_history_is_told_from_an_empty_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = |folder: &Path| History::read(folder).expect_err("no history").kind();
        assert_eq!(
            missing(&folder.path().join("none")),
            io::ErrorKind::NotFound
        );
        run(folder.path(), &["init", "-q"]);
        assert_eq!(missing(folder.path()), io::ErrorKind::NotFound);
    }
}
