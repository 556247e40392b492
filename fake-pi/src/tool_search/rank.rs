//! Which tools match a query best: BM25 over the descriptions, with the name and the server as fields of their own.

use std::cmp::Ordering;
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

    /// What a word counts for here, next to texts that are `usual` words long.
    fn weight(&self, word: &str, usual: f64) -> f64 {
        let mentions = self.mentions.get(word).copied().unwrap_or(0.0);
        let damping = SATURATION * (1.0 - LENGTH + LENGTH * self.length / usual);
        let mut weight = mentions * (SATURATION + 1.0) / (mentions + damping);
        if self.in_name.contains(word) {
            weight += IN_NAME;
        }
        if self.in_server.contains(word) {
            weight += IN_SERVER;
        }
        weight
    }

    /// Whether this is how a tool is called, with its server or without.
    fn is_called(&self, call: &str) -> bool {
        let name = plain(&self.name);
        name.strip_suffix(call)
            .is_some_and(|server| server.is_empty() || server.ends_with("__"))
    }
}

/// How well a document answers a query.
struct Standing {
    is_called_so: bool,
    words_found: usize,
    worth: f64,
}

impl Standing {
    /// Less for the standing that comes first: a name beats any number of words, and each word any worth.
    fn order(&self, other: &Self) -> Ordering {
        other
            .is_called_so
            .cmp(&self.is_called_so)
            .then_with(|| other.words_found.cmp(&self.words_found))
            .then_with(|| other.worth.total_cmp(&self.worth))
    }
}

/// A query, prepared against all that is searched.
struct Query {
    call: String,
    /// Its words, each with how rare it is.
    words: BTreeMap<String, f64>,
    /// The length of a text in the mean.
    usual: f64,
}

impl Query {
    fn over(documents: &[Document], query: &str) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "nobody has that many tools")]
        let count = |items: usize| items as f64;
        let total = count(documents.len());
        let usual = documents.iter().map(|one| one.length).sum::<f64>() / total;
        let rarity = |word: &String| {
            let having = count(documents.iter().filter(|one| one.has(word)).count());
            (1.0 + (total - having + 0.5) / (having + 0.5)).ln()
        };
        let distinct: BTreeSet<String> = words(query).into_iter().collect();
        let words = distinct.into_iter().map(|word| {
            let rarity = rarity(&word);
            (word, rarity)
        });
        Self {
            call: plain(query),
            words: words.collect(),
            usual: if usual > 0.0 { usual } else { 1.0 },
        }
    }

    /// Where a document stands; nowhere if it has none of the words.
    fn standing(&self, document: &Document) -> Option<Standing> {
        let mut standing = Standing {
            is_called_so: document.is_called(&self.call),
            words_found: 0,
            worth: 0.0,
        };
        for (word, rarity) in &self.words {
            let weight = document.weight(word, self.usual);
            standing.words_found += usize::from(weight > 0.0);
            standing.worth += rarity * weight;
        }
        if standing.words_found == 0 {
            return None;
        }
        let own = &document.own_name;
        if !own.is_empty() && own.iter().all(|word| self.words.contains_key(word)) {
            standing.worth += self.words.values().sum::<f64>();
        }
        Some(standing)
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

/// The places of at most `limit` documents, from the best standing down; those that stand alike keep their order.
pub(super) fn rank(query: &str, documents: &[Document], limit: usize) -> Vec<usize> {
    let query = Query::over(documents, query);
    let placed = documents.iter().enumerate();
    let mut placed: Vec<(usize, Standing)> = placed
        .filter_map(|(place, document)| Some((place, query.standing(document)?)))
        .collect();
    placed.sort_by(|(_, one), (_, other)| one.order(other));
    placed
        .into_iter()
        .map(|(place, _)| place)
        .take(limit)
        .collect()
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
