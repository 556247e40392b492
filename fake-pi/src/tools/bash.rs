//! `bash`: a shell command (pi-host.md 9, 10).

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::reply::{self, Folders, failure};
use super::shell::{Pause, Shell};
use super::truncation::{self, CutBy, MAX_BYTES, Truncation, size_text};
use super::{declare, errno, output_file};
use crate::tool::{Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// Time between two updates of one command.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Longest timeout in seconds, the longest of Node's timers.
const MAX_TIMEOUT_SECONDS: f64 = 2_147_483.647;

/// Bytes of output that a script gets.
const MAX_STRUCTURED_BYTES: usize = 1024 * 1024;

/// The tool.
pub(super) struct Bash(pub(super) Folders);

impl Tool for Bash {
    fn definition(&self) -> ToolDefinition {
        declare::bash()
    }

    fn registry_members(&self) -> Value {
        declare::members(1)
    }

    fn declares_output(&self) -> bool {
        true
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let folders = self.0.clone();
        Box::pin(async move { execute(run, folders).await })
    }
}

/// How a command ended.
enum End {
    Exited(i32),
    Aborted,
    TimedOut(f64),
    GivenUp(&'static str),
}

async fn execute(run: ToolRun, folders: Folders) -> Result<ToolOutput, ToolError> {
    let started = Instant::now();
    let mut updates = Updates {
        sender: run.updates,
        shown: 0,
        last: None,
    };
    updates.send(&json!({"content": []}));
    let command = match run.input.get("command") {
        Some(Value::String(command)) => command,
        _ => return failure("The \"args[1]\" argument must be of type string. Received undefined"),
    };
    let limit = timeout(&run.input).map_err(ToolError)?;
    if run.abort.is_cancelled() {
        return failure("Command aborted");
    }
    if !run.cwd.exists() {
        return failure(format!(
            "Working directory does not exist: {}\nCannot execute bash commands.",
            run.cwd.display()
        ));
    }
    let mut shell = Shell::start(command, &run.cwd)
        .map_err(|error| ToolError(format!("spawn /bin/bash {}", errno::code(&error))))?;
    let end = play(&mut shell, limit, &run.abort, &mut updates, &folders).await;
    let output = Output::new(std::mem::take(&mut shell.written), &folders);
    updates.show(&output);
    let with_status = |text: String, status: String| {
        if text.is_empty() {
            status
        } else {
            format!("{text}\n\n{status}")
        }
    };
    let code = match end {
        End::Exited(code) => code,
        End::Aborted => return failure(with_status(output.shown(""), "Command aborted".into())),
        End::TimedOut(seconds) => {
            let status = format!("Command timed out after {seconds} seconds");
            return failure(with_status(output.shown(""), status));
        }
        End::GivenUp(reason) => return failure(with_status(output.shown(""), reason.into())),
    };
    let text = output.shown("(no output)");
    let (text, is_error) = match code {
        0 => (text, false),
        code => (
            with_status(text, format!("Command exited with code {code}")),
            true,
        ),
    };
    let wall_time = (started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    Ok(ToolOutput {
        details: output.is_cut().then(|| Value::Object(output.details())),
        structured_content: Some(output.structured(code, wall_time)),
        is_error,
        ..reply::text(text)
    })
}

/// The timeout argument: seconds and as a duration.
fn timeout(input: &Value) -> Result<Option<(f64, Duration)>, String> {
    let Some(seconds) = reply::number(input, "timeout") else {
        return Ok(None);
    };
    if seconds <= 0.0 {
        return Err("Invalid timeout: must be a finite number of seconds".into());
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if seconds <= MAX_TIMEOUT_SECONDS => Ok(Some((seconds, duration))),
        _ => Err(format!(
            "Invalid timeout: maximum is {MAX_TIMEOUT_SECONDS} seconds"
        )),
    }
}

/// Runs the shell to its end, letting time pass when it sleeps.
async fn play(
    shell: &mut Shell,
    limit: Option<(f64, Duration)>,
    abort: &CancellationToken,
    updates: &mut Updates,
    folders: &Folders,
) -> End {
    let deadline = limit.map(|(_, duration)| Instant::now() + duration);
    loop {
        let wake = match shell.run() {
            Pause::Ended(code) => return End::Exited(code),
            Pause::GivenUp(reason) => return End::GivenUp(reason),
            Pause::Sleep(duration) => Instant::now() + duration,
        };
        loop {
            let due = updates.due(shell.written.len());
            tokio::select! {
                biased;
                () = abort.cancelled() => {
                    shell.kill();
                    return End::Aborted;
                }
                () = at(due) => updates.show(&Output::new(shell.written.clone(), folders)),
                () = at(deadline) => {
                    shell.kill();
                    return End::TimedOut(limit.map_or(0.0, |(seconds, _)| seconds));
                }
                () = sleep_until(wake) => break,
            }
        }
        shell.wake();
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Partial results, at most one in each interval.
struct Updates {
    sender: UnboundedSender<Value>,
    /// Bytes of output that were shown.
    shown: usize,
    last: Option<Instant>,
}

impl Updates {
    fn send(&self, update: &Value) {
        // Nobody listens to a run that the host gave up: then the news is of no use.
        let _ = self.sender.send(update.clone());
    }

    /// When output that was not shown yet is to be shown.
    fn due(&self, written: usize) -> Option<Instant> {
        (written > self.shown).then(|| {
            self.last
                .map_or_else(Instant::now, |last| last + UPDATE_INTERVAL)
        })
    }

    /// Shows the output so far, if there is any that was not shown.
    fn show(&mut self, output: &Output) {
        if output.raw.len() == self.shown {
            return;
        }
        self.shown = output.raw.len();
        self.last = Some(Instant::now());
        let content = json!([{"type": "text", "text": output.cut.content}]);
        let details = if output.is_cut() {
            output.details()
        } else {
            Map::new()
        };
        self.send(&json!({"content": content, "details": details}));
    }
}

/// The output of a command, cut to its end.
struct Output {
    raw: Vec<u8>,
    text: String,
    cut: Truncation,
    /// The file with all of it, if the model is not shown all.
    file: Option<String>,
}

impl Output {
    fn new(raw: Vec<u8>, folders: &Folders) -> Self {
        let decoded = String::from_utf8_lossy(&raw);
        let text = decoded
            .strip_prefix('\u{feff}')
            .unwrap_or(&decoded)
            .to_owned();
        let cut = truncation::tail(&text);
        let file = (cut.cut_by.is_some() || raw.len() > MAX_BYTES)
            .then(|| output_file::save(&folders.temp_dir, "pi-bash", ".log", &raw).ok())
            .flatten();
        Self {
            raw,
            text,
            cut,
            file,
        }
    }

    fn is_cut(&self) -> bool {
        self.cut.cut_by.is_some()
    }

    fn file(&self) -> &str {
        self.file.as_deref().unwrap_or("undefined")
    }

    /// What the model reads, with a note on what was cut.
    fn shown(&self, empty: &str) -> String {
        let cut = &self.cut;
        let text = if cut.content.is_empty() {
            empty
        } else {
            &cut.content
        };
        let Some(by) = cut.cut_by else {
            return text.to_owned();
        };
        let (last, file) = (cut.total_lines, self.file());
        if cut.is_last_line_partial {
            let kept = size_text(cut.content.len());
            let line = size_text(self.text.rsplit('\n').next().unwrap_or_default().len());
            return format!(
                "{text}\n\n[Showing last {kept} of line {last} (line is {line}). Full output: {file}]"
            );
        }
        let first = last - cut.output_lines + 1;
        let limit = if by == CutBy::Bytes {
            format!(" ({} limit)", size_text(MAX_BYTES))
        } else {
            String::new()
        };
        format!("{text}\n\n[Showing lines {first}-{last} of {last}{limit}. Full output: {file}]")
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("truncation".into(), self.cut.to_json());
        if let Some(file) = &self.file {
            details.insert("fullOutputPath".into(), file.as_str().into());
        }
        details
    }

    /// What a script gets.
    fn structured(&self, code: i32, wall_time: f64) -> Value {
        let half = MAX_STRUCTURED_BYTES / 2;
        let is_cut = self.file.is_some() && self.raw.len() > MAX_STRUCTURED_BYTES;
        let output = if is_cut {
            let (head, tail) = (&self.raw[..half], &self.raw[self.raw.len() - half..]);
            let omitted = self.raw.len() - 2 * half;
            format!(
                "{}\n\n[... {omitted} bytes omitted ...]\n\n{}",
                whole_start(head),
                whole_end(tail)
            )
        } else {
            self.text.clone()
        };
        let mut structured = json!({"output": output, "truncated": is_cut});
        if is_cut {
            structured["full_output_path"] = self.file().into();
        }
        structured["exit_code"] = code.into();
        structured["wall_time_seconds"] = reply::js_number(wall_time);
        structured
    }
}

/// The text of bytes that were cut at their end: half a character there is left out.
fn whole_start(bytes: &[u8]) -> String {
    let last = bytes
        .utf8_chunks()
        .last()
        .map_or(&[][..], |chunk| chunk.invalid());
    // A sequence that is wrong stays and is shown as such; one that only lacks its end goes.
    let is_half = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    let cut = if is_half { last.len() } else { 0 };
    String::from_utf8_lossy(&bytes[..bytes.len() - cut]).into_owned()
}

/// The text of bytes that were cut at their start: half a character there is left out.
fn whole_end(bytes: &[u8]) -> String {
    let start = bytes
        .iter()
        .position(|byte| byte & 0xc0 != 0x80)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_checked_as_pi_checks_them() {
        assert_eq!(
            timeout(&json!({"timeout": 0})),
            Err("Invalid timeout: must be a finite number of seconds".into())
        );
        let text = "Invalid timeout: maximum is 2147483.647 seconds";
        assert_eq!(timeout(&json!({"timeout": 3e6})), Err(text.into()));
        assert_eq!(timeout(&json!({})), Ok(None));
    }

    #[test]
    fn halves_of_characters_are_left_out() {
        let bytes = "a€b".as_bytes();
        assert_eq!(whole_start(&bytes[..3]), "a");
        assert_eq!(whole_start(bytes), "a€b");
        assert_eq!(whole_start(b"\xc3\xc3"), "\u{fffd}");
        assert_eq!(whole_start(b"a\xff"), "a\u{fffd}");
        assert_eq!(whole_end(&bytes[2..]), "b");
    }
}
