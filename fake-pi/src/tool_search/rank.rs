//! Which tools match a query best: BM25 over the descriptions, with the name and the server as fields of their own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::words::words;

/// How soon more mentions of a word count no more, and how much a long text counts less.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// What a word in the name, and in what all tools of a server share, weighs.
const IN_NAME: f64 = 3.0;
const IN_SERVER: f64 = 0.5;

/// How deep a schema is looked into; a server writes it. References in it are not followed.
const MAX_DEPTH: usize = 64;

/// A tool as it is searched.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Document {
    name: String,
    in_name: BTreeSet<String>,
    /// The words of the last part of the name, which is the tool's own.
    own_name: BTreeSet<String>,
    in_server: BTreeSet<String>,
    mentions: BTreeMap<String, f64>,
    length: f64,
}

impl Document {
    /// What is searched of a tool, given as `getAllTools()` lists it.
    pub(super) fn of(tool: &Value) -> Self {
        let name = tool["name"].as_str().unwrap_or_default();
        let mut texts = vec![tool["description"].as_str().unwrap_or_default()];
        collect(&tool["parameters"], &mut texts, 0);
        let mut mentions = BTreeMap::new();
        let mut length = 0.0;
        for word in words(&texts.join(" ")) {
            *mentions.entry(word).or_insert(0.0) += 1.0;
            length += 1.0;
        }
        let namespace = &tool["namespace"];
        let in_server = ["name", "description", "instructions"]
            .iter()
            .filter_map(|member| namespace[member].as_str())
            .flat_map(words)
            .collect();
        Self {
            name: name.to_owned(),
            in_name: words(name).into_iter().collect(),
            own_name: words(name.rsplit("__").next().unwrap_or(name))
                .into_iter()
                .collect(),
            in_server,
            mentions,
            length,
        }
    }

    fn has(&self, word: &str) -> bool {
        self.in_name.contains(word)
            || self.mentions.contains_key(word)
            || self.in_server.contains(word)
    }
}

/// Collects the descriptions and the names of properties in a schema.
fn collect<'a>(schema: &'a Value, texts: &mut Vec<&'a str>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    texts.extend(schema["description"].as_str());
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        texts.push(name);
        collect(property, texts, depth + 1);
    }
    if schema["items"].is_object() {
        collect(&schema["items"], texts, depth + 1);
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for variant in schema[keyword].as_array().into_iter().flatten() {
            collect(variant, texts, depth + 1);
        }
    }
}

/// The places of the best matches, at most `limit` of them. The tool whose name the query is comes first, then those that
/// match most of its words, then those that match them best; equal ones keep their order.
pub(super) fn rank(query: &str, documents: &[Document], limit: usize) -> Vec<usize> {
    let wanted: BTreeSet<String> = words(query).into_iter().collect();
    if wanted.is_empty() || documents.is_empty() {
        return Vec::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody has that many tools")]
    let count = |items: usize| items as f64;
    let total = count(documents.len());
    let mean = documents.iter().map(|one| one.length).sum::<f64>() / total;
    let mean = if mean > 0.0 { mean } else { 1.0 };
    let rarity: BTreeMap<&str, f64> = wanted
        .iter()
        .map(|word| {
            let having = count(documents.iter().filter(|one| one.has(word)).count());
            let rarity = (1.0 + (total - having + 0.5) / (having + 0.5)).ln();
            (word.as_str(), rarity)
        })
        .collect();
    let whole_name: f64 = rarity.values().sum();
    let exact = plain(query);
    let mut matches: Vec<(bool, usize, f64, usize)> = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * document.length / mean);
        let (mut score, mut covered) = (0.0, 0);
        for (word, rarity) in &rarity {
            let mentions = document.mentions.get(*word).copied().unwrap_or(0.0);
            let mut weight = mentions * (SATURATION + 1.0) / (mentions + norm);
            if document.in_name.contains(*word) {
                weight += IN_NAME;
            }
            if document.in_server.contains(*word) {
                weight += IN_SERVER;
            }
            covered += usize::from(weight > 0.0);
            score += rarity * weight;
        }
        if score == 0.0 {
            continue;
        }
        if !document.own_name.is_empty() && document.own_name.is_subset(&wanted) {
            score += whole_name;
        }
        let name = plain(&document.name);
        let is_exact = name == exact || name.ends_with(&format!("__{exact}"));
        matches.push((is_exact, covered, score, index));
    }
    matches.sort_by(|one, other| {
        let first = other.0.cmp(&one.0).then(other.1.cmp(&one.1));
        first.then(other.2.total_cmp(&one.2))
    });
    let best = matches.into_iter().take(limit);
    best.map(|(.., index)| index).collect()
}

/// A query or a name as names are compared.
fn plain(text: &str) -> String {
    let sign = |character: char| {
        if character.is_ascii_alphanumeric() || character == '_' || character == '$' {
            character
        } else {
            '_'
        }
    };
    text.trim().to_lowercase().chars().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Document, rank};

    fn documents() -> Vec<Document> {
        let tool = |name: &str, description: &str| {
            json!({"name": name, "description": description, "parameters": {"type": "object",
                "properties": {"path": {"type": "string", "description": "Where."}}},
                "namespace": {"name": "mcp__desk", "description": "The desktop"}})
        };
        let tools = [
            tool("mcp__desk__window", "Moves it."),
            tool("mcp__desk__capture", "Takes a screenshot of a window."),
            tool("mcp__desk__list_windows", "Names all."),
            tool("mcp__desk__close", "Ends it."),
        ];
        tools.iter().map(Document::of).collect()
    }

    #[test]
    fn more_words_beat_a_better_word_and_an_exact_name_beats_all() {
        let documents = documents();
        assert_eq!(rank("screenshot window", &documents, 8)[0], 1);
        assert_eq!(rank("window", &documents, 8), [0, 2, 1]);
        assert_eq!(rank("list windows", &documents, 1), [2]);
        assert_eq!(rank("list-windows", &documents, 1), [2]);
    }

    #[test]
    fn what_a_server_says_of_itself_finds_all_its_tools_in_order() {
        assert_eq!(rank("desktop", &documents(), 8), [0, 1, 2, 3]);
        assert_eq!(rank("desktop", &documents(), 2), [0, 1]);
        assert_eq!(rank("the", &documents(), 8), [] as [usize; 0]);
        assert_eq!(rank("nothing like it", &documents(), 8), [] as [usize; 0]);
    }
}
