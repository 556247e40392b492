//! The shapes in which Gortex takes a call's arguments (wire.md, "Which calls write files, and which").

use serde_json::{Map, Value};

/// Objects whose keys count as if they stood at the top, in the order in which they are looked through.
const CONTAINERS: [&str; 6] = [
    "arguments",
    "options",
    "source",
    "context",
    "guard",
    "output",
];
/// The keys of a path, best first.
const PATHS: [&str; 4] = ["path", "file", "file_path", "destination"];
/// The keys of a symbol's id, best first.
const SYMBOLS: [&str; 3] = ["id", "symbol", "symbol_id"];

/// The arguments with the keys of all containers beside their own; what stands at the top wins, then what stands in
/// the earlier container. `target` gives the path and the symbol where nothing else does.
pub(crate) fn flatten(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut flat = arguments.clone();
    let mut adopt = |key: &str, value: &Value| {
        if !flat.contains_key(key) {
            flat.insert(key.to_owned(), value.clone());
        }
    };
    for container in CONTAINERS {
        if let Some(Value::Object(inner)) = arguments.get(container) {
            for (key, value) in inner {
                adopt(key, value);
            }
        }
    }
    if let Some(Value::Object(target)) = flat.get("target").cloned() {
        for (key, names) in [("file", &PATHS[..]), ("symbol", &SYMBOLS[..])] {
            if let Some(value) = target.get(key)
                && text(&flat, names).is_none()
            {
                flat.insert(key.to_owned(), value.clone());
            }
        }
    }
    flat
}

/// The first of the keys that holds a text that is not empty.
pub(super) fn text<'a>(arguments: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter()
        .filter_map(|key| arguments.get(*key).and_then(Value::as_str))
        .find(|text| !text.is_empty())
}

/// The file that arguments name: by path, else by the part before `::` of a symbol's id. `source` is a path only where
/// it is a text.
pub(super) fn path(arguments: &Map<String, Value>) -> Result<&str, String> {
    text(arguments, &PATHS)
        .or_else(|| text(arguments, &["source"]))
        .or_else(|| {
            text(arguments, &SYMBOLS)
                .and_then(|id| id.split_once("::"))
                .map(|(path, _)| path)
        })
        .ok_or_else(|| "no path given".to_owned())
}

/// A flag, false unless it is plainly true.
pub(super) fn flag(arguments: &Map<String, Value>, key: &str) -> bool {
    arguments.get(key) == Some(&Value::Bool(true))
}

/// The items of a list under the first of the keys that is there, given as an array or as the JSON text of one.
///
/// # Errors
/// When what is there is neither, or an item is no object.
pub(super) fn items(
    arguments: &Map<String, Value>,
    keys: &[&str],
) -> Result<Vec<Map<String, Value>>, String> {
    let Some((key, value)) = keys
        .iter()
        .find_map(|key| arguments.get(*key).map(|value| (*key, value.clone())))
    else {
        return Ok(Vec::new());
    };
    let list = match value {
        Value::String(text) => {
            serde_json::from_str(&text).map_err(|error| format!("{key}: {error}"))?
        }
        other => other,
    };
    let Value::Array(list) = list else {
        return Err(format!("{key} is not a list"));
    };
    list.into_iter()
        .map(|item| match item {
            Value::Object(item) => Ok(flatten(&item)),
            _ => Err(format!("{key} holds something that is not an object")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().expect("object").clone()
    }

    #[test]
    fn the_top_wins_over_containers_and_those_over_the_target() {
        let flat = flatten(&object(&json!({
            "path": "top", "arguments": { "path": "in", "operation": "file" },
            "options": { "operation": "write", "dry_run": true }, "target": { "file": "target", "symbol": "a::b" },
        })));
        assert_eq!(path(&flat), Ok("top"));
        assert_eq!(flat["operation"], "file");
        assert!(flag(&flat, "dry_run"));
        assert_eq!(flat["symbol"], "a::b");
        let flat = flatten(&object(
            &json!({ "context": { "target": { "file": "t" } } }),
        ));
        assert_eq!(path(&flat), Ok("t"));
    }

    #[test]
    fn a_symbol_names_its_file() {
        assert_eq!(
            path(&object(&json!({ "symbol_id": "src/a.rs::f::g" }))),
            Ok("src/a.rs")
        );
        assert_eq!(
            path(&object(&json!({ "source": "a", "id": "b::c" }))),
            Ok("a")
        );
        assert!(path(&object(&json!({ "id": "no separator", "source": {} }))).is_err());
    }

    #[test]
    fn a_batch_is_a_list_or_the_text_of_one() {
        let list = json!([{ "path": "a" }]);
        let keys = ["changes", "edits"];
        let plain = items(&object(&json!({ "edits": list })), &keys).expect("list");
        let text = items(&object(&json!({ "changes": list.to_string() })), &keys).expect("text");
        assert_eq!(plain, text);
        assert_eq!(plain[0]["path"], "a");
        for wrong in [
            json!({ "edits": 3 }),
            json!({ "edits": "no" }),
            json!({ "edits": [1] }),
        ] {
            assert!(items(&object(&wrong), &keys).is_err(), "{wrong}");
        }
    }
}
