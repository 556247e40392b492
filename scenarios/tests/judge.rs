//! Each check of the judge fails when what it checks is broken: a trace that holds is broken in one place, and exactly
//! that check must tell.

use std::path::Path;

use scenarios::hosts::sim::{self, Options};
use scenarios::judge::judge;
use scenarios::suite::{self, Named};
use scenarios::trace::{Event, Lane, Trace};
use serde_json::{Value, json};

fn played(name: &str) -> (Named, Trace) {
    let folder = suite::own_cases();
    let named = suite::read_one(
        &folder,
        &folder.join(Path::new(name).with_extension("toml")),
    )
    .expect(name);
    let trace = sim::play(&named.name, &named.case, &Options::default()).expect(name);
    assert_eq!(judge(&named.case, &trace), [], "{name} holds as it is");
    (named, trace)
}

/// The numbers of the checks that tell, expectations left out.
fn told(name: &str, break_it: impl FnOnce(&mut Vec<Event>)) -> Vec<String> {
    let (named, mut trace) = played(name);
    break_it(&mut trace.events);
    let mut told: Vec<String> = judge(&named.case, &trace)
        .into_iter()
        .filter_map(|failure| failure.check.split(' ').next().map(str::to_owned))
        .filter(|check| check != "expectation")
        .collect();
    told.dedup();
    told
}

fn find<'a>(
    events: &'a mut [Event],
    lane: Lane,
    name: &str,
    holds: impl Fn(&Value) -> bool,
) -> &'a mut Event {
    events
        .iter_mut()
        .find(|event| event.lane == lane && event.event == name && holds(&event.payload))
        .expect("the event is in the trace")
}

fn call(id: &'static str) -> impl Fn(&Value) -> bool {
    move |payload| payload["toolCallId"] == id || payload["message"]["toolCallId"] == id
}

/// A result as it stands behind all handlers.
fn left(id: &'static str) -> impl Fn(&Value) -> bool {
    move |payload| payload["toolCallId"] == id && payload["by"] == "last"
}

const TWO_FILES: &str = "diffs/batch-two-files";

#[test]
fn a_handler_that_throws_is_told() {
    let told = told(TWO_FILES, |events| {
        let payload = json!({ "extensionPath": "<adapter>/index.ts", "event": "tool_result", "error": "boom" });
        let mut event = events[0].clone();
        (event.lane, event.event, event.payload) = (Lane::Host, "extension_error".into(), payload);
        events.insert(1, event);
    });
    assert_eq!(told, ["1"]);
}

/// What Pi itself says of a replaced MCP support is let pass in such a case, and in no other.
#[test]
fn a_server_that_nobody_connects_and_a_warning_of_it_are_told() {
    let reported = told(TWO_FILES, |events| {
        let payload = json!({ "extensionPath": "<adapter>/index.ts", "event": "register_mcp_server", "error": "x" });
        let mut event = events[0].clone();
        (event.lane, event.event, event.payload) = (Lane::Host, "extension_error".into(), payload);
        events.insert(1, event);
    });
    assert_eq!(reported, ["1"]);
    let warned = told(TWO_FILES, |events| {
        let warning = "Warning: Extension package \"builtin:mcp\": x\n";
        find(events, Lane::Person, "closed", |_| true).payload["stderr"] = warning.into();
    });
    assert_eq!(warned, ["9"]);
    assert_eq!(told("registration/mcp-replaced", |_| ()), [""; 0]);
}

/// An abort somewhere in a case excuses calls with Pi's text for it, and no silent ones.
#[test]
fn a_call_that_ended_without_a_text_is_told_beside_an_abort_too() {
    let told = told("abort/hook-decides", |events| {
        let ended = find(events, Lane::Host, "tool_execution_end", call("c1"));
        ended.payload["result"]["content"] = json!([]);
    });
    assert_eq!(told, ["5"]);
}

#[test]
fn a_call_without_an_end_and_one_with_two_messages_are_told() {
    let lost = told(TWO_FILES, |events| {
        events.retain(|event| !(event.event == "tool_execution_end" && call("c1")(&event.payload)));
    });
    assert_eq!(lost, ["2"]);
    let twice = told(TWO_FILES, |events| {
        let message = find(events, Lane::Host, "message_end", call("c1")).clone();
        events.push(message);
    });
    assert_eq!(twice, ["2"]);
}

/// Whoever leaves hears no more of what is under way then; what had ended before had its result.
#[test]
fn a_result_that_was_lost_before_the_person_left_is_told() {
    let lost = told(TWO_FILES, |events| {
        events.retain(|event| !(event.event == "message_end" && call("c1")(&event.payload)));
        let mut leaves = find(events, Lane::Person, "send", |_| true).clone();
        leaves.payload = json!({ "type": "quit" });
        events.push(leaves);
    });
    assert_eq!(lost, ["2"]);
    // The other call of its batch had not ended by then.
    let cut_off = told(TWO_FILES, |events| {
        let mut leaves = find(events, Lane::Person, "send", |_| true).clone();
        leaves.payload = json!({ "type": "quit" });
        let ended = |event: &Event| event.event == "tool_execution_end";
        let at = events.iter().rposition(ended).expect("an end");
        events.insert(at, leaves);
        let results = |event: &Event| event.payload["message"]["role"] == "toolResult";
        events.retain(|event| !(event.event == "message_end" && results(event)));
    });
    assert_eq!(cut_off, [""; 0]);
}

#[test]
fn a_call_of_a_script_without_an_end_is_told() {
    let lost = told("codemode/guidance", |events| {
        let ended = |event: &Event| event.event == "tool_execution_end";
        events.retain(|event| !(ended(event) && call("c1/1")(&event.payload)));
    });
    assert_eq!(lost, ["2"]);
}

/// A call that outlived its script was cancelled with it, and no other one was.
#[test]
fn a_call_of_a_script_that_was_stopped_before_the_script_ended_is_told() {
    let told = told("codemode/cut-off", |events| {
        let ended =
            |event: &Event, id| event.event == "tool_execution_end" && call(id)(&event.payload);
        let late = events.iter().position(|event| ended(event, "c1/1"));
        let late = events.remove(late.expect("the call's end"));
        let script = events.iter().position(|event| ended(event, "c1"));
        events.insert(script.expect("the script's end"), late);
    });
    assert_eq!(told, ["5"]);
}

/// The model never reads the result of a call that a script made (H6).
#[test]
fn guidance_on_a_scripts_call_that_stands_elsewhere_or_in_another_order_is_told() {
    let kept = told("codemode/guidance", |events| {
        let result = find(events, Lane::Extension, "tool_result", left("c1/1"));
        let content = result.payload["content"].as_array_mut().expect("content");
        content.push(json!({ "type": "text", "text": "GUIDE search" }));
    });
    assert_eq!(kept, ["7"]);
    let turned = told("codemode/guidance", |events| {
        for (lane, name) in [
            (Lane::Extension, "tool_result"),
            (Lane::Host, "message_end"),
        ] {
            let about = |event: &&mut Event| event.lane == lane && event.event == name;
            for event in events.iter_mut().filter(about) {
                let text = event.payload.to_string();
                let turned = text.replace(
                    "GUIDE search\\n\\nGUIDE read",
                    "GUIDE read\\n\\nGUIDE search",
                );
                event.payload = serde_json::from_str(&turned).expect("a payload");
            }
        }
    });
    assert_eq!(turned, ["7"]);
}

#[test]
fn a_briefing_that_stands_twice_on_a_branch_is_told_and_one_on_each_of_two_is_not() {
    let with_copy = |at_the_end: bool| {
        told(TWO_FILES, |events| {
            let history = find(events, Lane::Host, "history", |_| true);
            let entries = history.payload["entries"].as_array_mut().expect("entries");
            let mut briefing = entries
                .iter()
                .find(|entry| entry["customType"] == "gortex")
                .expect("briefing")
                .clone();
            if at_the_end {
                briefing["after"] = entries.len().into();
            }
            entries.push(briefing);
        })
    };
    assert_eq!(with_copy(true), ["3"]);
    assert_eq!(with_copy(false), [""; 0]);
}

/// Two instances on one branch may each have met the lack of tools; one tells it once, and a briefing stands once.
#[test]
fn a_report_that_one_instance_tells_twice_is_told() {
    const LACKING: &str = "briefing/two-that-lack-tools";
    let told_event = |events: &[Event]| {
        let at = events.iter().position(|event| event.event == "told");
        at.expect("a report was told")
    };
    let again = told(LACKING, |events| {
        let at = told_event(events);
        let event = events[at].clone();
        events.insert(at + 1, event);
    });
    assert_eq!(again, ["3"]);
    let merged = told(LACKING, |events| {
        let until = told_event(events);
        let end = events.iter().skip(until).position(|event| {
            event.event == "session_shutdown" && event.payload["reason"] == "reload"
        });
        events.remove(until + end.expect("a reload"));
    });
    // One instance that waits for tools twice is held once too often as well.
    assert_eq!(merged, ["3", "4"]);
    let briefing = told(LACKING, |events| {
        let history = find(events, Lane::Host, "history", |_| true);
        let entries = history.payload["entries"].as_array_mut().expect("entries");
        let second = entries
            .iter_mut()
            .rfind(|entry| entry["customType"] == "gortex")
            .expect("a note");
        let note = second["content"].as_str().expect("text").to_owned();
        let briefing = "✓ Gortex daemon ready (v0.65.0, uptime 2m). The graph of this repository is loaded.\n\
             Look code up with the graph tools before opening files.";
        second["content"] = format!("{note}\n\n{briefing}").into();
    });
    assert_eq!(briefing, ["3"]);
}

#[test]
fn a_first_turn_past_its_caps_and_a_later_one_that_is_held_are_told() {
    for (nth, hold) in [(0, 60_000), (1, 1_000)] {
        let told = told("readiness/late", |events| {
            let mut released = events.iter_mut().filter(|event| {
                event.event == "before_agent_start" && event.payload["by"] == "last"
            });
            released.nth(nth).expect("a turn").t += hold;
        });
        assert_eq!(told, ["4"], "turn {nth}");
    }
}

#[test]
fn a_call_that_a_failing_hook_stopped_is_told() {
    for broken in [
        json!({ "stdout": "{\"block\":true}", "exit": 1 }),
        json!({ "stdout": "no JSON", "exit": 0 }),
    ] {
        let told = told("hook/block", |events| {
            let blocks = |payload: &Value| {
                payload["stdout"]
                    .as_str()
                    .is_some_and(|text| text.contains("block"))
            };
            find(events, Lane::Hook, "answer", blocks).payload = broken.clone();
        });
        assert_eq!(told, ["5"], "{broken}");
    }
}

#[test]
fn a_call_that_a_handler_threw_at_and_one_that_ran_against_a_block_are_told() {
    let threw = told("hook/block", |events| {
        let blocks = |payload: &Value| {
            payload["stdout"]
                .as_str()
                .is_some_and(|text| text.contains("block"))
        };
        find(events, Lane::Hook, "answer", blocks).payload["stdout"] = "{}".into();
    });
    assert_eq!(threw, ["5"]);
    let wrong_type = told("hook/block", |events| {
        let blocks = |payload: &Value| {
            payload["stdout"]
                .as_str()
                .is_some_and(|text| text.contains("block"))
        };
        find(events, Lane::Hook, "answer", blocks).payload["stdout"] = r#"{"block":"true"}"#.into();
    });
    assert_eq!(wrong_type, ["5"]);
    let never_asked = told("hook/block", |events| {
        events.retain(|event| {
            !(event.lane == Lane::Hook && event.cause.as_deref() == Some("call c1"))
        });
    });
    assert_eq!(never_asked, ["5"]);
    let ignored = told("hook/block", |events| {
        let answer = find(events, Lane::Hook, "answer", |payload| {
            payload["stdout"] == "{}"
        });
        answer.payload["stdout"] = r#"{"block":true,"reason":"no"}"#.into();
    });
    assert_eq!(ignored, ["5"]);
}

#[test]
fn an_answer_that_was_not_asked_for_is_told() {
    let told = told(TWO_FILES, |events| {
        let request = find(events, Lane::Model, "request", |_| true).clone();
        events.insert(0, request);
    });
    assert_eq!(told, ["the"]);
}

#[test]
fn a_result_that_was_changed_besides_its_guidance_is_told() {
    for (member, value) in [("isError", json!(true)), ("structuredContent", json!(null))] {
        let told = told(TWO_FILES, |events| {
            find(events, Lane::Extension, "tool_result", left("c1")).payload[member] = value;
        });
        assert_eq!(told, ["7"], "{member}");
    }
    let details = told(TWO_FILES, |events| {
        find(events, Lane::Extension, "tool_result", left("c1")).payload["details"]["server"] =
            "other".into();
    });
    assert_eq!(details, ["7"]);
    let daemon = told(TWO_FILES, |events| {
        let sent = |payload: &Value| {
            payload["text"]
                .as_str()
                .is_some_and(|text| text.contains("src/b.rs"))
        };
        find(events, Lane::Mcp, "send", sent).payload["text"] = "something else".into();
    });
    assert_eq!(daemon, ["7"]);
}

#[test]
fn a_diff_that_is_not_true_is_told() {
    let other_text = told(TWO_FILES, |events| {
        let result = find(events, Lane::Extension, "tool_result", left("c1"));
        let patch = result.payload["details"]["diffs"][0]["patch"]
            .as_str()
            .expect("patch")
            .replace("+    10", "+    11");
        result.payload["details"]["diffs"][0]["patch"] = patch.into();
    });
    assert_eq!(other_text, ["6"]);
    let stale = told(TWO_FILES, |events| {
        let before = find(events, Lane::Disk, "before", call("c2"));
        before.payload["files"]["src/b.rs"] = "something else\n".into();
    });
    assert_eq!(stale, ["6"]);
}

#[test]
fn a_form_of_a_diff_that_says_something_else_is_told() {
    for (member, value) in [
        ("diff", json!("-2     1\n+2     11")),
        ("patch", json!("--- src/a.rs\n+++ src/a.rs\n")),
        ("firstChangedLine", json!(3)),
        ("diffs", json!(null)),
    ] {
        let told = told(TWO_FILES, |events| {
            find(events, Lane::Extension, "tool_result", left("c1")).payload["details"][member] =
                value;
        });
        assert_eq!(told, ["6"], "{member}");
    }
    let shown = told(TWO_FILES, |events| {
        let result = find(events, Lane::Extension, "tool_result", left("c1"));
        let wrong = json!(" 1 fn a() -> u32 {\n-2     1\n+2     11\n 3 }");
        result.payload["details"]["diff"] = wrong.clone();
        result.payload["details"]["diffs"][0]["diff"] = wrong;
    });
    assert_eq!(shown, ["6"]);
}

#[test]
fn a_diff_in_one_of_two_calls_on_a_file_is_told() {
    let told = told("diffs/batch-one-file-twice", |events| {
        let shown =
            find(events, Lane::Extension, "tool_result", left("c3")).payload["details"].clone();
        find(events, Lane::Extension, "tool_result", left("c2")).payload["details"] = shown;
    });
    assert_eq!(told, ["6"]);
}

#[test]
fn a_diff_of_a_file_that_another_call_names_by_a_detour_is_told() {
    for name in ["src/a.rs", "none/../src/./a.rs", "../proj/src/a.rs"] {
        let told = told(TWO_FILES, |events| {
            let preflight = find(events, Lane::Extension, "tool_call", call("c2"));
            preflight.payload["input"]["path"] = name.into();
        });
        assert!(told.contains(&"6".to_owned()), "{name}: {told:?}");
    }
}

#[test]
fn two_diffs_of_a_file_that_two_calls_wrote_are_told() {
    let told = told("diffs/batch-one-file-twice", |events| {
        let patch = "--- src/a.rs\n+++ src/a.rs\n@@ -1,1 +1,1 @@\n-x\n+y\n";
        for id in ["c1", "c2"] {
            let result = find(events, Lane::Extension, "tool_result", left(id));
            result.payload["details"]["diffs"] = json!([{ "path": "src/a.rs", "patch": patch }]);
        }
    });
    assert_eq!(told, ["6"]);
}

#[test]
fn a_text_that_neither_tool_nor_hook_said_is_told() {
    for replaced in [false, true] {
        let told = told(TWO_FILES, |events| {
            let message = find(events, Lane::Host, "message_end", call("c1"));
            let text = &mut message.payload["message"]["content"][0]["text"];
            let said = if replaced {
                "something else".to_owned()
            } else {
                format!("{} and more", text.as_str().expect("text"))
            };
            *text = said.into();
        });
        assert_eq!(told, ["7"], "replaced: {replaced}");
    }
}

#[test]
fn what_lives_after_quit_and_what_was_written_are_told() {
    for (member, value, check) in [
        ("leftovers", json!(["fake-gortex"]), "8"),
        ("exit", json!(null), "8"),
        ("stderr", json!("boom"), "9"),
    ] {
        let told = told(TWO_FILES, |events| {
            find(events, Lane::Person, "closed", |_| true).payload[member] = value;
        });
        assert_eq!(told, [check], "{member}");
    }
    assert_eq!(
        told(TWO_FILES, |events| events
            .retain(|event| event.event != "closed")),
        ["8"]
    );
}
