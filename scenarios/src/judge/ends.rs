//! Checks 8 and 9: after quit nothing lives, and nothing was written to the terminal.

use super::Failure;
use crate::case::Case;
use crate::trace::{Lane, Trace};

/// Check 8: the host ended by itself with code 0, and left no process, server or task.
pub fn nothing_lives(trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "8 nothing lives after quit";
    let Some(end) = trace.named(Lane::Person, "closed").last() else {
        return vec![Failure::new(CHECK, "the host did not end")];
    };
    let mut failures = Vec::new();
    if end.payload["exit"] != 0 {
        failures.push(
            Failure::new(
                CHECK,
                format!("the host ended with {}", end.payload["exit"]),
            )
            .at(trace, end),
        );
    }
    if end.payload["leftovers"]
        .as_array()
        .is_none_or(|left| !left.is_empty())
    {
        failures.push(
            Failure::new(CHECK, format!("left behind: {}", end.payload["leftovers"]))
                .at(trace, end),
        );
    }
    failures
}

/// Check 9: the host wrote nothing to its standard error, and nothing but records to its standard output.
pub fn nothing_was_written(case: &Case, trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "9 nothing written to the terminal";
    let errors = trace.named(Lane::Person, "closed").filter(|end| {
        let stderr = end.payload["stderr"].as_str();
        let warned = case.host.replaces_mcp() && stderr.is_some_and(is_pis_own);
        stderr != Some("") && !warned
    });
    let errors = errors.map(|end| (end, &end.payload["stderr"]));
    let stray = trace
        .named(Lane::Host, "stray")
        .map(|event| (event, &event.payload["text"]));
    let written = errors.chain(stray);
    written
        .map(|(event, text)| Failure::new(CHECK, format!("written: {text}")).at(trace, event))
        .collect()
}

/// Whether all lines are Pi's own warning that an extension replaced its MCP support (pi-host.md 3.4).
fn is_pis_own(stderr: &str) -> bool {
    stderr
        .lines()
        .all(|line| line.starts_with("Warning: Extension package \"builtin:mcp\": "))
}
