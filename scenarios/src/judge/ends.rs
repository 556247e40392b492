//! Checks 8 and 9: after quit nothing lives, and nothing was written to the terminal.

use super::Failure;
use crate::case::Case;
use crate::trace::{Lane, Trace};

/// Check 8: the host ended with the case's code, 0 if it names none, and left no process, server or task.
pub fn nothing_lives(case: &Case, trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "8 nothing lives after quit";
    let Some(end) = trace.named(Lane::Person, "closed").last() else {
        return vec![Failure::new(CHECK, "the host did not end")];
    };
    let mut failures = Vec::new();
    if end.payload["exit"] != case.host.exit {
        failures.push(
            Failure::new(
                CHECK,
                format!(
                    "the host ended with {} and not with {}",
                    end.payload["exit"], case.host.exit
                ),
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
        !stderr.is_some_and(|stderr| stderr.lines().all(|line| is_pis_own(case, line)))
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

/// Whether a line is Pi's own about another extension of the case: that it replaced Pi's MCP support (pi-host.md 3.4),
/// that it could not be loaded (1.1), that it failed to say whether a project is trusted, or, where Pi prints no records,
/// that it failed (2).
fn is_pis_own(case: &Case, line: &str) -> bool {
    let host = &case.host;
    let about = |before: &str, name: &str, after: &str| {
        line.strip_prefix(before)
            .and_then(|rest| rest.strip_prefix(&format!("<case>/run/{name}.ts")))
            .is_some_and(|rest| rest.starts_with(after))
    };
    let failed = |name: &str| about("Extension error (", name, "): ");
    let unloaded = |name: &str| about("Error: Failed to load extension \"", name, "\": ");
    let untrusting = |name: &str| about("Warning: Extension \"", name, "\" project_trust error: ");
    let mut others = host.extensions.iter();
    (host.replaces_mcp() && line.starts_with("Warning: Extension package \"builtin:mcp\": "))
        || others.any(|other| {
            let fails = other.fails.is_some();
            (host.mode.is_one_shot() && failed(&other.name))
                || untrusting(&other.name)
                || (fails && (unloaded(&other.name) || line.starts_with("Hint: ")))
        })
}
