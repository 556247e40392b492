//! A case's script as JavaScript, which the model writes on both hosts, and as what the simulated host is told it does.

use std::collections::BTreeMap;

use fake_pi::codemode;
use serde_json::{Map, Value, json};

use crate::case::Answer;
use crate::case::model::Call;
use crate::case::script::{Act, ScriptCall, ScriptStep};

/// The arguments that the model gives a call.
pub fn arguments(call: &Call) -> Value {
    if call.script.is_empty() {
        Value::Object(call.args.clone())
    } else {
        json!({ "code": Written::of(&call.script).code })
    }
}

/// The scripts of a case, by their source: what the simulated host runs in place of JavaScript.
pub struct CaseScripts(BTreeMap<String, codemode::Source>);

impl CaseScripts {
    /// The scripts in these answers.
    pub fn of(answers: &[Answer]) -> Self {
        let calls = answers.iter().flat_map(|answer| &answer.calls);
        let scripts = calls.filter(|call| !call.script.is_empty());
        let written = scripts.map(|call| Written::of(&call.script));
        Self(
            written
                .map(|written| (written.code, written.does))
                .collect(),
        )
    }
}

impl codemode::Scripts for CaseScripts {
    fn read(&self, source: &str) -> Option<codemode::Source> {
        self.0.get(source).cloned()
    }
}

/// What Pi puts before a script, on its first line: places in that line are behind it.
const BEFORE: usize = "(async (tools, console) => {".len();

/// A line that is no JavaScript, what the engine says of it, and the column that it names.
const BROKEN: (&str, &str, usize) = ("const const = 0;", "SyntaxError: variable name expected", 7);

/// The column of the name in `throw new Error(…)`, where the engine says the error is from.
const THROWN_AT: usize = 11;

/// A script as text, and what it does.
struct Written {
    code: String,
    does: codemode::Source,
}

impl Written {
    fn of(script: &[ScriptStep]) -> Self {
        let mut writer = Writer::default();
        // A step that does not do one thing was refused when the case was read.
        for act in script.iter().filter_map(ScriptStep::act) {
            writer.write(&act);
        }
        Self {
            code: writer.lines.join("\n"),
            does: match writer.broken {
                Some(said) => codemode::Source::Broken(said),
                None => codemode::Source::Script(writer.steps),
            },
        }
    }
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    steps: Vec<codemode::Step>,
    broken: Option<String>,
}

impl Writer {
    /// The place of a column in the line that comes next, as the engine writes it.
    fn place(&self, column: usize) -> String {
        let line = self.lines.len() + 1;
        let column = column + if line == 1 { BEFORE } else { 0 };
        format!("codemode.js:{line}:{column}")
    }

    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn write(&mut self, act: &Act<'_>) {
        let step = match act {
            Act::Options(options) => {
                self.line(format!("// @options: {}", json!(options)));
                return;
            }
            Act::Call(call) => {
                let name = call.name.as_deref().map(variable);
                let before = name.map_or_else(String::new, |name| format!("const {name} = "));
                let before = format!("{before}await ");
                let told = self.told(call, before.len() + 1);
                self.line(format!("{before}{};", expression(call)));
                codemode::Step::Call(told)
            }
            Act::Together(calls, settled) => self.together(calls, *settled),
            Act::Print(text) => {
                self.line(format!("text({});", json!(text)));
                codemode::Step::Print((*text).to_owned())
            }
            Act::Show(name) => {
                self.line(format!("text({});", variable(name)));
                codemode::Step::Show((*name).to_owned())
            }
            Act::Log(text) => {
                self.line(format!("console.log({});", json!(text)));
                codemode::Step::Log((*text).to_owned())
            }
            Act::Give(names) => {
                let members: Vec<String> = names
                    .iter()
                    .map(|name| format!("{name}: {}", variable(name)))
                    .collect();
                self.line(format!("return {{ {} }};", members.join(", ")));
                codemode::Step::Give(names.to_vec())
            }
            Act::Throw(message) => {
                let place = self.place(THROWN_AT);
                self.line(format!("throw new Error({});", json!(message)));
                codemode::Step::Throw(format!("Error: {message}\n    at <anonymous> ({place})"))
            }
            Act::Broken => {
                let (line, said, column) = BROKEN;
                let place = self.place(column);
                self.line(line);
                self.broken.get_or_insert(format!("{said}\n    at {place}"));
                return;
            }
        };
        self.steps.push(step);
    }

    fn together(&mut self, calls: &[ScriptCall], settled: bool) -> codemode::Step {
        let name = |call: &ScriptCall| call.name.as_deref().map(variable).unwrap_or_default();
        let names: Vec<String> = calls.iter().map(name).collect();
        let before = if names.iter().all(String::is_empty) {
            String::new()
        } else {
            format!("const [{}] = ", names.join(", "))
        };
        let function = if settled { "allSettled" } else { "all" };
        self.line(format!("{before}await Promise.{function}(["));
        let told = calls
            .iter()
            .map(|call| {
                let told = self.told(call, 1);
                self.line(format!("{},", expression(call)));
                told
            })
            .collect();
        self.line("]);");
        codemode::Step::Together {
            calls: told,
            settled,
        }
    }

    /// A call that begins at a column of the next line.
    fn told(&self, call: &ScriptCall, column: usize) -> codemode::ScriptCall {
        codemode::ScriptCall {
            tool: call.call.clone(),
            arguments: Value::Object(call.args.clone()),
            name: call.name.clone(),
            catches: call.catch,
            at: self.place(column),
        }
    }
}

/// The variable of a result: never a word of the language, nor a global of Pi.
fn variable(name: &str) -> String {
    format!("v_{name}")
}

fn expression(call: &ScriptCall) -> String {
    let catch = if call.catch {
        ".catch((error) => error.message)"
    } else {
        ""
    };
    let args: &Map<String, Value> = &call.args;
    format!("tools.{}({}){catch}", call.call, json!(args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_one_javascript_and_one_meaning() {
        let step = |text: &str| -> ScriptStep { toml::from_str(text).expect(text) };
        let script = [
            step("options = { timeout_ms = 50 }"),
            step("call = \"read\"\nargs = { path = \"a\" }\nas = \"this\"\ncatch = true"),
            step("all = [{ call = \"ls\" }, { call = \"gone\", as = \"b\" }]"),
            step("give = [\"this\", \"b\"]"),
        ];
        let written = Written::of(&script);
        assert_eq!(
            written.code,
            "// @options: {\"timeout_ms\":50}\n\
             const v_this = await tools.read({\"path\":\"a\"}).catch((error) => error.message);\n\
             const [, v_b] = await Promise.all([\n\
             tools.ls({}),\n\
             tools.gone({}),\n\
             ]);\n\
             return { this: v_this, b: v_b };"
        );
        let codemode::Source::Script(steps) = written.does else {
            panic!("it is JavaScript");
        };
        let codemode::Step::Together { calls, .. } = &steps[1] else {
            panic!("{steps:?}");
        };
        assert_eq!(calls[1].at, "codemode.js:5:1");
    }

    #[test]
    fn places_in_the_first_line_are_behind_what_pi_puts_there() {
        // Both recorded from Pi 1.6.0.
        let throws = ScriptStep {
            throw: Some("boom".into()),
            ..ScriptStep::default()
        };
        let codemode::Source::Script(steps) = Written::of(&[throws]).does else {
            panic!("it is JavaScript");
        };
        let said = "Error: boom\n    at <anonymous> (codemode.js:1:39)";
        assert_eq!(steps, [codemode::Step::Throw(said.into())]);
        let broken = ScriptStep {
            broken: true,
            ..ScriptStep::default()
        };
        let said = "SyntaxError: variable name expected\n    at codemode.js:1:35";
        assert_eq!(
            Written::of(&[broken]).does,
            codemode::Source::Broken(said.into())
        );
    }
}
