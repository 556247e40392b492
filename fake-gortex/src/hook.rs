//! `gortex hook`: one envelope in, one decision out.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::journal::bounded;
use crate::matching::{self, Rule};
use crate::posture;
use crate::script::{Decision, HookRule, Script};
use crate::{JournalEntry, JournalSink, Source, State};

/// How much of an envelope that is no JSON, or of what was printed, the journal keeps, in bytes.
const KEPT: usize = 4096;
/// The most that a repeated text may come to, in bytes.
pub(crate) const FLOOD: usize = 64 << 20;

/// How a hook process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookOutcome {
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained of.
    pub stderr: Vec<u8>,
    /// Its exit code.
    pub exit: i32,
    /// Whether signal 9 ended it instead.
    pub killed: bool,
    /// Milliseconds that a process it left behind keeps its stdout and stderr open.
    pub linger_ms: u64,
}

impl Rule for HookRule {
    const SECTION: &'static str = "hook.decisions";
    fn nth(&self) -> Option<u64> {
        self.nth
    }
}

/// Plays one hook process: reads the envelope (the whole of stdin), waits what the script says and tells how the
/// process ended. `args` are those after the program's name, for the journal.
///
/// A rule that hangs never returns; whoever would kill the process drops the future. An envelope that is no JSON object
/// is answered `{}`, as it matches no condition on its content. State that cannot be kept ends the process with code 2
/// and a line on stderr, so that no rule is silently skipped.
pub async fn hook(
    script: &Script,
    state: &State,
    journal: &dyn JournalSink,
    args: &[String],
    envelope: &[u8],
) -> HookOutcome {
    let record = |event: &str, payload: Value| {
        journal.record(JournalEntry {
            source: Source::Hook,
            server: None,
            event: event.to_owned(),
            payload,
        });
    };
    let envelope: Map<String, Value> = if script.hook.ignore_stdin {
        record("ask", json!({ "args": args, "unread": true }));
        Map::new()
    } else if let Ok(envelope) = serde_json::from_slice(envelope) {
        record("ask", json!({ "args": args, "envelope": envelope }));
        envelope
    } else {
        let text = String::from_utf8_lossy(envelope);
        record("ask", json!({ "args": args, "raw": bounded(&text, KEPT) }));
        Map::new()
    };

    let chosen = matching::choose(&script.hook.decisions, state, None, |rule| {
        applies(rule, &envelope)
    });
    let rule = match chosen.and_then(|rule| match rule {
        Some(rule) => Ok(rule.clone()),
        None => {
            posture::decide(&script.hook.indexed, args, state, &envelope).map(|decision| HookRule {
                decision,
                ..HookRule::default()
            })
        }
    }) {
        Ok(rule) => rule,
        Err(error) => {
            return HookOutcome {
                stderr: format!("fake-gortex: cannot keep its state: {error}\n").into_bytes(),
                exit: 2,
                ..HookOutcome::default()
            };
        }
    };
    if rule.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(rule.delay_ms)).await;
    }
    if rule.hang {
        record("answer", json!({ "hang": true, "delay_ms": rule.delay_ms }));
        std::future::pending::<()>().await;
    }
    let stdout = printed(&rule, &envelope, &script.daemon.version);
    let text = bounded(&String::from_utf8_lossy(&stdout), KEPT);
    // Who is killed has no exit code.
    let exit = if rule.killed {
        Value::Null
    } else {
        json!(rule.exit)
    };
    record(
        "answer",
        json!({ "stdout": text, "delay_ms": rule.delay_ms, "exit": exit }),
    );
    HookOutcome {
        stdout,
        stderr: rule.stderr.unwrap_or_default().into_bytes(),
        exit: rule.exit,
        killed: rule.killed,
        linger_ms: rule.linger_ms,
    }
}

fn applies(rule: &HookRule, envelope: &Map<String, Value>) -> bool {
    let says = |key: &str, want: &Option<String>| {
        want.as_deref()
            .is_none_or(|want| envelope.get(key).and_then(Value::as_str) == Some(want))
    };
    let none = Map::new();
    let input = envelope
        .get("tool_input")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    says("event", &rule.event)
        && says("tool_name", &rule.tool)
        && matching::holds(input, &rule.when)
}

fn printed(rule: &HookRule, envelope: &Map<String, Value>, version: &str) -> Vec<u8> {
    if let Some(bytes) = &rule.bytes {
        return bytes.clone();
    }
    if let Some(raw) = &rule.raw {
        return repeated(raw, rule.repeat).into_bytes();
    }
    let decision = rule.decision.clone().unwrap_or_else(|| Decision {
        orientation: (envelope.get("event").and_then(Value::as_str) == Some("session_start"))
            .then(|| orientation(version)),
        ..Decision::default()
    });
    // Four optional strings and a flag: this cannot fail.
    serde_json::to_vec(&decision).unwrap_or_default()
}

/// The default briefing: a readiness line in its first form (wire.md, "Readiness lines") and one line of advice.
fn orientation(version: &str) -> String {
    format!(
        "✓ Gortex daemon ready (v{version}, uptime 1m). The graph of this repository is loaded.\n\
         Look code up with the graph tools before opening files."
    )
}

/// A text as often as asked for, within what one process may print.
pub(crate) fn repeated(text: &str, times: Option<u32>) -> String {
    let times = times.map_or(1, |times| times as usize);
    text.repeat(
        times
            .min(FLOOD / text.len().max(1))
            .max(usize::from(times > 0)),
    )
}
