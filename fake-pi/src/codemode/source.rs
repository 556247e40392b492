//! The source of a script: an options line, perhaps, and JavaScript.

use std::time::Duration;

use serde_json::Value;

/// How an options line begins.
const MARK: &str = "// @options:";

/// Milliseconds of the longest of Node's timers.
const LONGEST_MS: u64 = 2_147_483_647;

/// What whole numbers JavaScript counts exactly.
const EXACT: u64 = 9_007_199_254_740_991;

/// What an options line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Options {
    /// Tokens of output that the model may read.
    pub(super) most_tokens: Option<u64>,
    /// How long the script may take.
    pub(super) timeout: Option<Duration>,
}

/// The options of a source.
///
/// # Errors
/// The text that the model reads. Of options that are no JSON it lacks the words of JavaScript's own reader.
pub(super) fn parse(source: &str) -> Result<Options, String> {
    if source.trim().is_empty() {
        return Err(
            "Expected JavaScript source text (non-empty). Provide JS only, optionally with a first line \
             `// @options: {\"max_output_tokens\": 1000}`."
                .into(),
        );
    }
    let begins = |line: &str| line.trim_start().starts_with(MARK);
    if let Some(index) = source.split('\n').skip(1).position(begins) {
        return Err(format!(
            "The {MARK} line must be the first line of the input; found one on line {}",
            index + 2
        ));
    }
    let (first, rest) = match source.find('\n') {
        Some(end) => source.split_at(end),
        None => (source, ""),
    };
    let first = first.trim();
    let Some(said) = first.strip_prefix(MARK) else {
        return Ok(Options::default());
    };
    if rest.trim().is_empty() {
        return Err(
            "The @options line must be followed by JavaScript source on subsequent lines".into(),
        );
    }
    options(said.trim())
}

fn options(said: &str) -> Result<Options, String> {
    const FIELDS: &str = "`max_output_tokens` and `timeout_ms`";
    let no_object = || format!("@options must be a JSON object with supported fields {FIELDS}");
    if said.is_empty() {
        return Err(no_object());
    }
    let value: Value = serde_json::from_str(said)
        .map_err(|_| format!("@options must be valid JSON with supported fields {FIELDS}"))?;
    let fields = value.as_object().ok_or_else(no_object)?;
    let whole = |value: &Value| value.as_u64().filter(|number| *number <= EXACT);
    let mut options = Options::default();
    for (name, value) in fields {
        match name.as_str() {
            "max_output_tokens" => {
                let tokens = whole(value).ok_or(
                    "@options field `max_output_tokens` must be a non-negative safe integer",
                )?;
                options.most_tokens = Some(tokens);
            }
            "timeout_ms" => {
                let ms = whole(value).filter(|ms| (1..=LONGEST_MS).contains(ms));
                let ms = ms.ok_or_else(|| {
                    format!(
                        "@options field `timeout_ms` must be a positive integer up to {LONGEST_MS}"
                    )
                })?;
                options.timeout = Some(Duration::from_millis(ms));
            }
            other => return Err(format!("@options only supports {FIELDS}; got `{other}`")),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_in_the_first_line() {
        let source = "// @options: {\"max_output_tokens\": 10, \"timeout_ms\": 500}\nreturn 1;";
        let options = parse(source).expect("a source");
        assert_eq!(options.most_tokens, Some(10));
        assert_eq!(options.timeout, Some(Duration::from_millis(500)));
        assert_eq!(parse("return 1;"), Ok(Options::default()));
    }

    #[test]
    fn what_is_wrong_is_said_in_pis_words() {
        // Recorded from Pi 1.6.0: the first.
        let wrong = [
            (" \n", "Expected JavaScript source text (non-empty)."),
            ("a\n// @options: {}", "found one on line 2"),
            ("// @options: {}", "must be followed by JavaScript source"),
            ("// @options: []\na", "must be a JSON object"),
            ("// @options: {\"x\": 1}\na", "got `x`"),
            ("// @options: {\"timeout_ms\": 0}\na", "up to 2147483647"),
        ];
        for (source, text) in wrong {
            let said = parse(source).expect_err(source);
            assert!(said.contains(text), "{said}");
        }
    }
}
