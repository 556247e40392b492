//! The package's typings of the addon are the ones that the addon's own macros write.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// What the macros wrote when the library was compiled, one JSON object a line; `build.rs` says where.
const DEFINITIONS: &str = concat!(env!("OUT_DIR"), "/adapter-node");

const HEAD: &str = "\
// The native addon's types, generated from adapter/node/src by its tests/types.rs. Do not edit.

/** How loud a notification is, in Pi's words. */
export type Level = \"info\" | \"warning\" | \"error\";
";

fn text<'a>(definition: &'a Value, member: &str) -> &'a str {
    definition[member].as_str().unwrap_or_default()
}

/// The lines, each at `depth` tabs. Rust's headings of sections mean nothing in a TypeScript editor.
fn indented(lines: &str, depth: usize) -> String {
    let mut out = String::new();
    for line in lines.lines() {
        let line = line.trim_end().replace("# Errors", "Throws:");
        let line = line
            .strip_prefix(' ')
            .filter(|rest| !rest.starts_with('*'))
            .unwrap_or(&line);
        let end = if line.trim_start().starts_with(['*', '/']) {
            ""
        } else {
            ";"
        };
        let _ = writeln!(out, "{}{line}{end}", "\t".repeat(depth));
    }
    out
}

/// TypeScript's words for what the macros wrote.
fn typings(definitions: &str) -> String {
    let definitions: Vec<Value> = definitions
        .lines()
        .map(|line| serde_json::from_str(line).expect("a definition"))
        .collect();
    let mut out = HEAD.to_owned();
    for definition in &definitions {
        let docs = indented(text(definition, "js_doc"), 0);
        let name = text(definition, "name");
        match text(definition, "kind") {
            "const" => {
                let _ = write!(out, "\n{docs}{}", indented(text(definition, "def"), 0));
            }
            "struct" => {
                let members: String = definitions
                    .iter()
                    .filter(|other| text(other, "kind") == "impl" && text(other, "name") == name)
                    .map(|methods| indented(text(methods, "def"), 1))
                    .collect();
                let _ = write!(out, "\n{docs}export declare class {name} {{\n{members}}}\n");
            }
            "impl" => {}
            kind => panic!("the addon exports a {kind}, which this test has no words for"),
        }
    }
    out.replace("export const", "export declare const")
}

/// With `UPDATE_TYPES=1` the typings are written instead of compared.
#[test]
#[allow(clippy::disallowed_methods)] // the call of the test decides, no result hangs on it
fn the_typings_of_the_package_are_those_of_the_addon() {
    let definitions = std::fs::read_to_string(DEFINITIONS).expect("written by the macros");
    let generated = typings(&definitions);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../package/native.d.ts");
    if std::env::var_os("UPDATE_TYPES").is_some() {
        std::fs::write(&path, generated).expect("written");
        return;
    }
    let kept = std::fs::read_to_string(&path).expect("native.d.ts");
    assert_eq!(
        kept, generated,
        "run UPDATE_TYPES=1 cargo nextest run -p adapter-node typings"
    );
}
