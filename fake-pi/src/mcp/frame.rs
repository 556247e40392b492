//! Lines of a server's output and the JSON-RPC messages in them, read as leniently as Pi reads them (pi-host.md 4.1).

use serde_json::{Number, Value, json};

/// Longest message that is read; what exceeds it is dropped.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a stream, cut into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
    /// How far `pending` was searched for a newline, so that a long line is searched once.
    searched: usize,
}

impl Lines {
    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete line without its end. An unfinished line beyond the limit is forgotten, its rest is read as a line.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(found) = self.pending[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n')
            else {
                self.searched = self.pending.len();
                if self.pending.len() > MAX_MESSAGE_BYTES {
                    self.pending.clear();
                    self.searched = 0;
                }
                return None;
            };
            let end = self.searched + found;
            let mut line: Vec<u8> = self.pending.drain(..=end).collect();
            self.searched = 0;
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if line.len() <= MAX_MESSAGE_BYTES {
                return Some(line);
            }
        }
    }
}

/// A message from the server.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// An answer to the request with this id, if the id is one that we may have given.
    Answer {
        /// The id, if it is a whole number.
        id: Option<i64>,
        /// The result, or code and message of the error.
        outcome: Result<Value, (i32, String)>,
    },
    /// A request of the server.
    Request {
        /// Its id, to be given back as it is.
        id: Value,
        /// Its method.
        method: String,
    },
    /// A notification.
    Notification {
        /// Its method.
        method: String,
        /// Its parameters, if it has any.
        params: Option<Value>,
    },
}

/// The message of one line; `None` for anything that is no JSON-RPC 2.0 message.
pub(super) fn parse(line: &[u8]) -> Option<Incoming> {
    let mut message: Value = serde_json::from_str(&String::from_utf8_lossy(line)).ok()?;
    as_javascript_numbers(&mut message);
    let Value::Object(mut fields) = message else {
        return None;
    };
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return None;
    }
    let id = fields.get("id").cloned();
    let has_good_id = id
        .as_ref()
        .is_some_and(|id| id.is_string() || id.is_number());
    let method = fields
        .get("method")
        .and_then(Value::as_str)
        .map(str::to_owned);
    if has_good_id {
        let answer = |outcome| Incoming::Answer {
            id: id.as_ref().and_then(Value::as_i64),
            outcome,
        };
        match (fields.remove("result"), fields.get("error")) {
            (Some(result), None) => return Some(answer(Ok(result))),
            (None, Some(error)) => {
                let code = error.get("code").filter(|code| code.is_number());
                if let (Some(code), Some(message)) =
                    (code, error.get("message").and_then(Value::as_str))
                {
                    let code = code.as_i64().and_then(|code| i32::try_from(code).ok());
                    return Some(answer(Err((code.unwrap_or(0), message.to_owned()))));
                }
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    match (id, method) {
        (Some(id), Some(method)) if has_good_id => Some(Incoming::Request { id, method }),
        (None, Some(method)) => Some(Incoming::Notification {
            method,
            params: fields.remove("params"),
        }),
        _ => None,
    }
}

/// Makes whole numbers of `1.0` and the like, as they are one and the same in JavaScript.
fn as_javascript_numbers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "whole and within 2^53, so exact"
                )]
                let whole = float as i64;
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_javascript_numbers),
        Value::Object(fields) => fields.values_mut().for_each(as_javascript_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A request as one line.
pub(super) fn request(id: i64, method: &str, params: Option<Value>) -> Vec<u8> {
    let mut frame = json!({"jsonrpc": "2.0", "id": id, "method": method});
    if let Some(params) = params {
        frame["params"] = params;
    }
    line(&frame)
}

/// A notification as one line.
pub(super) fn notification(method: &str, params: Option<Value>) -> Vec<u8> {
    let mut frame = json!({"jsonrpc": "2.0", "method": method});
    if let Some(params) = params {
        frame["params"] = params;
    }
    line(&frame)
}

/// An answer to a request of the server as one line.
pub(super) fn answer(id: &Value, outcome: Result<Value, (i64, String)>) -> Vec<u8> {
    let mut frame = json!({"jsonrpc": "2.0", "id": id});
    match outcome {
        Ok(result) => frame["result"] = result,
        Err((code, message)) => frame["error"] = json!({"code": code, "message": message}),
    }
    line(&frame)
}

fn line(frame: &Value) -> Vec<u8> {
    let mut bytes = frame.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_the_chunks_end() {
        let mut lines = Lines::default();
        lines.push(b"one\r\ntw");
        assert_eq!(lines.next(), Some(b"one".to_vec()));
        assert_eq!(lines.next(), None);
        lines.push(b"o\n\nrest");
        assert_eq!(lines.next(), Some(b"two".to_vec()));
        assert_eq!(lines.next(), Some(Vec::new()));
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn an_endless_line_is_forgotten() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; MAX_MESSAGE_BYTES + 1]);
        assert_eq!(lines.next(), None);
        lines.push(b"y\n");
        assert_eq!(lines.next(), Some(b"y".to_vec()));
    }

    #[test]
    fn what_is_no_message_is_ignored() {
        for text in [
            "",
            "noise",
            "[]",
            "5",
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let answer = parse(br#"{"jsonrpc":"2.0","id":3.0,"result":{"x":1.0,"y":1.5}}"#);
        assert_eq!(
            answer,
            Some(Incoming::Answer {
                id: Some(3),
                outcome: Ok(json!({"x": 1, "y": 1.5}))
            })
        );
        let failure = parse(br#"{"jsonrpc":"2.0","id":"3","error":{"code":-1,"message":"no"}}"#);
        assert_eq!(
            failure,
            Some(Incoming::Answer {
                id: None,
                outcome: Err((-1, "no".into()))
            })
        );
        let request = parse(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
        assert_eq!(
            request,
            Some(Incoming::Request {
                id: json!("a"),
                method: "ping".into()
            })
        );
        let notification = parse(br#"{"jsonrpc":"2.0","method":"n","params":[1]}"#);
        assert_eq!(
            notification,
            Some(Incoming::Notification {
                method: "n".into(),
                params: Some(json!([1]))
            })
        );
    }
}
