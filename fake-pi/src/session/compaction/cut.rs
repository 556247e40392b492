//! Where a compaction cuts a branch: what it sums up, and from where on messages stay as they are.

use serde_json::{Value, json};

use super::files::Files;
use super::tokens;
use crate::session::projection::{self, Projected};
use crate::settings::CompactionSettings;

/// What a compaction would do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Preparation {
    /// The first entry that is kept.
    pub(crate) first_kept: String,
    /// The messages of whole spans, each from a prompt to the next, that are summed up.
    pub(crate) history: Vec<Value>,
    /// The beginning of the span that the cut splits, summed up by itself.
    pub(crate) prefix: Vec<Value>,
    pub(crate) splits: bool,
    /// The tokens of the context before.
    pub(crate) tokens_before: u64,
    /// The summary of an earlier compaction that this one takes up.
    pub(crate) previous: Option<String>,
    pub(crate) files: Files,
}

impl Preparation {
    /// What `session_before_compact` handlers are shown. The lists of files are sets there, which show as empty objects
    /// once they are written as JSON.
    pub(crate) fn shown(&self, settings: CompactionSettings) -> Value {
        let mut shown = json!({
            "firstKeptEntryId": self.first_kept, "messagesToSummarize": self.history,
            "turnPrefixMessages": self.prefix, "isSplitTurn": self.splits, "tokensBefore": self.tokens_before,
            "fileOps": {"read": {}, "written": {}, "edited": {}},
            "settings": {"enabled": settings.enabled, "reserveTokens": settings.reserve_tokens,
                "keepRecentTokens": settings.keep_recent_tokens}
        });
        if let Some(previous) = &self.previous {
            shown["previousSummary"] = previous.clone().into();
        }
        shown
    }
}

/// Prepares a compaction of a branch; `None` when there is nothing to sum up.
pub(crate) fn prepare(branch: &[Value], keep_tokens: u64) -> Option<Preparation> {
    if branch.last()?["type"] == "compaction" {
        return None;
    }
    let projection = projection::of(branch);
    let earlier = projection
        .first()
        .filter(|entry| entry.is("compaction") && !entry.messages.is_empty());
    let begin = usize::from(earlier.is_some());
    let cut = cut(&projection, begin, keep_tokens);
    let first_kept = projection.get(cut)?.id().to_owned();
    let starts_span = starts_span(&projection[cut]);
    let span = if starts_span {
        None
    } else {
        (begin..=cut)
            .rev()
            .find(|&at| self::starts_span(&projection[at]))
    };
    let history = told(&projection[begin..span.unwrap_or(cut)]);
    let prefix = span.map_or_else(Vec::new, |span| told(&projection[span..cut]));
    if history.is_empty() && prefix.is_empty() {
        return None;
    }
    let mut files = earlier.map_or_else(Files::default, |entry| Files::of_compaction(&entry.entry));
    history
        .iter()
        .chain(&prefix)
        .for_each(|message| files.note(message));
    Some(Preparation {
        first_kept,
        history,
        prefix,
        splits: span.is_some(),
        tokens_before: tokens::of_context(&projection, branch),
        previous: earlier.and_then(|entry| entry.entry["summary"].as_str().map(str::to_owned)),
        files,
    })
}

/// The messages of entries as a summary is made of them: without system messages, which are no conversation.
fn told(entries: &[Projected]) -> Vec<Value> {
    let spoken = entries.iter().filter(|entry| !entry.is("compaction"));
    let messages = spoken.flat_map(|entry| &entry.messages);
    messages
        .filter(|message| message["role"] != "system")
        .cloned()
        .collect()
}

fn has_role(entry: &Projected, roles: &[&str]) -> bool {
    let role = |message: &Value| {
        message["role"]
            .as_str()
            .is_some_and(|role| roles.contains(&role))
    };
    !entry.is("compaction") && entry.messages.iter().any(role)
}

/// Whether a span of the conversation starts with an entry: with everything that is the user's side to the model.
fn starts_span(entry: &Projected) -> bool {
    has_role(
        entry,
        &["user", "custom", "branchSummary", "compactionSummary"],
    )
}

/// Whether a cut may lie before an entry: before anything but a tool's result, which stays with its call.
fn may_cut(entry: &Projected) -> bool {
    starts_span(entry) || has_role(entry, &["assistant"])
}

/// The place of the first entry that is kept, so that with it about `keep_tokens` are.
fn cut(projection: &[Projected], begin: usize, keep_tokens: u64) -> usize {
    let places = (begin..projection.len()).filter(|&at| may_cut(&projection[at]));
    let Some(first) = places.clone().next() else {
        return begin;
    };
    let weighs = |at: usize| -> u64 {
        let messages = projection[at].messages.iter();
        messages.map(tokens::of_message).sum()
    };
    let full = (begin..projection.len())
        .rev()
        .map(|at| (at, weighs(at)))
        .filter(|&(_, tokens)| tokens > 0)
        .scan(0, |kept, (at, tokens)| {
            *kept += tokens;
            Some((at, *kept))
        })
        .find_map(|(at, kept)| (kept >= keep_tokens).then_some(at));
    let place = full.map_or(first, |full| {
        let next = places.clone().find(|&place| place >= full);
        let place = next.or_else(|| places.clone().next_back()).unwrap_or(first);
        place + usize::from(only_given_up(&projection[place + 1..]))
    });
    // What adds nothing stays with the entry that it leads up to.
    let leads_up = |entry: &&Projected| entry.messages.is_empty() && !entry.is("compaction");
    let before = projection[begin..place].iter().rev();
    place - before.take_while(leads_up).count()
}

/// What an entry behind the cut means for what is kept.
enum Rest<'a> {
    /// It counts.
    Counts,
    /// It would count, but was taken out of the context.
    GivenUp(&'a Projected),
    /// It changes another.
    Edit(&'a Value),
    Nothing,
}

impl<'a> Rest<'a> {
    fn of(projected: &'a Projected) -> Self {
        let entry = &projected.entry;
        if projected.is("compaction") {
            Self::Counts
        } else if projected.is("context_edit") {
            Self::Edit(entry)
        } else if projection::entry_messages(entry).is_empty() {
            Self::Nothing
        } else if projected.messages.is_empty() {
            Self::GivenUp(projected)
        } else {
            Self::Counts
        }
    }
}

/// Whether the model's last attempt, given up since, is all that lies behind the cut: with edits, which may put something
/// else only in the place of what was given up.
fn only_given_up(rest: &[Projected]) -> bool {
    let (mut given_up, mut edits) = (Vec::new(), Vec::new());
    for entry in rest {
        match Rest::of(entry) {
            Rest::Counts => return false,
            Rest::GivenUp(entry) => given_up.push(entry),
            Rest::Edit(edit) => edits.push(edit),
            Rest::Nothing => {}
        }
    }
    let had_answer = given_up
        .iter()
        .any(|entry| entry.entry["message"]["role"] == "assistant");
    had_answer
        && edits.iter().all(|edit| {
            edit["replacement"].is_null()
                || given_up.iter().any(|entry| edit["targetId"] == entry.id())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, role: &str, text: &str) -> Value {
        json!({"type": "message", "id": id, "message": {"role": role, "content": [{"type": "text", "text": text}]}})
    }

    /// Two spans, of which the second has a call and its result.
    fn branch() -> Vec<Value> {
        vec![
            json!({"type": "model_change", "id": "m"}),
            entry("u1", "user", "12345678"),
            entry("a1", "assistant", "12345678"),
            entry("u2", "user", "12345678"),
            entry("a2", "assistant", "12345678"),
            entry("r2", "toolResult", "12345678"),
            entry("a3", "assistant", "12345678"),
        ]
    }

    #[test]
    fn a_cut_lies_before_a_prompt_or_splits_a_span_but_never_before_a_result() {
        let kept = |tokens| prepare(&branch(), tokens).map(|done| (done.first_kept, done.splits));
        assert_eq!(kept(1), Some(("a3".into(), true)));
        // Four tokens reach into the result, so the next place behind it is taken.
        assert_eq!(kept(4), Some(("a3".into(), true)));
        assert_eq!(kept(6), Some(("a2".into(), true)));
        assert_eq!(kept(8), Some(("u2".into(), false)));
        assert_eq!(kept(100), None, "all is kept");
    }

    #[test]
    fn a_split_span_is_summed_up_by_itself() {
        let done = prepare(&branch(), 6).expect("there is something to sum up");
        assert_eq!((done.history.len(), done.prefix.len()), (2, 1));
    }

    #[test]
    fn a_second_compaction_begins_behind_the_first_and_takes_up_its_summary() {
        let mut branch = branch();
        branch.push(
            json!({"type": "compaction", "id": "c", "summary": "S", "firstKeptEntryId": "a3"}),
        );
        assert_eq!(prepare(&branch, 1), None, "nothing came since");
        branch.extend([
            entry("u4", "user", "1234"),
            entry("a4", "assistant", "1234"),
        ]);
        let done = prepare(&branch, 2).expect("there is something to sum up");
        assert_eq!(
            (done.first_kept.as_str(), done.previous.as_deref()),
            ("u4", Some("S"))
        );
        assert_eq!(done.history.len(), 1, "what the first one kept");
    }
}
