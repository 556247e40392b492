//! The table of rules and what covers them.

use std::io::{self, Write};

use serde_json::json;

use super::{Format, json_line, table};
use crate::rules::Coverage;

/// Writes the table. As text it counts the tests of a rule, since their names tell what each holds; as JSON it lists
/// them.
///
/// # Errors
/// What `out` gives.
pub fn write(out: &mut impl Write, format: Format, rules: &[Coverage]) -> io::Result<()> {
    let missing = rules.iter().filter(|rule| rule.is_missing()).count();
    let mut rows = table(&["rule", "what it is about", "tests", "cases"]);
    for covered in rules {
        let rule = covered.rule;
        match format {
            Format::Text => {
                let cases = if covered.is_missing() {
                    "nothing".to_owned()
                } else {
                    covered.cases.join(" ")
                };
                let tests = covered.tests.len().to_string();
                rows.add_row([rule.id, rule.title, &tests, &cases]);
            }
            Format::Json => json_line(
                out,
                &json!({
                    "rule": rule.id, "title": rule.title,
                    "cases": covered.cases, "tests": covered.tests,
                }),
            )?,
        }
    }
    match format {
        Format::Text => writeln!(
            out,
            "{rows}\n\n{} rules: {missing} without case and test",
            rules.len()
        ),
        Format::Json => json_line(
            out,
            &json!({ "summary": { "rules": rules.len(), "missing": missing } }),
        ),
    }
}
