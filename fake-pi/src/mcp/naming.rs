//! Names of MCP tools and of their namespaces (pi-host.md 4.2).

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

/// Longest name that providers take.
const MAX_LENGTH: usize = 64;

/// Hex digits of the suffix that tells colliding names apart.
const SUFFIX_DIGITS: usize = 8;

/// The name of a tool as long as no other tool claims it: `mcp__<server>__<tool>`, cut and suffixed when too long.
#[must_use]
pub fn tool_name(server: &str, tool: &str) -> String {
    let plain = sanitised(server, tool);
    if plain.len() > MAX_LENGTH {
        suffixed(&plain, server, tool)
    } else {
        plain
    }
}

/// The namespace of a server's tools. Servers whose names differ only in `-` and `_` share one, so they clash.
#[must_use]
pub fn namespace(server: &str) -> String {
    format!("mcp__{}", server.replace('-', "_"))
}

/// The line that the prompt shows for a server: the first of its description, else of its instructions, else nothing.
#[must_use]
pub fn summary(description: Option<&str>, instructions: Option<&str>) -> String {
    let given = [description, instructions]
        .into_iter()
        .flatten()
        .map(str::trim);
    let text = given
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    text.split('\n')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Which tool owns which name, over all servers of a session: a name stays with the tool that got it first.
#[derive(Debug, Default)]
pub struct ToolNames {
    owners: BTreeMap<String, (String, String)>,
}

impl ToolNames {
    /// Names for the tools that a server lists, in its order.
    ///
    /// All tools of the list whose plain names are equal get a suffix, so that the order of the list does not decide. A
    /// tool listed twice under one name keeps it the first time.
    pub fn assign(&mut self, server: &str, tools: &[&str]) -> Vec<String> {
        let distinct: BTreeSet<&str> = tools.iter().copied().collect();
        let mut claims: BTreeMap<String, usize> = BTreeMap::new();
        for tool in distinct {
            *claims.entry(tool_name(server, tool)).or_default() += 1;
        }
        let mut current = BTreeSet::new();
        tools
            .iter()
            .map(|tool| {
                let owner = (server.to_owned(), (*tool).to_owned());
                let plain = sanitised(server, tool);
                let is_taken = self
                    .owners
                    .get(&plain)
                    .is_some_and(|existing| *existing != owner)
                    || current.contains(&plain)
                    || claims.get(&plain).is_some_and(|count| *count > 1);
                let name = if plain.len() > MAX_LENGTH || is_taken {
                    suffixed(&plain, server, tool)
                } else {
                    plain
                };
                self.owners.insert(name.clone(), owner);
                current.insert(name.clone());
                name
            })
            .collect()
    }
}

/// `mcp__<server>__<tool>` with an underscore for each UTF-16 unit outside `[A-Za-z0-9_]`.
fn sanitised(server: &str, tool: &str) -> String {
    let mut name = String::new();
    for character in format!("mcp__{server}__{tool}").chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character);
        } else {
            name.extend(std::iter::repeat_n('_', character.len_utf16()));
        }
    }
    name
}

/// The name cut so that `_` and the digits of the original spellings' hash fit.
fn suffixed(plain: &str, server: &str, tool: &str) -> String {
    let digest = Sha256::digest(format!("{server}\0{tool}"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept: String = plain.chars().take(MAX_LENGTH - SUFFIX_DIGITS - 1).collect();
    format!("{kept}_{}", &hex[..SUFFIX_DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_emoji_is_two_units() {
        assert_eq!(tool_name("n-1", "a.b😀é"), "mcp__n_1__a_b___");
    }

    #[test]
    fn all_members_of_a_colliding_group_are_suffixed() {
        let names = ToolNames::default().assign("s", &["a-b", "a_b", "plain", "a.b"]);
        assert_eq!(names[2], "mcp__s__plain");
        for (index, tool) in [(0, "a-b"), (1, "a_b"), (3, "a.b")] {
            let digest: String = Sha256::digest(format!("s\0{tool}"))
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(names[index], format!("mcp__s__a_b_{}", &digest[..8]));
        }
    }

    #[test]
    fn a_tool_listed_twice_keeps_its_name_once() {
        let names = ToolNames::default().assign("s", &["a", "a"]);
        assert_eq!(names[0], "mcp__s__a");
        assert!(names[1].starts_with("mcp__s__a_") && names[1].len() == "mcp__s__a_".len() + 8);
    }

    #[test]
    fn a_long_name_is_cut_to_the_limit() {
        let name = tool_name("server", &"x".repeat(60));
        assert_eq!(name.len(), 64);
        assert!(name.starts_with("mcp__server__xxxx"));
    }

    #[test]
    fn a_name_stays_with_its_first_owner() {
        let mut names = ToolNames::default();
        names.assign("s", &["a-b"]);
        assert_eq!(names.assign("s", &["a_b"]).len(), 1);
        assert_ne!(names.assign("s", &["a_b"])[0], "mcp__s__a_b");
        assert_eq!(names.assign("s", &["a-b"])[0], "mcp__s__a_b");
    }

    #[test]
    fn a_summary_is_one_trimmed_line() {
        assert_eq!(summary(Some("  \n"), Some("one \ntwo")), "one");
        assert_eq!(summary(Some("mine"), Some("theirs")), "mine");
        assert_eq!(summary(None, None), "");
    }
}
