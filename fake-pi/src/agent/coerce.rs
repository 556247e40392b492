//! Coercion: what a model most likely meant, before its arguments are checked (pi-host.md 2: `"5"` arrives as `5`).

use serde_json::{Map, Number, Value};

use super::arguments::{MAX_DEPTH, is_of, passes, types};

/// The value as the schema most likely meant it; what cannot be coerced stays and fails the check.
pub(super) fn coerced(schema: &Value, value: &Value) -> Value {
    let value = without_nulls(schema, value.clone(), 0);
    convert(schema, value, 0)
}

/// Drops a null where an optional property does not take one, as if the model had left it out.
fn without_nulls(schema: &Value, value: Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value;
    }
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| without_nulls(&schema["items"], item, depth + 1))
            .collect(),
        Value::Object(members) => {
            let required: Vec<&Value> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .collect();
            let mut kept = Map::new();
            for (name, inner) in members {
                let Some(member) = schema["properties"].get(&name) else {
                    let further = without_nulls(&schema["additionalProperties"], inner, depth + 1);
                    kept.insert(name, further);
                    continue;
                };
                let optional = !required.iter().any(|required| *required == name.as_str());
                if inner.is_null()
                    && optional
                    && member.get("$ref").is_none()
                    && !passes(member, &Value::Null)
                {
                    continue;
                }
                kept.insert(name, without_nulls(member, inner, depth + 1));
            }
            Value::Object(kept)
        }
        other => other,
    }
}

fn convert(schema: &Value, value: Value, depth: usize) -> Value {
    if depth > MAX_DEPTH || !schema.is_object() {
        return value;
    }
    if let Some(constant) = schema.get("const") {
        return literal(constant, value);
    }
    if let Some(values) = schema["enum"].as_array() {
        if values.contains(&value) {
            return value;
        }
        let fits = values
            .iter()
            .map(|member| literal(member, value.clone()))
            .find(|candidate| values.contains(candidate));
        return fits.unwrap_or(value);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = schema[keyword].as_array() {
            if branches.iter().any(|branch| passes(branch, &value)) {
                return value;
            }
            let candidates = branches
                .iter()
                .map(|branch| convert(branch, value.clone(), depth + 1));
            return candidates
                .into_iter()
                .find(|candidate| passes(schema, candidate))
                .unwrap_or(value);
        }
    }
    let mut value = value;
    for part in schema["allOf"].as_array().into_iter().flatten() {
        value = convert(part, value, depth + 1);
    }
    let allowed = types(schema);
    if allowed.len() > 1 {
        if allowed.iter().any(|name| is_of(&value, name)) {
            return value;
        }
        let candidates = allowed.iter().map(|name| primitive(name, &value));
        return candidates.into_iter().flatten().next().unwrap_or(value);
    }
    match allowed.first().copied() {
        Some("array") => items(schema, value, depth),
        Some("object") => members(schema, value, depth),
        Some(name) => primitive(name, &value).unwrap_or(value),
        None if schema.get("properties").is_some() => members(schema, value, depth),
        None if schema.get("items").is_some() => items(schema, value, depth),
        None => value,
    }
}

/// A single value where a list is wanted becomes a list of one.
fn items(schema: &Value, value: Value, depth: usize) -> Value {
    let member = &schema["items"];
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| convert(member, item, depth + 1))
            .collect(),
        single => Value::Array(vec![convert(member, single, depth + 1)]),
    }
}

fn members(schema: &Value, value: Value, depth: usize) -> Value {
    let Value::Object(given) = value else {
        return value;
    };
    let further = &schema["additionalProperties"];
    given
        .into_iter()
        .map(|(name, inner)| {
            let member = schema["properties"].get(&name).unwrap_or(further);
            let inner = convert(member, inner, depth + 1);
            (name, inner)
        })
        .collect()
}

/// A value of another type that converts to exactly the literal.
fn literal(literal: &Value, value: Value) -> Value {
    let name = match literal {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        _ => return value,
    };
    match primitive(name, &value) {
        Some(converted) if converted == *literal => converted,
        _ => value,
    }
}

/// A value as one of the simple types; `None` when it does not convert.
fn primitive(name: &str, value: &Value) -> Option<Value> {
    match name {
        "string" => match value {
            Value::Null => Some("null".into()),
            Value::Bool(flag) => Some(flag.to_string().into()),
            Value::Number(number) => Some(number.to_string().into()),
            _ => None,
        },
        "number" => number(value).map(written),
        "integer" => number(value).map(|number| written(number.trunc())),
        "boolean" => match value {
            Value::Null => Some(false.into()),
            Value::Number(number) if number.as_f64() == Some(0.0) => Some(false.into()),
            Value::Number(number) if number.as_f64() == Some(1.0) => Some(true.into()),
            Value::String(text) if text == "0" || text.eq_ignore_ascii_case("false") => {
                Some(false.into())
            }
            Value::String(text) if text == "1" || text.eq_ignore_ascii_case("true") => {
                Some(true.into())
            }
            _ => None,
        },
        "null" => match value {
            Value::Bool(false) => Some(Value::Null),
            Value::Number(number) if number.as_f64() == Some(0.0) => Some(Value::Null),
            Value::String(text)
                if matches!(text.as_str(), "" | "0") || text.eq_ignore_ascii_case("null") =>
            {
                Some(Value::Null)
            }
            _ => None,
        },
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Null => Some(0.0),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            // JavaScript reads an empty text as zero; Rust's words for infinities are none of JavaScript's.
            let plain = text
                .chars()
                .all(|sign| sign.is_ascii_digit() || "+-.eE".contains(sign));
            if text.is_empty() {
                Some(0.0)
            } else if plain {
                text.parse().ok().filter(|number: &f64| number.is_finite())
            } else if text.eq_ignore_ascii_case("true") {
                Some(1.0)
            } else if text.eq_ignore_ascii_case("false") {
                Some(0.0)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// A number as JavaScript would write it: without a fraction where there is none.
fn written(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        // In range by the condition above.
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_numeric_text_becomes_a_number() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "number"}, "i": {"type": "integer"}}});
        assert_eq!(
            coerced(&schema, &json!({"n": "5", "i": "3.9"})),
            json!({"n": 5, "i": 3})
        );
    }

    #[test]
    fn an_optional_null_is_dropped_and_a_required_one_is_not() {
        let schema = json!({"type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        assert_eq!(
            coerced(&schema, &json!({"a": null, "b": null})),
            json!({"a": "null"})
        );
    }

    #[test]
    fn a_single_value_becomes_a_list_of_one() {
        let schema = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(coerced(&schema, &json!(1)), json!(["1"]));
    }
}
