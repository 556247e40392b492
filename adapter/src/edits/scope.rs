//! The files that a call's arguments name, wherever they may stand in them (wire.md).
//!
//! Whatever is not understood may hide a file. It is told rather than passed over: see [`Scope::read`].

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::arguments::NamedFiles;

type Object = Map<String, Value>;

/// Arguments whose members count as if they stood at the top.
const CONTAINERS: [&str; 6] = [
    "arguments",
    "options",
    "source",
    "context",
    "guard",
    "output",
];
/// Arguments that name a file.
const PATH_KEYS: [&str; 5] = ["path", "file", "file_path", "source", DESTINATION];
/// The one of them that does not say where a symbol is.
const DESTINATION: &str = "destination";
/// Arguments that name a symbol, as `<path>::<name>`.
const SYMBOL_KEYS: [&str; 3] = ["id", "symbol", "symbol_id"];
/// Arguments that list the items of a batch.
const BATCH_KEYS: [&str; 2] = ["changes", "edits"];
/// The argument whose members name a file or a symbol.
const TARGET: &str = "target";
/// Members that say what a call writes, besides those that name files.
const OTHER_KEYS: [&str; 3] = ["operation", "dry_run", TARGET];
/// Files of one call that are looked at.
const MAX_FILES: usize = 256;
/// Longer readings of symbols that are looked at.
const MAX_CUTS: usize = 4 * MAX_FILES;
/// The longest path that is taken for one, in bytes.
pub(super) const MAX_PATH: usize = 4096;
/// The longest text that is read as the list of a batch, in bytes.
const MAX_LIST: usize = 1024 * 1024;
/// Lists within lists that are read: an item may list several replacements in its file.
const MAX_DEPTH: usize = 2;

/// What was found so far.
#[derive(Default)]
pub(super) struct Found {
    files: NamedFiles,
    known: BTreeSet<String>,
}

impl Found {
    pub(super) fn into_files(self) -> NamedFiles {
        NamedFiles {
            diffs: true,
            ..self.files
        }
    }

    /// Adds a path. False where it cannot be one.
    fn add(&mut self, path: &str) -> bool {
        if path.len() > MAX_PATH {
            return false;
        }
        if !self.known.contains(path) {
            if self.files.paths.len() < MAX_FILES {
                self.known.insert(path.to_owned());
                self.files.paths.push(path.to_owned());
            } else {
                self.files.more = true;
            }
        }
        true
    }

    /// Adds the paths that a symbol may begin with. False where it begins with none.
    fn add_symbol(&mut self, symbol: &str) -> bool {
        let mut cuts = symbol.match_indices("::").map(|(at, _)| &symbol[..at]);
        let Some(path) = cuts.next().filter(|path| !path.is_empty()) else {
            return false;
        };
        for cut in cuts.take_while(|cut| cut.len() <= MAX_PATH) {
            if self.files.cuts.len() < MAX_CUTS {
                self.files.cuts.push(cut.to_owned());
            } else {
                self.files.more = true;
                break;
            }
        }
        self.add(path)
    }
}

/// An object and its containers, the object first.
pub(super) struct Scope<'a> {
    objects: Vec<&'a Object>,
    /// Whether something that is not understood may name more.
    hidden: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn of(top: &'a Object) -> Self {
        let mut objects = vec![top];
        objects.extend(containers_of(top));
        // Gortex is known to open one level (wire.md); whether it opens more is not, so what lies deeper is neither
        // used nor passed over.
        let deeper = objects.iter().skip(1).copied().flat_map(containers_of);
        let hidden = deeper.into_iter().any(tells)
            || objects.iter().any(|object| is_odd(object))
            || is_shadowed(&objects);
        Self { objects, hidden }
    }

    /// The value of a key: the top's, else that of the first container that has it.
    pub(super) fn first(&self, key: &str) -> Option<&'a Value> {
        self.objects.iter().find_map(|object| object.get(key))
    }

    /// The text of a key: a container of the same name (`source`) is no text.
    pub(super) fn string(&self, key: &str) -> Option<&'a str> {
        self.objects
            .iter()
            .find_map(|object| object.get(key)?.as_str())
            .filter(|text| !text.is_empty())
    }

    /// Adds the files of a call. False where there may be others, or are none.
    pub(super) fn read(&self, found: &mut Found) -> bool {
        self.read_within(false, 0, found)
    }

    /// Adds the files of a call or an item, `depth` lists deep. One that names none has to have one `beside` it: then it
    /// is one of several replacements in that file.
    fn read_within(&self, beside: bool, depth: usize, found: &mut Found) -> bool {
        if self.hidden {
            return false;
        }
        let target = self
            .objects
            .iter()
            .find_map(|object| object.get(TARGET)?.as_object());
        let in_target = |key: &str| {
            let text = target?.get(key)?.as_str()?;
            (!text.is_empty()).then_some(text)
        };
        let (mut named, mut placed) = (beside, beside);
        for (key, path) in PATH_KEYS
            .iter()
            .map(|key| (*key, self.string(key)))
            .chain([(TARGET, in_target("file"))])
        {
            let Some(path) = path else { continue };
            named = true;
            placed |= key != DESTINATION;
            if !found.add(path) {
                return false;
            }
        }
        for symbol in SYMBOL_KEYS
            .iter()
            .filter_map(|key| self.string(key))
            .chain(in_target("symbol"))
        {
            if found.add_symbol(symbol) {
                named = true;
            } else if !placed {
                return false;
            }
        }
        for list in BATCH_KEYS.iter().filter_map(|key| self.filled(key)) {
            if depth == MAX_DEPTH || !read_list(list, named, depth + 1, found) {
                return false;
            }
            named = true;
        }
        named
    }

    /// The value of a key that holds something.
    fn filled(&self, key: &str) -> Option<&'a Value> {
        self.objects
            .iter()
            .find_map(|object| object.get(key).filter(|value| is_filled(key, value)))
    }
}

/// Adds the files of a batch's items.
fn read_list(list: &Value, beside: bool, depth: usize, found: &mut Found) -> bool {
    let mut read =
        |item: &Object| found.files.more || Scope::of(item).read_within(beside, depth, found);
    match list {
        Value::Array(items) => items
            .iter()
            .all(|item| item.as_object().is_some_and(&mut read)),
        Value::String(text) if text.len() <= MAX_LIST => serde_json::from_str::<Vec<Object>>(text)
            .is_ok_and(|items| (beside || !items.is_empty()) && items.iter().all(read)),
        _ => false,
    }
}

fn containers_of(object: &Object) -> impl Iterator<Item = &Object> {
    CONTAINERS
        .iter()
        .filter_map(|key| object.get(*key)?.as_object())
}

fn telling_keys() -> impl Iterator<Item = &'static str> {
    PATH_KEYS.into_iter().chain(SYMBOL_KEYS).chain(BATCH_KEYS)
}

/// Whether an object has a member that may say what a call writes.
fn tells(object: &Object) -> bool {
    telling_keys()
        .chain(OTHER_KEYS)
        .any(|key| object.contains_key(key))
        || containers_of(object).next().is_some()
}

/// Whether a value of a key holds anything that could be meant.
fn is_filled(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(target) if key == TARGET => ["file", "symbol"]
            .iter()
            .any(|key| target.get(*key).is_some_and(|value| is_filled(key, value))),
        Value::Object(_) if CONTAINERS.contains(&key) => false,
        _ => true,
    }
}

/// Whether an object has a member that may name files and is not what such a member is known to be.
fn is_odd(object: &Object) -> bool {
    object.iter().any(|(key, value)| {
        let key = key.as_str();
        let is_container = CONTAINERS.contains(&key);
        let names = PATH_KEYS.contains(&key) || SYMBOL_KEYS.contains(&key);
        match value {
            Value::Null => false,
            Value::Object(target) if key == TARGET => is_odd_target(target),
            Value::Object(_) if is_container => false,
            // Text that is an object itself.
            Value::String(text) if is_container => {
                let text = text.trim_start();
                text.starts_with('{') || !names && text.starts_with('[')
            }
            Value::String(_) if names => false,
            Value::Array(items) if is_container && !names => {
                items.iter().any(|item| item.is_object() || item.is_array())
            }
            value if key == TARGET => is_filled(key, value),
            _ => names,
        }
    })
}

fn is_odd_target(target: &Object) -> bool {
    containers_of(target).any(tells)
        || target.iter().any(|(key, value)| match key.as_str() {
            "file" | "symbol" => !value.is_string() && !value.is_null(),
            key if telling_keys().any(|known| known == key) => is_filled(key, value),
            _ => false,
        })
}

/// Whether something empty stands above something filled: which of them counts is not known.
fn is_shadowed(objects: &[&Object]) -> bool {
    telling_keys().chain([TARGET]).any(|key| {
        let mut values = objects
            .iter()
            .filter_map(|object| object.get(key))
            .filter(|value| !value.is_null())
            .filter(|value| key == TARGET || !value.is_object() || !CONTAINERS.contains(&key))
            .map(|value| is_filled(key, value));
        values.next() == Some(false) && values.any(|filled| filled)
    })
}
