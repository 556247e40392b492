//! What the types of a script cannot say.

use std::collections::BTreeSet;

use super::Case;
use super::model::Call;
use super::script::Act;
use super::validate::{Fault, fault};

/// Lists what cannot be played in the scripts of a case.
pub(super) fn faults(case: &Case, faults: &mut Vec<Fault>) {
    for call in case.model.iter().flat_map(|answer| &answer.calls) {
        if let Some((what, help)) = wrong(call) {
            let mark = format!("id = \"{}\"", call.id);
            faults.push(fault(
                &[&mark],
                format!("the script of call `{}` {what}", call.id),
                help,
            ));
        }
    }
}

fn wrong(call: &Call) -> Option<(String, String)> {
    let told = |what: &str, help: &str| Some((what.to_owned(), help.to_owned()));
    if call.script.is_empty() {
        return None;
    }
    if call.tool != "codemode" || !call.args.is_empty() {
        let what = "stands beside another tool, or beside arguments";
        return told(
            what,
            "write a script for the tool `codemode`, which has no other argument",
        );
    }
    let mut known = BTreeSet::new();
    for (index, step) in call.script.iter().enumerate() {
        let number = index + 1;
        let Some(act) = step.act() else {
            return told(
                &format!("has a step {number} that does not do exactly one thing"),
                "set one of `options`, `call`, `all`, `settled`, `print`, `show`, `log`, `give`, `throw` and `broken`; \
                 `args`, `as` and `catch` stand beside `call`",
            );
        };
        if matches!(act, Act::Options(_)) && index > 0 {
            return told(
                "has options behind another step",
                "let `options` be the first step",
            );
        }
        if let Act::Throw("") = act {
            return told("throws nothing", "give the error a message");
        }
        if let Some(name) = act.reads().into_iter().find(|name| !known.contains(*name)) {
            return told(
                &format!("reads `{name}`, which no step before it has"),
                "name the result of an earlier call with `as`",
            );
        }
        for call in act.calls() {
            if !is_name(&call.call) {
                return told(
                    &format!("calls `{}`, which a script cannot write", call.call),
                    "a tool's name has letters, digits and `_`",
                );
            }
            if let Some(name) = &call.name
                && !(is_name(name) && known.insert(name.clone()))
            {
                return told(
                    &format!("cannot name a result `{name}`"),
                    "use letters, digits and `_`, and a name that no other result of the script has",
                );
            }
        }
    }
    None
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(plain) && !name.as_bytes()[0].is_ascii_digit()
}
