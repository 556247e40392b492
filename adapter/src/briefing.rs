//! What a briefing tells besides its text: the daemon's version, and whether a session has read it before (B3, B4).

use serde_json::Value;

/// A daemon's version, without pre-release and build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u64, u64, u64);

impl Version {
    /// The oldest daemon that the extension is known to work with (B4).
    pub const FLOOR: Self = Self(0, 61, 2);

    /// Reads the version from the readiness line at the top of a briefing. `None` where it tells none.
    #[must_use]
    pub fn of_briefing(briefing: &str) -> Option<Self> {
        let line = briefing
            .lines()
            .find(|line| !line.trim().is_empty())
            .filter(|line| is_readiness(line))?;
        let (_, rest) = line.split_once("(v")?;
        let end = rest
            .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .unwrap_or(rest.len());
        let mut numbers = rest[..end].split('.').map(|number| number.parse().ok());
        let version = Self(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

fn is_readiness(line: &str) -> bool {
    let line = line.trim_start();
    ["✓ Gortex", "⏳ Gortex"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Whether one of the stored messages holds `text`, its age left aside: a readiness line counts the daemon's uptime,
/// so that the same briefing never reads the same twice. Whole paragraphs are compared, since a message is made of
/// them: a text that only stands within a longer one was not told.
#[must_use]
pub fn is_stored(text: &str, stored: &[Value]) -> bool {
    let text = paragraphs(&ageless(text));
    !text.is_empty()
        && stored.iter().any(|content| {
            let content = paragraphs(&ageless(&plain(content)));
            content.windows(text.len()).any(|part| part == text)
        })
}

/// The runs of lines that are not blank.
fn paragraphs(text: &str) -> Vec<String> {
    text.lines()
        .collect::<Vec<_>>()
        .split(|line| line.trim().is_empty())
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n"))
        .collect()
}

/// The text of a message's content, which Pi keeps as a string or as a list of parts.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts
                .iter()
                .filter_map(|part| part.get("text")?.as_str())
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn ageless(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let aged = |part: &&str| {
            !part.trim_start().starts_with("uptime ") && !part.trim_end().ends_with(" elapsed")
        };
        match line
            .split_once('(')
            .and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
        {
            Some((before, (parts, after))) if is_readiness(line) => {
                let kept: Vec<_> = parts.split(',').filter(aged).collect();
                lines.push(format!("{before}({}){after}", kept.join(",")));
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn b4_every_readiness_line_tells_its_version() {
        let lines = [
            (
                "✓ Gortex daemon ready (v0.64.5+33107203, uptime 1m). …",
                Some(Version(0, 64, 5)),
            ),
            (
                "✓ Gortex daemon ready — references queryable (v0.64.5, uptime 1m); semantic enrichment still running.",
                Some(Version(0, 64, 5)),
            ),
            (
                "\n⏳ Gortex daemon warming up (v0.62.0, 3s elapsed). …",
                Some(Version(0, 62, 0)),
            ),
            (
                "✓ Gortex ready (v0.61.2-rc1): 3 repo(s), 120 nodes. …",
                Some(Version(0, 61, 2)),
            ),
            (
                "✓ Gortex warming up — enforcement partial (v0.64.5): …",
                Some(Version(0, 64, 5)),
            ),
            ("✓ Gortex daemon ready (vunknown, uptime 1m).", None),
            ("✓ Gortex daemon ready (v1.2).", None),
            (
                "✓ Gortex daemon ready (v99999999999999999999999.0.0).",
                None,
            ),
            ("The daemon's transport is unreachable.", None),
            (
                "# Rules\n✓ Gortex ready (v0.1.0): quoted, not at the top",
                None,
            ),
            ("# Rules (v0.1.0)", None),
            ("", None),
        ];
        for (line, version) in lines {
            assert_eq!(Version::of_briefing(line), version, "{line}");
        }
    }

    #[test]
    fn b4_versions_compare_by_number() {
        assert!(Version(0, 61, 1) < Version::FLOOR && Version(0, 9, 9) < Version::FLOOR);
        assert!(Version(0, 61, 10) > Version::FLOOR && Version(1, 0, 0) > Version::FLOOR);
    }

    #[test]
    fn b3_a_briefing_is_known_again_at_another_age() {
        let briefing = |age: &str| {
            format!("✓ Gortex daemon ready (v0.64.5, uptime {age}). Go.\nUse (uptime 3) tools.")
        };
        let stored = [
            json!("other"),
            json!([{"type": "text", "text": format!("A note.\n\n{}", briefing("1m"))}]),
        ];
        assert!(is_stored(&briefing("2h"), &stored));
        assert!(is_stored("A note.", &stored));
        assert!(!is_stored("Another note.", &stored));
        // Part of a paragraph is another text, a run of whole ones is not.
        for part in ["note.", "A note", "Use (uptime 3) tools.", ""] {
            assert!(!is_stored(part, &stored), "{part}");
        }
        let whole = format!("\nA note.\n\n\n{}\n", briefing("9h"));
        assert!(is_stored(&whole, &stored));
        assert!(!is_stored(
            &briefing("2h").replace("0.64.5", "0.65.0"),
            &stored
        ));
        assert!(!is_stored(
            &briefing("2h").replace("uptime 3)", "uptime 4)"),
            &stored
        ));
    }
}
