//! What a hook's answer means (H5, O03): a decision, nothing, or one line for the log.

use serde_json::{Map, Value};

use crate::{HookEnd, HookReport};

/// What the hook decided. The default is nothing at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Keep the tool from running.
    pub block: bool,
    /// Why, for the model.
    pub reason: String,
    /// Guidance for the model that keeps nothing from running.
    pub additional_context: String,
    /// The briefing of a session.
    pub orientation: String,
}

impl Decision {
    /// Reads a report. An `Err` is a failure that counts as no decision; its text names the cause and repeats no byte
    /// of what the hook wrote.
    ///
    /// # Errors
    ///
    /// Everything that H5 lists except what is no failure; an abort is the person's own wish and so is none.
    pub fn read(report: &HookReport) -> Result<Self, String> {
        match &report.end {
            HookEnd::Exited(0) => Self::parse(&report.stdout),
            HookEnd::Exited(code) => Err(format!("it exited with code {code}")),
            HookEnd::Signalled(signal) => Err(format!("signal {signal} ended it")),
            HookEnd::TimedOut => Err("it did not answer in time".to_owned()),
            HookEnd::Aborted => Ok(Self::default()),
            HookEnd::SpawnFailed(cause) => Err(format!("it could not run: {cause}")),
            HookEnd::TooLarge => Err("it wrote more than 16 MiB".to_owned()),
        }
    }

    /// The whole output is one JSON object; white space and one byte-order mark may stand around it.
    fn parse(stdout: &[u8]) -> Result<Self, String> {
        if stdout.len() > HookReport::MAX_BYTES {
            return Err("it wrote more than 16 MiB".to_owned());
        }
        let text = std::str::from_utf8(stdout).map_err(|_| "its answer is not UTF-8".to_owned())?;
        let text = trim(text);
        let marked = text
            .strip_prefix('\u{feff}')
            .or_else(|| text.strip_suffix('\u{feff}'));
        let text = trim(marked.unwrap_or(text));
        if text.is_empty() {
            return Ok(Self::default());
        }
        let fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            format!(
                "its answer is not one JSON object (line {}, column {})",
                error.line(),
                error.column()
            )
        })?;
        let mut decision = Self::default();
        for (key, value) in fields {
            let typed = match (key.as_str(), value) {
                ("block", Value::Bool(block)) => {
                    decision.block = block;
                    true
                }
                ("reason", Value::String(text)) => set(&mut decision.reason, text),
                ("additional_context", Value::String(text)) => {
                    set(&mut decision.additional_context, text)
                }
                ("orientation", Value::String(text)) => set(&mut decision.orientation, text),
                ("block" | "reason" | "additional_context" | "orientation", _) => false,
                _ => true,
            };
            if !typed {
                return Err(format!("the field {key} of its answer has the wrong type"));
            }
        }
        Ok(decision)
    }
}

/// JSON's own white space; a no-break space or a form feed is not part of a document.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

fn set(field: &mut String, text: String) -> bool {
    *field = text;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(stdout: &[u8]) -> Result<Decision, String> {
        Decision::read(&HookReport {
            stdout: stdout.to_vec(),
            end: HookEnd::Exited(0),
        })
    }

    fn deny(reason: &str) -> Decision {
        Decision {
            block: true,
            reason: reason.to_owned(),
            ..Decision::default()
        }
    }

    #[test]
    fn h5_o03_one_object_with_white_space_and_one_mark() {
        assert_eq!(
            exited(b"\xEF\xBB\xBF{\"block\":true,\"reason\":\"R\"}\r\n"),
            Ok(deny("R"))
        );
        assert_eq!(
            exited(b" \n{\"block\":true,\"reason\":\"R\",\"later\":[1]}\t"),
            Ok(deny("R"))
        );
        assert_eq!(
            exited(b"{\"block\":true,\"reason\":\"R\"}\n\xEF\xBB\xBF"),
            Ok(deny("R"))
        );
        assert!(exited(b"\xEF\xBB\xBF\xEF\xBB\xBF{\"block\":true}").is_err());
    }

    #[test]
    fn o03_nothing_is_no_decision_and_no_failure() {
        for silence in [&b""[..], b" \r\n\t", b"{}"] {
            assert_eq!(exited(silence), Ok(Decision::default()));
        }
    }

    #[test]
    fn h5_o03_anything_else_is_a_failure_that_repeats_no_output() {
        let odd: [&[u8]; 11] = [
            b"Welcome\r\n{\"block\":true,\"reason\":\"R\"}\n",
            b"banner\n{\"event\":\"tool_call\"}",
            b"{\"block\":false}\n{\"block\":true,\"reason\":\"R\"}",
            b"null",
            b"[]",
            b"\"deny\"",
            b"{\"block\":\"false\"}",
            b"{\"block\":true,\"reason\":7}",
            b"{\"block\":true,\"reason\":null}",
            b"{\"block\":true,\"reason\":\"\xff\"}",
            b"{\"block\":true",
        ];
        for stdout in odd {
            let failure = exited(stdout).expect_err("a failure");
            assert!(
                !failure.contains("Welcome") && !failure.contains("deny"),
                "{failure}"
            );
        }
    }

    #[test]
    fn h5_a_deep_document_is_a_failure_and_no_overflow() {
        let deep = format!("{{\"x\":{}", "[".repeat(1_000_000));
        assert!(exited(deep.as_bytes()).is_err());
    }

    #[test]
    fn h5_only_exit_code_zero_counts() {
        let stdout = b"{\"block\":true,\"reason\":\"R\"}".to_vec();
        let ends = [
            HookEnd::Exited(1),
            HookEnd::Signalled(9),
            HookEnd::TimedOut,
            HookEnd::SpawnFailed("gone".to_owned()),
            HookEnd::TooLarge,
        ];
        for end in ends {
            assert!(
                Decision::read(&HookReport {
                    stdout: stdout.clone(),
                    end
                })
                .is_err()
            );
        }
        let aborted = HookReport {
            stdout,
            end: HookEnd::Aborted,
        };
        assert_eq!(Decision::read(&aborted), Ok(Decision::default()));
    }

    #[test]
    fn o06_unicode_line_separators_stay_in_a_reason() {
        let stdout = "{\"block\":true,\"reason\":\"left\u{2028}right\u{2029}end\"}";
        assert_eq!(
            exited(stdout.as_bytes()),
            Ok(deny("left\u{2028}right\u{2029}end"))
        );
    }
}
