//! A call's arguments: read from what the model wrote, coerced, checked against the tool's schema.
//!
//! Of JSON Schema the keywords are modelled that Pi's own tools and ordinary MCP servers use: `type`, `enum`, `const`,
//! `properties`, `required`, `additionalProperties`, `items`, `anyOf`, `oneOf`, `allOf`, and the bounds of strings,
//! numbers and lists. `$ref`, `pattern`, `format`, `not`, `if` accept everything.

use serde_json::{Value, json};

use super::{broken, coerce};
use crate::lone::without_lone_surrogates;
use crate::model::{Arguments, ToolCall};
use crate::tool::ToolDefinition;

/// How deep a schema or a value is followed; a server writes both.
pub(super) const MAX_DEPTH: usize = 64;

/// A failed check: where, as the model reads it after dots, and why.
struct Fault {
    path: Vec<String>,
    reason: String,
}

/// The part of an assistant message that stands for a call.
///
/// Arguments that are no JSON object become `{}` and an error for the model. Broken JSON is not repaired; its error is
/// worded as Pi's reader does where it was cut off, and by another reader where it is wrong otherwise.
pub(super) fn tool_call(call: &ToolCall) -> Value {
    let (read, text) = match &call.arguments {
        Arguments::Json(value) => (Ok(value.clone()), value.to_string()),
        Arguments::Raw(text) if text.trim().is_empty() => (Ok(json!({})), String::new()),
        Arguments::Raw(text) => (
            serde_json::from_str(&without_lone_surrogates(text)).map_err(|error| {
                let cut_off = broken::why_cut_off(text);
                cut_off.unwrap_or_else(|| error.to_string())
            }),
            text.clone(),
        ),
    };
    let read = read.and_then(|value: Value| {
        if value.is_object() {
            Ok(value)
        } else {
            Err("Tool arguments must be a JSON object".to_owned())
        }
    });
    let mut part = json!({"type": "toolCall", "id": call.id, "name": call.name});
    match read {
        Ok(value) => part["arguments"] = value,
        Err(error) => {
            part["arguments"] = json!({});
            part["argumentsError"] = format!("{error}\n\nReceived arguments:\n{text}").into();
        }
    }
    part
}

/// The arguments of a call as its tool gets them.
///
/// # Errors
/// The text that the model reads (pi-host.md 1.4).
pub(super) fn validated(tool: &ToolDefinition, call: &Value) -> Result<Value, String> {
    let name = call["name"].as_str().unwrap_or_default();
    if let Some(error) = call["argumentsError"].as_str() {
        return Err(format!("Invalid arguments for tool \"{name}\": {error}"));
    }
    let given = &call["arguments"];
    let value = coerce::coerced(&tool.parameters, given);
    let faults = faults(&tool.parameters, &value);
    if faults.is_empty() {
        return Ok(value);
    }
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| {
            let path = if fault.path.is_empty() {
                "root".to_owned()
            } else {
                fault.path.join(".")
            };
            format!("  - {path}: {}", fault.reason)
        })
        .collect();
    let received = serde_json::to_string_pretty(given).unwrap_or_default();
    Err(format!(
        "Validation failed for tool \"{name}\":\n{}\n\nReceived arguments:\n{received}",
        lines.join("\n")
    ))
}

/// Whether a value passes a schema.
pub(super) fn passes(schema: &Value, value: &Value) -> bool {
    faults(schema, value).is_empty()
}

fn faults(schema: &Value, value: &Value) -> Vec<Fault> {
    let mut walk = Walk {
        faults: Vec::new(),
        path: Vec::new(),
    };
    walk.visit(schema, value);
    walk.faults
}

/// The kind of a value as error texts name it.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_whole(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Whether a value is of a JSON Schema type.
pub(super) fn is_of(value: &Value, kind_name: &str) -> bool {
    match kind_name {
        "number" => value.is_number(),
        other => kind(value) == other,
    }
}

/// The types that a schema allows; empty for all.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether a schema's own list of properties has this one; `__proto__` is a name like any other.
fn members<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema[keyword].as_object().into_iter().flatten()
}

/// A walk over a value, guided by its schema.
struct Walk {
    faults: Vec<Fault>,
    path: Vec<String>,
}

impl Walk {
    fn fail(&mut self, reason: String) {
        self.faults.push(Fault {
            path: self.path.clone(),
            reason,
        });
    }

    fn below(&mut self, step: &str, schema: &Value, value: &Value) {
        self.path.push(step.to_owned());
        self.visit(schema, value);
        self.path.pop();
    }

    fn visit(&mut self, schema: &Value, value: &Value) {
        if self.path.len() > MAX_DEPTH {
            return;
        }
        if schema == &Value::Bool(false) {
            self.fail("no value is allowed here".to_owned());
            return;
        }
        let allowed = types(schema);
        if !allowed.is_empty() && !allowed.iter().any(|name| is_of(value, name)) {
            self.fail(format!(
                "expected {}, got {}",
                allowed.join(" or "),
                kind(value)
            ));
            return;
        }
        if let Some(values) = schema["enum"]
            .as_array()
            .filter(|values| !values.contains(value))
        {
            self.fail(format!("expected one of {}", listed(values)));
        }
        if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
            self.fail(format!("expected {constant}"));
        }
        match value {
            Value::String(text) => self.string(schema, text),
            Value::Number(number) => self.number(schema, number.as_f64().unwrap_or_default()),
            Value::Object(_) => self.object(schema, value),
            Value::Array(items) => self.array(schema, items),
            Value::Null | Value::Bool(_) => {}
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.visit(part, value);
        }
        for (keyword, exactly_one) in [("anyOf", false), ("oneOf", true)] {
            if let Some(branches) = schema[keyword].as_array() {
                self.union(branches, value, exactly_one);
            }
        }
    }

    fn string(&mut self, schema: &Value, text: &str) {
        let length = text.chars().count() as u64;
        if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
            self.fail(format!("expected at least {least} characters"));
        }
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
            self.fail(format!("expected at most {most} characters"));
        }
    }

    fn number(&mut self, schema: &Value, number: f64) {
        type Holds = fn(f64, f64) -> bool;
        let bounds: [(&str, &str, Holds); 4] = [
            ("minimum", ">=", |number, bound| number >= bound),
            ("maximum", "<=", |number, bound| number <= bound),
            ("exclusiveMinimum", ">", |number, bound| number > bound),
            ("exclusiveMaximum", "<", |number, bound| number < bound),
        ];
        for (keyword, sign, holds) in bounds {
            let bound = &schema[keyword];
            if bound.as_f64().is_some_and(|limit| !holds(number, limit)) {
                self.fail(format!("expected {sign} {bound}"));
            }
        }
    }

    fn object(&mut self, schema: &Value, value: &Value) {
        for name in schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if value.get(name).is_none() {
                self.path.push(name.to_owned());
                self.fail("missing".to_owned());
                self.path.pop();
            }
        }
        for (name, member) in members(schema, "properties") {
            if let Some(inner) = value.get(name) {
                self.below(name, member, inner);
            }
        }
        let Some(further) = schema.get("additionalProperties") else {
            return;
        };
        for (name, inner) in value.as_object().into_iter().flatten() {
            if schema["properties"].get(name).is_some() {
                continue;
            }
            if further == &Value::Bool(false) {
                self.path.push(name.clone());
                self.fail("unknown field".to_owned());
                self.path.pop();
            } else {
                self.below(name, further, inner);
            }
        }
    }

    fn array(&mut self, schema: &Value, items: &[Value]) {
        let length = items.len() as u64;
        if let Some(least) = schema["minItems"].as_u64().filter(|least| length < *least) {
            self.fail(format!("expected at least {least} items"));
        }
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| length > *most) {
            self.fail(format!("expected at most {most} items"));
        }
        if let Some(member) = schema.get("items").filter(|member| !member.is_array()) {
            for (index, item) in items.iter().enumerate() {
                self.below(&index.to_string(), member, item);
            }
        }
    }

    /// Reports the branch whose first fault lies deepest: the one that was most likely meant.
    fn union(&mut self, branches: &[Value], value: &Value, exactly_one: bool) {
        let matching = branches
            .iter()
            .filter(|branch| passes(branch, value))
            .count();
        if matching == 1 || (matching > 1 && !exactly_one) {
            return;
        }
        if matching > 1 {
            self.fail("matches more than one alternative".to_owned());
            return;
        }
        let mut best: Option<Vec<Fault>> = None;
        for branch in branches {
            let mut walk = Walk {
                faults: Vec::new(),
                path: self.path.clone(),
            };
            walk.visit(branch, value);
            let depth = |faults: &[Fault]| faults.first().map_or(0, |fault| fault.path.len());
            if best
                .as_ref()
                .is_none_or(|known| depth(&walk.faults) > depth(known))
            {
                best = Some(walk.faults);
            }
        }
        match best {
            Some(faults) => self.faults.extend(faults),
            None => self.fail("matches no alternative".to_owned()),
        }
    }
}

/// The values of an enum as JSON, at most twenty of them.
fn listed(values: &[Value]) -> String {
    const SHOWN: usize = 20;
    let shown = Value::from(values.iter().take(SHOWN).cloned().collect::<Vec<_>>()).to_string();
    match values.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => format!("{}, ... and {more} more]", &shown[..shown.len() - 1]),
        None => shown,
    }
}

#[cfg(test)]
#[allow(
    clippy::needless_pass_by_value,
    reason = "JSON literals read better without a borrow"
)]
mod tests {
    use super::*;
    use crate::tool::{Execution, Exposure};

    fn check(parameters: Value, arguments: Value) -> Result<Value, String> {
        let tool = ToolDefinition {
            name: "write".into(),
            description: String::new(),
            parameters,
            exposure: Exposure::Direct,
            execution: Execution::Parallel,
            source: String::new(),
        };
        validated(&tool, &json!({"name": "write", "arguments": arguments}))
    }

    fn schema() -> Value {
        json!({"type": "object", "required": ["path", "content"], "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}, "limit": {"type": "number"},
            "edits": {"type": "array", "items": {"type": "object", "required": ["oldText"],
                "properties": {"oldText": {"type": "string"}}}}}})
    }

    #[test]
    fn a_missing_member_reads_as_on_the_real_pi() {
        // Recorded from Pi 1.6.0.
        assert_eq!(
            check(schema(), json!({"path": "x"})),
            Err("Validation failed for tool \"write\":\n  - content: missing\n\nReceived arguments:\n{\n  \"path\": \
                 \"x\"\n}"
                .into())
        );
    }

    #[test]
    fn a_wrong_type_names_both_types_and_the_dotted_path() {
        let error = check(
            schema(),
            json!({"path": "x", "content": [], "edits": [{"oldText": {}}]}),
        )
        .expect_err("two faults");
        assert!(error.contains("  - content: expected string, got array\n  - edits.0.oldText: expected string, got object\n"), "{error}");
    }

    #[test]
    fn arguments_that_are_no_object_are_refused() {
        let part = tool_call(&ToolCall::new("c", "read", json!([1])));
        assert_eq!(part["arguments"], json!({}));
        let text = "Tool arguments must be a JSON object\n\nReceived arguments:\n[1]";
        assert_eq!(part["argumentsError"], text);
    }

    #[test]
    fn broken_json_is_an_error_of_its_own() {
        let call = ToolCall {
            id: "c".into(),
            name: "read".into(),
            arguments: Arguments::Raw("{\"path\": 5".into()),
        };
        let part = tool_call(&call);
        assert_eq!(part["arguments"], json!({}));
        let tool = check(schema(), json!({"path": "x", "content": "y"}));
        assert!(tool.is_ok());
        let error = part["argumentsError"].as_str().unwrap_or_default();
        assert!(
            error.ends_with("\n\nReceived arguments:\n{\"path\": 5"),
            "{error}"
        );
    }
}
