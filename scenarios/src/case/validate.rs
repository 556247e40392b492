//! What the types of a case cannot say: ids that repeat, steps that do nothing, times that no play reaches.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use fake_pi::Version;
use serde_json::Value;

use super::host::DeliverAs;
use super::person::Deed;
use super::{Case, Mode, When, names, scripts};
use crate::rules;

/// The longest time that a case may name, in milliseconds: ten minutes, the longest that any wait of Pi or of the
/// adapter is set to.
pub const LONGEST_MS: u64 = 600_000;

/// Something that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Texts that lead to the place, each looked for behind the one before.
    pub near: Vec<String>,
    /// What is wrong.
    pub what: String,
    /// The remedy.
    pub help: String,
}

/// Lists what cannot be played.
pub fn faults(case: &Case) -> Vec<Fault> {
    let mut faults = Vec::new();
    covers(case, &mut faults);
    since(case, &mut faults);
    mode(case, &mut faults);
    steps(case, &mut faults);
    calls(case, &mut faults);
    scripts::faults(case, &mut faults);
    tools(case, &mut faults);
    answers(case, &mut faults);
    said(case, &mut faults);
    files(case, &mut faults);
    config(case, &mut faults);
    extensions(case, &mut faults);
    servers(case, &mut faults);
    http(case, &mut faults);
    times(case, &mut faults);
    names::expectations(case, &mut faults);
    faults
}

pub(super) fn fault(near: &[&str], what: impl Into<String>, help: impl Into<String>) -> Fault {
    Fault {
        near: near.iter().map(|&text| text.to_owned()).collect(),
        what: what.into(),
        help: help.into(),
    }
}

fn covers(case: &Case, faults: &mut Vec<Fault>) {
    for id in case.covers.iter().filter(|id| !rules::is_known(id)) {
        faults.push(fault(
            &["covers", id],
            format!("there is no rule `{id}`"),
            "`pi-bench list --rules` shows the ids",
        ));
    }
}

fn since(case: &Case, faults: &mut Vec<Fault>) {
    let Some(since) = &case.since else { return };
    if let Err(modelled) = since.version.parse::<Version>() {
        faults.push(fault(
            &["since", &since.version],
            format!("`{}` is no version that is compared", since.version),
            modelled.to_string(),
        ));
    } else if since.why.trim().is_empty() {
        faults.push(fault(
            &["since"],
            "nothing says what older versions do",
            "set `why` beside `version`",
        ));
    }
}

/// What a mode has no way for.
fn mode(case: &Case, faults: &mut Vec<Fault>) {
    let mode = case.host.mode;
    for (index, step) in case.person.iter().enumerate() {
        let Some(deed) = step.deed() else { continue };
        let signal = matches!(deed, Deed::Signal(_));
        let plain = match deed {
            // No event tells when a command is through.
            Deed::Prompt(text) => mode == Mode::Embedded || !text.starts_with('/'),
            Deed::Abort | Deed::NewSession | Deed::Reload | Deed::Quit => true,
            _ => false,
        };
        let waits = step.seen.is_some() || step.delay_ms > 0 || step.when != When::Settled;
        let wrong = match mode {
            Mode::Print | Mode::Json => {
                !(signal || matches!(deed, Deed::Prompt(_)) && !waits && step.streaming.is_none())
            }
            Mode::Terminal => !(plain || signal),
            Mode::Embedded => !plain,
            Mode::Rpc => false,
        };
        if wrong {
            faults.push(Fault {
                near: nth_step(index),
                what: format!("step {} cannot be made in this mode", index + 1),
                help: "in `print` and `json` all steps are prompts without waits, or signals; in `terminal` and \
                       `embedded` they are prompts, aborts, new sessions, reloads and a quit, in `terminal` signals \
                       too, and no slash commands"
                    .to_owned(),
            });
        }
    }
    if case.host.piped.is_some() && !mode.is_one_shot() {
        faults.push(fault(
            &["piped"],
            "something is piped into a Pi that reads its standard input otherwise",
            "use `piped` with mode `print` or `json`",
        ));
    }
    if !case.host.binds && mode != Mode::Embedded {
        faults.push(fault(
            &["binds"],
            "Pi's own program always binds its extensions",
            "use `binds` with mode `embedded`",
        ));
    }
}

fn steps(case: &Case, faults: &mut Vec<Fault>) {
    if case.person.is_empty() {
        faults.push(fault(
            &["person"],
            "the person does nothing",
            "add a `[[person]]` table with a `prompt`",
        ));
    }
    let mut sessions = 1;
    for (index, step) in case.person.iter().enumerate() {
        let rest = &case.person[index + 1..];
        let last = rest.is_empty();
        let wrong = match step.deed() {
            None => Some((
                "does not do exactly one thing",
                "set one of `prompt`, `steer`, `follow_up`, `clear_queue`, `abort`, `compact`, `navigate`, \
                 `new_session`, `reload`, `resume`, `resume_stored`, `fork`, `clone_session`, `bash`, `model`, \
                 `answer`, `quit` and `signal`",
            )),
            Some(Deed::Quit) if !last => {
                Some(("leaves, and others follow", "let `quit` be the last step"))
            }
            Some(Deed::Signal(_)) if rest.iter().any(|step| step.signal.is_none()) => Some((
                "sends a signal, and others follow",
                "let nothing but further signals follow a signal",
            )),
            Some(Deed::Resume(number)) if number == 0 || number > sessions => Some((
                "resumes a session that was not there yet",
                "sessions are counted from 1, in the order in which the steps make them",
            )),
            Some(Deed::Fork(0)) => Some(("forks before no prompt", "the first prompt is 1")),
            Some(Deed::Navigate(navigate)) if navigate.entry == 0 => {
                Some(("goes to no entry", "the first entry is 1"))
            }
            Some(deed)
                if !step.images.is_empty()
                    && !matches!(deed, Deed::Prompt(_) | Deed::Queue(..)) =>
            {
                Some((
                    "shows images beside something that is no prompt",
                    "set `images` beside `prompt`, `steer` or `follow_up`",
                ))
            }
            Some(_) if step.streaming.is_some() && step.prompt.is_none() => Some((
                "queues something that is no prompt",
                "set `streaming` beside `prompt` only",
            )),
            Some(deed) => {
                sessions += usize::from(matches!(
                    deed,
                    Deed::NewSession | Deed::Fork(_) | Deed::Clone
                ));
                None
            }
        };
        if let Some((what, help)) = wrong {
            faults.push(Fault {
                near: nth_step(index),
                what: format!("step {} {what}", index + 1),
                help: help.into(),
            });
        }
    }
}

/// Leads to a step. A mark is a line's beginning, lest a step be taken for one that a text mentions.
fn nth_step(index: usize) -> Vec<String> {
    let first = std::iter::once("[[person]]".to_owned());
    first
        .chain(std::iter::repeat_n("\n[[person]]".to_owned(), index))
        .collect()
}

fn calls(case: &Case, faults: &mut Vec<Fault>) {
    let mut seen = BTreeSet::new();
    for call in case.model.iter().flat_map(|answer| &answer.calls) {
        if call.id.is_empty() {
            faults.push(fault(
                &["id = \"\""],
                "a call has an empty id",
                "give each call an id of its own, such as `c1`",
            ));
        } else if !seen.insert(&call.id) {
            let mark = format!("id = \"{}\"", call.id);
            faults.push(fault(
                &[&mark, &mark],
                format!("the call id `{}` stands twice", call.id),
                "give each call of the case an id of its own",
            ));
        } else if call.raw.is_some() && !call.args.is_empty() {
            faults.push(fault(
                &[&format!("id = \"{}\"", call.id)],
                format!("the call `{}` has its arguments twice", call.id),
                "set `args` or `raw`, not both",
            ));
        }
    }
}

/// Tools of Pi that a session does not declare by itself.
const FURTHER_TOOLS: [&str; 6] = [
    "codemode",
    "tool_search",
    "grep",
    "find",
    "ls",
    "powershell",
];

fn tools(case: &Case, faults: &mut Vec<Fault>) {
    let known = |name: &&String| FURTHER_TOOLS.contains(&name.as_str());
    if let Some(name) = case.host.tools.iter().find(|name| !known(name)) {
        faults.push(fault(
            &["tools", name],
            format!("`{name}` is no tool that Pi has and does not declare by itself"),
            super::load::nearest(name, &FURTHER_TOOLS),
        ));
    }
}

/// Prompts of another extension that wait for the next prompt: only a message can.
fn said(case: &Case, faults: &mut Vec<Fault>) {
    for other in &case.host.extensions {
        let commands = other.commands.iter().map(|command| &command.does);
        let deeds = commands.chain(other.on.iter().map(|handler| &handler.does));
        for said in deeds.flat_map(|deeds| &deeds.says) {
            if said.deliver_as == Some(DeliverAs::NextTurn) {
                faults.push(fault(
                    &["says", "next_turn"],
                    format!("the prompt `{}` waits for the next prompt", said.text),
                    "use `steer` or `follow_up`; only a message of `sends` can wait so",
                ));
            }
        }
    }
}

/// Pauses that no stream reaches, and failures that are none.
fn answers(case: &Case, faults: &mut Vec<Fault>) {
    for (index, answer) in case.model.iter().enumerate() {
        // How long a script is when it is written as JavaScript, nobody knows here.
        let scripted = answer.calls.iter().any(|call| !call.script.is_empty());
        let mut end = answer.say.chars().count();
        for call in &answer.calls {
            end += call.written().chars().count();
        }
        let ordered = answer
            .pauses
            .is_sorted_by(|one, next| one.after < next.after);
        let wrong = if !scripted && answer.pauses.iter().any(|pause| pause.after > end) {
            Some((
                format!("pauses behind more than its {end} characters"),
                "count the characters of the text, then those of each call's arguments as JSON without spaces",
            ))
        } else if !ordered {
            Some((
                "pauses in no order".to_owned(),
                "write the pauses in the order in which they come, each behind more characters",
            ))
        } else if answer
            .error
            .as_ref()
            .is_some_and(|error| !(400..=599).contains(&error.status))
        {
            Some((
                "fails with a status that is no failure".to_owned(),
                "give a status from 400 to 599",
            ))
        } else {
            None
        };
        if let Some((what, help)) = wrong {
            let first = std::iter::once("[[model]]".to_owned());
            let near = first
                .chain(std::iter::repeat_n("\n[[model]]".to_owned(), index))
                .collect();
            faults.push(Fault {
                near,
                what: format!("answer {} {what}", index + 1),
                help: help.into(),
            });
        }
    }
}

fn files(case: &Case, faults: &mut Vec<Fault>) {
    let projects = case.files.keys().chain(case.programs.keys());
    let stored = case
        .stored
        .iter()
        .flat_map(|(name, session)| [name, &session.cwd]);
    for path in projects.chain(&case.config.links).chain(stored) {
        let plain = !path.is_empty()
            && Path::new(path)
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
        if !plain {
            faults.push(fault(
                &[path],
                format!("the file `{path}` does not lie in the project"),
                "name files by a path relative to the project, links by one relative to the play's folder, without `..`",
            ));
        }
    }
}

fn config(case: &Case, faults: &mut Vec<Fault>) {
    for name in case
        .config
        .env
        .keys()
        .filter(|name| !name.starts_with("GORTEX_"))
    {
        faults.push(fault(
            &["env", name],
            format!("`{name}` is not the adapter's"),
            "only variables that begin with `GORTEX_` can be set; the rest of the environment is the runner's",
        ));
    }
}

fn extensions(case: &Case, faults: &mut Vec<Fault>) {
    let mut seen = BTreeSet::from(["gortex", "record-first", "record-last"]);
    for extension in &case.host.extensions {
        let name = extension.name.as_str();
        let plain = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !plain || !seen.insert(name) {
            faults.push(fault(
                &["name", name],
                format!("`{name}` cannot name another extension"),
                "use letters, digits and `-`, and a name that no other extension of the case has",
            ));
        }
    }
}

/// A server's name is that of its program, and is told in the trace.
fn servers(case: &Case, faults: &mut Vec<Fault>) {
    for name in case.servers.keys() {
        let plain = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if !plain || name == "gortex" {
            faults.push(fault(
                &[&format!("[servers.{name}")],
                format!("`{name}` cannot name a server"),
                "use letters, digits, `-` and `_`; Gortex itself is `[daemon]`",
            ));
        }
    }
}

fn http(case: &Case, faults: &mut Vec<Fault>) {
    for (name, server) in &case.http {
        let table = format!("[http.{name}]");
        if !case.servers.contains_key(name) {
            faults.push(fault(
                &[&table],
                format!("the server `{name}` says nothing"),
                format!("script what it says in a table `[servers.{name}]`"),
            ));
        }
        for rule in &server.rules {
            let status = rule.status.unwrap_or(200);
            if !(200..=599).contains(&status) {
                faults.push(fault(
                    &[&table, &status.to_string()],
                    format!("{status} is no status of an answer"),
                    "name one from 200 to 599",
                ));
            }
        }
    }
}

/// Every time of a case is a whole number of milliseconds under a key that ends in `_ms`, whichever part it is in.
fn times(case: &Case, faults: &mut Vec<Fault>) {
    let mut found = Vec::new();
    // A case came from TOML, so it is JSON too; were it not, there would be no time to look at.
    collect_times(&serde_json::to_value(case).unwrap_or_default(), &mut found);
    for time in found.into_iter().filter(|&time| time > LONGEST_MS) {
        faults.push(fault(
            &[&time.to_string()],
            format!("{time} ms is longer than any play"),
            format!("name at most {LONGEST_MS} ms; a wait that never ends has a key of its own (`silent`, `hang`)"),
        ));
    }
}

fn collect_times(value: &Value, found: &mut Vec<u64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_times(item, found)),
        Value::Object(members) => {
            for (name, item) in members {
                match item {
                    Value::Number(time) if name.ends_with("_ms") => found.extend(time.as_u64()),
                    Value::Array(times) if name.ends_with("_ms") => {
                        found.extend(times.iter().filter_map(Value::as_u64));
                    }
                    _ => collect_times(item, found),
                }
            }
        }
        _ => {}
    }
}
