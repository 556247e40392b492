//! Which tool-surface specs may reach Gortex (C5, wire.md "Tool surface").

/// The presets that Gortex knows, with their aliases.
const PRESETS: [&str; 23] = [
    "full",
    "all",
    "core",
    "default",
    "classic",
    "agent",
    "coding-agent",
    "facade-v1",
    "compact",
    "facade",
    "agent-v2",
    "readonly",
    "read-only",
    "read_only",
    "edit",
    "editor",
    "edit-harness",
    "nav",
    "navigate",
    "explore",
    "localization",
    "locate",
    "find",
];

/// Whether a spec is one that Gortex reads as meant: the first bare token names a preset and every token is plain.
///
/// Anything else Gortex would take for an allow-list of tools, so that a typo would leave a session with none. Plain
/// tokens also hold nothing that Pi expands (C7).
#[must_use]
pub fn is_preset_spec(spec: &str) -> bool {
    let plain = |token: &str| {
        let name = token.strip_prefix(['+', '-']).unwrap_or(token);
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let first_bare = spec.split(',').find(|token| !token.starts_with(['+', '-']));
    spec.len() <= 4096
        && spec.split(',').all(plain)
        && first_bare.is_some_and(|token| PRESETS.contains(&token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c5_presets_and_their_changes_pass() {
        for spec in [
            "core",
            "facade-v1",
            "read_only,+edit_file",
            "+search,nav,-read,explore_more",
            "find",
        ] {
            assert!(is_preset_spec(spec), "{spec}");
        }
    }

    #[test]
    fn c5_c7_typos_and_hostile_specs_do_not() {
        let specs = [
            "",
            "cor",
            "Core",
            "search",
            "+core",
            "search,core",
            "core,",
            ",core",
            "core,+",
            "core, +x",
            "core,${HOME}",
            "!touch x",
            "core,!x",
            "core,$HOME",
            "core\n",
            "core,a b",
            "core,é",
        ];
        for spec in specs {
            assert!(!is_preset_spec(spec), "{spec}");
        }
    }
}
