//! `edit`: exact replacements in one file, and the diff of them (pi-host.md 13).

use serde_json::{Map, Value, json};

use super::at_once::AtOnce;
use super::display::{self, Shown, Window};
use super::line_ends::LineEnds;
use super::matching::{self, Replacement, Wanted};
use super::reply::{self, Folders, failure};
use super::{declare, errno, files};
use crate::tool::{Tool, ToolError, ToolOutput, ToolRun};

/// Unchanged lines that the diff looks at on each side of a replacement.
const MARGIN: usize = 32;

const BOM: char = '\u{feff}';

/// The tool.
pub(super) fn tool(folders: Folders) -> impl Tool {
    AtOnce {
        definition: declare::edit,
        members: declare::members(2),
        setting: folders,
        work: execute,
        declares_output: false,
    }
}

/// The arguments as Pi reads them before it checks them: `edits` as JSON text or as one object becomes a list, and a
/// pair `oldText`, `newText` beside it becomes its last member.
#[must_use]
pub fn prepare(input: Value) -> Value {
    let Value::Object(mut fields) = input else {
        return input;
    };
    let list = match fields.get("edits") {
        Some(Value::String(text)) => serde_json::from_str(text).ok().and_then(as_list),
        Some(edits @ Value::Object(_)) => as_list(edits.clone()),
        _ => None,
    };
    if let Some(list) = list {
        fields.insert("edits".into(), list);
    }
    if !is_replacement(&fields) {
        return Value::Object(fields);
    }
    let mut edits = fields
        .get("edits")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    edits.push(json!({"oldText": fields["oldText"], "newText": fields["newText"]}));
    let mut rest: Map<String, Value> = fields
        .into_iter()
        .filter(|(key, _)| key != "oldText" && key != "newText")
        .collect();
    rest.insert("edits".into(), edits.into());
    Value::Object(rest)
}

/// A list of edits, or one edit as a list.
fn as_list(edits: Value) -> Option<Value> {
    match &edits {
        Value::Array(_) => Some(edits),
        Value::Object(fields) if is_replacement(fields) => Some(json!([edits])),
        _ => None,
    }
}

fn is_replacement(fields: &Map<String, Value>) -> bool {
    ["oldText", "newText"]
        .iter()
        .all(|key| fields.get(*key).is_some_and(Value::is_string))
}

fn execute(run: &ToolRun, folders: &Folders) -> Result<ToolOutput, ToolError> {
    let Some(edits) = run
        .input
        .get("edits")
        .and_then(Value::as_array)
        .filter(|edits| !edits.is_empty())
    else {
        return failure("Edit tool input is invalid. edits must contain at least one replacement.");
    };
    let path = reply::path(&run.input)?;
    let absolute = files::resolve(path, &run.cwd, &folders.home);
    reply::check_abort(run)?;
    if let Err(error) = files::check_access(&absolute, true) {
        return failure(format!(
            "Could not edit file: {path}. Error code: {}.",
            errno::code(&error)
        ));
    }
    let bytes = files::read(&absolute).map_err(ToolError)?;
    let raw = String::from_utf8_lossy(&bytes);
    // The model does not write a byte order mark, so it takes no part in the matching.
    let original = raw.strip_prefix(BOM).unwrap_or(&raw);
    let (content, ends) = LineEnds::part(original);
    let edits = wanted(edits)?;
    let replacements = matching::replacements(&content, &edits)
        .map_err(|refusal| ToolError(refusal.text(path, edits.len() == 1)))?;
    let edited = matching::replaced(&content, &replacements);
    let shown = diff(path, &content, &edited, &replacements);
    let text = ends.join(&content, &replacements);
    let mark = if original.len() < raw.len() {
        BOM.to_string()
    } else {
        String::new()
    };
    if let Err(error) = std::fs::write(&absolute, mark + &text) {
        return failure(errno::message(&error, "open", Some(&absolute)));
    }
    let mut details = json!({"diff": shown.diff, "patch": shown.patch});
    if let Some(line) = shown.first_changed_line {
        details["firstChangedLine"] = line.into();
    }
    let message = format!("Successfully replaced {} block(s) in {path}.", edits.len());
    Ok(ToolOutput {
        details: Some(details),
        ..reply::text(message)
    })
}

/// Old and new text of each edit. A handler may have put anything there; the text is JavaScript's then.
fn wanted(edits: &[Value]) -> Result<Vec<Wanted>, ToolError> {
    let text = |edit: &Value, key: &str| match edit.get(key) {
        Some(Value::String(text)) => Ok(LineEnds::part(text).0),
        None => failure("Cannot read properties of undefined (reading 'replace')"),
        Some(_) => failure("text.replace is not a function"),
    };
    edits
        .iter()
        .map(|edit| {
            let (old, new) = (text(edit, "oldText")?, text(edit, "newText")?);
            Ok(Wanted { old, new })
        })
        .collect()
}

/// Shows the change by windows around the replacements, so that the work follows the change and not the file.
fn diff(path: &str, old: &str, new: &str, replacements: &[Replacement]) -> Shown {
    let mut windows: Vec<Span> = Vec::new();
    let (mut gained, mut lost) = (0, 0);
    for replacement in replacements {
        let (start, end) = with_margin(old, replacement);
        let (gained_before, lost_before) = (gained, lost);
        gained += replacement.text.len();
        lost += replacement.range.len();
        match windows.last_mut() {
            Some(previous) if start <= previous.old_end => {
                previous.old_end = previous.old_end.max(end);
                previous.new_end = previous.old_end + gained - lost;
            }
            _ => windows.push(Span {
                old_start: start,
                old_end: end,
                new_start: start + gained_before - lost_before,
                new_end: end + gained - lost,
            }),
        }
    }
    let lines_before = |text: &str, offset: usize| text[..offset].matches('\n').count();
    let windows: Vec<Window<'_>> = windows
        .iter()
        .map(|span| Window {
            old: &old[span.old_start..span.old_end],
            new: &new[span.new_start..span.new_end],
            old_line: lines_before(old, span.old_start),
            new_line: lines_before(new, span.new_start),
        })
        .collect();
    display::show(
        path,
        &windows,
        display::number_width(old, new),
        display::CONTEXT,
    )
}

/// A window by its byte offsets in both texts.
struct Span {
    old_start: usize,
    old_end: usize,
    new_start: usize,
    new_end: usize,
}

/// The whole lines of a replacement with the margin around them.
fn with_margin(text: &str, replacement: &Replacement) -> (usize, usize) {
    let (start, end) = (replacement.range.start, replacement.range.end);
    let line_start = |offset: usize| text[..offset].rfind('\n').map_or(0, |feed| feed + 1);
    let line_end = |offset: usize| {
        text[offset..]
            .find('\n')
            .map_or(text.len(), |feed| offset + feed + 1)
    };
    let mut first = line_start(start);
    for _ in 0..MARGIN {
        first = if first == 0 { 0 } else { line_start(first - 1) };
    }
    // A replacement that ends with a newline ends its last line there; an empty one stands in its line.
    let inside = if text[..end].ends_with('\n') && end > start {
        end - 1
    } else {
        end
    };
    let mut last = line_end(inside);
    for _ in 0..MARGIN {
        last = line_end(last);
    }
    (first, last)
}
