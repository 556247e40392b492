//! What a server's resources are to the model: entries of a list, and contents that were read.

use serde_json::{Map, Value, json};

use super::block;
use super::listing::Listing;
use super::result::ResultOptions;

/// An item of a list as Pi tells it: with its server and a name, without what only user interfaces need; none for what is
/// a user interface itself.
pub(crate) fn listed(server: &str, listing: Listing, item: &Map<String, Value>) -> Option<Value> {
    let address = item.get(listing.address()).cloned().unwrap_or_default();
    let kind = item.get("mimeType").and_then(Value::as_str);
    let is_app = address.as_str().is_some_and(|uri| uri.starts_with("ui://"))
        || kind.is_some_and(names_an_app);
    if is_app {
        return None;
    }
    let mut told = Map::new();
    told.insert("server".into(), server.into());
    let kept = item
        .iter()
        .filter(|(key, _)| *key != "_meta" && *key != "icons");
    told.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
    told.entry("name").or_insert(address);
    Some(Value::Object(told))
}

/// Whether a type has the parameter `profile=mcp-app`.
fn names_an_app(kind: &str) -> bool {
    kind.split(';').skip(1).any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("profile") && value.eq_ignore_ascii_case("mcp-app")
    })
}

/// Checks an answer to `resources/read`.
///
/// # Errors
/// Pi's text of what is wrong with it.
pub(crate) fn contents(answer: &Value) -> Result<Vec<Map<String, Value>>, String> {
    let invalid = "Invalid MCP resources/read result";
    let contents = answer.get("contents").and_then(Value::as_array);
    let contents = contents.ok_or(invalid)?;
    let checked: Option<Vec<Map<String, Value>>> = contents
        .iter()
        .map(|one| {
            let is_text = |key: &str| one.get(key).is_some_and(Value::is_string);
            let fits = is_text("uri") && (is_text("text") || is_text("blob"));
            one.as_object().filter(|_| fits).cloned()
        })
        .collect();
    checked.ok_or_else(|| "Invalid contents in MCP resources/read result".into())
}

/// Contents as the model reads them: several are labelled with their addresses.
///
/// # Errors
/// JavaScript's own text for a content that is none; a checked one is.
pub(crate) fn shown(
    server: &str,
    uri: &str,
    contents: &[Map<String, Value>],
    options: &ResultOptions,
) -> Result<Vec<Value>, String> {
    let mut blocks = Vec::new();
    for one in contents {
        if contents.len() > 1 {
            let label = one.get("uri").and_then(Value::as_str).unwrap_or_default();
            blocks.push(block::text(format!("{label}:")));
        }
        let resource = json!({"type": "resource", "resource": one});
        blocks.push(block::convert(server, &resource, options)?);
    }
    if blocks.is_empty() {
        blocks.push(block::text(format!("Resource {uri} is empty.")));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn an_item_has_its_server_and_a_name_and_no_interface() {
        let told = listed(
            "s",
            Listing::Resources,
            &item(&json!({"uri": "a:b", "size": 3, "icons": [], "_meta": {}})),
        );
        assert_eq!(
            told.map(|told| told.to_string()).as_deref(),
            Some(r#"{"server":"s","uri":"a:b","size":3,"name":"a:b"}"#)
        );
        for app in [
            json!({"uri": "ui://x"}),
            json!({"uri": "a", "mimeType": "text/html; charset=x; Profile=\"MCP-App\""}),
        ] {
            assert_eq!(listed("s", Listing::Resources, &item(&app)), None);
        }
    }

    #[test]
    fn contents_need_an_address_and_a_text_or_data() {
        assert!(contents(&json!({"contents": [{"uri": "a", "text": ""}]})).is_ok());
        for wrong in [json!([{"text": "t"}]), json!([{"uri": "a"}]), json!([5])] {
            assert_eq!(
                contents(&json!({ "contents": wrong })),
                Err("Invalid contents in MCP resources/read result".into())
            );
        }
        assert_eq!(
            contents(&Value::Null),
            Err("Invalid MCP resources/read result".into())
        );
    }
}
