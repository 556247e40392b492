//! A session's history: a tree of entries, and the messages that a branch of it amounts to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::projection::{self, Projected};
use crate::clock::{Clock, Ids};

/// One entry with the moment at which it was appended.
#[derive(Debug, Clone)]
struct Entry {
    id: String,
    parent: Option<String>,
    value: Value,
}

/// The tree of a session, as its file would hold it.
#[derive(Debug, Clone)]
pub(crate) struct History {
    pub(crate) id: String,
    /// The session's file; none in a session that is not kept.
    pub(crate) file: Option<String>,
    header: Value,
    entries: Vec<Entry>,
    leaf: Option<String>,
}

impl History {
    /// An empty history of a new session.
    pub(crate) fn new(id: String, file: Option<String>, cwd: &str, clock: &Clock) -> Self {
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": clock.now_iso(), "cwd": cwd});
        Self {
            id,
            file,
            header,
            entries: Vec::new(),
            leaf: None,
        }
    }

    /// A session that a file holds: its header, and an entry a line. What is no entry is left out.
    pub(crate) fn parse(file: &str, text: &str) -> Option<Self> {
        let mut lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let header = lines.next().filter(|header| header["type"] == "session")?;
        let entries: Vec<Entry> = lines
            .filter_map(|value| {
                Some(Entry {
                    id: value["id"].as_str()?.to_owned(),
                    parent: value["parentId"].as_str().map(str::to_owned),
                    value,
                })
            })
            .collect();
        Some(Self {
            id: header["id"].as_str()?.to_owned(),
            file: Some(file.to_owned()),
            leaf: entries.last().map(|entry| entry.id.clone()),
            header,
            entries,
        })
    }

    /// The folder that the session works in.
    pub(crate) fn cwd(&self) -> PathBuf {
        PathBuf::from(self.header["cwd"].as_str().unwrap_or_default())
    }

    /// The first line of the session's file.
    pub(crate) fn header(&self) -> Value {
        self.header.clone()
    }

    /// Appends an entry of this type under the current one and makes it current. Members that are null are kept.
    pub(crate) fn append(
        &mut self,
        kind: &str,
        members: Map<String, Value>,
        ids: &Ids,
        clock: &Clock,
    ) -> String {
        let mut id = ids.entry();
        while self.position(&id).is_some() {
            id = ids.entry();
        }
        let mut value =
            json!({"type": kind, "id": id, "parentId": self.leaf, "timestamp": clock.now_iso()});
        if let Value::Object(entry) = &mut value {
            entry.extend(members);
        }
        let entry = Entry {
            id: id.clone(),
            parent: self.leaf.take(),
            value,
        };
        self.entries.push(entry);
        self.leaf = Some(id.clone());
        id
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id == id)
    }

    /// One entry.
    pub(crate) fn entry(&self, id: &str) -> Option<Value> {
        self.position(id)
            .map(|index| self.entries[index].value.clone())
    }

    /// The parent of an entry; the outer `None` is an unknown entry.
    pub(crate) fn parent(&self, id: &str) -> Option<Option<String>> {
        self.position(id)
            .map(|index| self.entries[index].parent.clone())
    }

    /// All entries in the order they were appended.
    pub(crate) fn entries(&self) -> Vec<Value> {
        self.entries
            .iter()
            .map(|entry| entry.value.clone())
            .collect()
    }

    /// Makes another entry the current one; none is the place before all entries.
    pub(crate) fn go_to(&mut self, leaf: Option<String>) {
        self.leaf = leaf;
    }

    /// The entries from the root to an entry.
    pub(crate) fn branch_to(&self, id: &str) -> Vec<Value> {
        let mut at = self.clone();
        at.leaf = Some(id.to_owned());
        at.branch()
    }

    /// The current entry.
    pub(crate) fn leaf(&self) -> Option<String> {
        self.leaf.clone()
    }

    fn path(&self) -> Vec<&Entry> {
        let by_id: BTreeMap<&str, &Entry> = self
            .entries
            .iter()
            .map(|entry| (entry.id.as_str(), entry))
            .collect();
        let mut path = Vec::new();
        let mut next = self.leaf.as_deref();
        while let Some(entry) = next.and_then(|id| by_id.get(id)) {
            path.push(*entry);
            next = entry.parent.as_deref();
        }
        path.reverse();
        path
    }

    /// The entries from the root to the current one.
    pub(crate) fn branch(&self) -> Vec<Value> {
        self.path()
            .into_iter()
            .map(|entry| entry.value.clone())
            .collect()
    }

    /// What the branch amounts to for the model.
    pub(crate) fn projection(&self) -> Vec<Projected> {
        projection::of(&self.branch())
    }

    /// The messages of the branch.
    pub(crate) fn messages(&self) -> Vec<Value> {
        projection::messages(&self.projection())
    }

    /// The same session up to `leaf` as a session of its own, for fork and clone.
    pub(crate) fn branched(
        &self,
        leaf: Option<&str>,
        id: String,
        file: Option<String>,
        clock: &Clock,
    ) -> Self {
        let mut branch = self.clone();
        branch.leaf = leaf.map(str::to_owned);
        let kept: Vec<Entry> = branch.path().into_iter().cloned().collect();
        branch.entries = kept;
        branch.header["id"] = id.clone().into();
        branch.header["timestamp"] = clock.now_iso().into();
        if let Some(parent) = &self.file {
            branch.header["parentSession"] = parent.clone().into();
        }
        branch.id = id;
        branch.file = file;
        branch
    }
}
