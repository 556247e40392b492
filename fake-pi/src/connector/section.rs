//! The part of the prompt that lists the servers whose tools are not declared (pi-host.md 4.3).

use crate::mcp::naming;
use crate::mcp::{McpExposure, ServerConfig};

/// The key of the section.
pub(super) const SECTION: &str = "mcp_servers";
/// Characters of the whole section, and of one server's description.
const MOST: usize = 4096;
const MOST_EACH: usize = 250;

/// All exposures that tools of a server may have, by its registration alone.
pub(super) fn exposures(config: &ServerConfig) -> Vec<McpExposure> {
    let overrides = config.tool_exposure.iter().map(|(_, exposure)| *exposure);
    std::iter::once(config.exposure).chain(overrides).collect()
}

/// The section for these servers and their instructions; none when all their tools are declared.
pub(super) fn render(servers: &[(ServerConfig, Option<String>)]) -> Option<String> {
    let indirect = |config: &ServerConfig| {
        exposures(config)
            .iter()
            .any(|one| matches!(one, McpExposure::Codemode | McpExposure::Deferred))
    };
    let mut listed: Vec<_> = servers
        .iter()
        .filter(|(config, _)| config.enabled && indirect(config))
        .collect();
    listed.sort_by(|one, other| one.0.name.cmp(&other.0.name));
    if listed.is_empty() {
        return None;
    }
    let by_script = |config: &ServerConfig| exposures(config).contains(&McpExposure::Codemode);
    let mut intro = "MCP servers whose tools are not declared to you.".to_owned();
    if listed.iter().any(|(config, _)| by_script(config)) {
        intro.push_str(" Call the tools of `codemode` servers from codemode scripts.");
    }
    if listed.iter().any(|(config, _)| !by_script(config)) {
        intro.push_str(" Load the tools of `tool_search` servers with `tool_search`.");
    }
    let heads: Vec<String> = listed
        .iter()
        .map(|(config, _)| {
            let reach = if by_script(config) {
                "codemode"
            } else {
                "tool_search"
            };
            format!("- {} ({reach})", naming::namespace(&config.name))
        })
        .collect();
    let omitted = |kept: usize| match heads.len() - kept {
        0 => None,
        1 => Some("- … 1 more server; find their tools with searchTools()".to_owned()),
        more => Some(format!(
            "- … {more} more servers; find their tools with searchTools()"
        )),
    };
    let size = |kept: usize| {
        let lines = std::iter::once(intro.clone())
            .chain(heads[..kept].iter().cloned())
            .chain(omitted(kept));
        lines.map(|line| line.chars().count() + 1).sum::<usize>() - 1
    };
    let kept = (0..=heads.len())
        .rev()
        .find(|kept| size(*kept) <= MOST)
        .unwrap_or(0);
    let room = (MOST - size(kept).min(MOST))
        .checked_div(kept)
        .map_or(0, |each| each.saturating_sub(2))
        .min(MOST_EACH);
    let lines = listed
        .iter()
        .take(kept)
        .zip(&heads)
        .map(|((config, instructions), head)| {
            let summary = naming::summary(config.description.as_deref(), instructions.as_deref());
            let summary = cut(&summary, room);
            if summary.is_empty() {
                head.clone()
            } else {
                format!("{head}: {summary}")
            }
        });
    Some(
        std::iter::once(intro.clone())
            .chain(lines)
            .chain(omitted(kept))
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    if most <= 1 {
        return String::new();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(name: &str, exposure: &str) -> (ServerConfig, Option<String>) {
        let config = json!({"command": "x", "exposure": exposure});
        (
            crate::mcp::validate(&json!(name), &config, "e")
                .unwrap_or_else(|error| panic!("{error}")),
            None,
        )
    }

    #[test]
    fn only_what_is_not_declared_is_listed_by_name() {
        let servers = [
            server("zed", "deferred"),
            (
                server("a-b", "codemode").0,
                Some("Does things.\nMore".into()),
            ),
            server("d", "direct"),
        ];
        assert_eq!(
            render(&servers).as_deref(),
            Some(
                "MCP servers whose tools are not declared to you. Call the tools of `codemode` servers from codemode \
                 scripts. Load the tools of `tool_search` servers with `tool_search`.\n- mcp__a_b (codemode): Does \
                 things.\n- mcp__zed (tool_search)"
            )
        );
        assert_eq!(render(&[server("d", "direct")]), None);
    }

    #[test]
    fn a_long_list_stays_within_its_size() {
        let servers: Vec<_> = (0..300)
            .map(|index| server(&format!("server{index:03}"), "codemode"))
            .collect();
        let text = render(&servers).unwrap_or_default();
        assert!(
            text.chars().count() <= MOST && text.ends_with("find their tools with searchTools()"),
            "{text}"
        );
    }
}
