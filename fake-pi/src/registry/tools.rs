//! The tools of a session: which exist, which are declared to the model.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::codemode;
use crate::tool::{Exposure, Tool, ToolDefinition};

/// The tools that a new session declares (pi-host.md 12).
pub(crate) const DEFAULT_ACTIVE: [&str; 4] = ["read", "bash", "edit", "write"];

/// One tool as the registry knows it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) definition: ToolDefinition,
    pub(crate) source_info: Value,
    /// Whether registering it declares it; the session's own tools follow [`DEFAULT_ACTIVE`] instead.
    pub(crate) activates: bool,
}

impl Entry {
    pub(crate) fn new(tool: Arc<dyn Tool>, source_info: Value, activates: bool) -> Self {
        let definition = tool.definition();
        let declarable = matches!(definition.exposure, Exposure::Direct | Exposure::ModelOnly);
        Self {
            activates: activates && declarable,
            tool,
            definition,
            source_info,
        }
    }

    /// The tool as the transcript declares it.
    fn declaration(&self) -> Value {
        let mut declaration = self.described();
        if let Some(wish) = self.tool.registry_members().get("constrainedSampling") {
            declaration["constrainedSampling"] = wish.clone();
        }
        declaration
    }

    fn described(&self) -> Value {
        json!({
            "name": self.definition.name,
            "description": self.definition.description,
            "parameters": self.definition.parameters,
        })
    }

    /// The tool as `getAllTools()` lists it (pi-host.md 12).
    fn listed(&self) -> Value {
        let mut entry = self.described();
        let extra = self.tool.registry_members();
        let take = |name: &str, entry: &mut Value| {
            if let Some(value) = extra.get(name) {
                entry[name] = value.clone();
            }
        };
        take("promptGuidelines", &mut entry);
        entry["exposure"] = exposure_name(self.definition.exposure).into();
        take("namespace", &mut entry);
        take("annotations", &mut entry);
        entry["sourceInfo"] = self.source_info.clone();
        entry
    }
}

/// The spelling of an exposure in the registry.
pub(crate) fn exposure_name(exposure: Exposure) -> &'static str {
    match exposure {
        Exposure::Direct => "direct",
        Exposure::Deferred => "deferred",
        Exposure::Hidden => "hidden",
        Exposure::ModelOnly => "model-only",
    }
}

/// All tools of a session and the names of the declared ones, each in Pi's order.
#[derive(Default)]
pub(crate) struct ToolRegistry {
    entries: Vec<Entry>,
    active: Vec<String>,
    /// Names that a resumed session declared and that nobody registered yet.
    awaited: Vec<String>,
}

impl ToolRegistry {
    /// Replaces the registered tools after a registration; newly declarable ones become active, the rest stays as it
    /// was. `names` replaces the active set first, as after a reload.
    ///
    /// A tool whose exposure turns from hidden to direct counts as new, which is how a tool that a server offers again
    /// comes back (pi-host.md 4.7).
    pub(crate) fn refresh(&mut self, entries: Vec<Entry>, names: Option<Vec<String>>) {
        let activated: BTreeSet<String> = match &names {
            // A fresh set declares every extension tool again.
            Some(_) => BTreeSet::new(),
            None => self
                .entries
                .iter()
                .filter(|entry| entry.activates)
                .map(|entry| entry.definition.name.clone())
                .collect(),
        };
        let mut wanted = names.unwrap_or_else(|| self.active.clone());
        self.entries = entries;
        let new = self
            .entries
            .iter()
            .filter(|entry| entry.activates && !activated.contains(&entry.definition.name));
        wanted.extend(new.map(|entry| entry.definition.name.clone()));
        wanted.extend(self.awaited.iter().cloned());
        self.activate(&wanted);
    }

    /// Declares these tools as soon as they are registered.
    pub(crate) fn await_names(&mut self, names: Vec<String>) {
        self.awaited = names;
    }

    /// Waits for no tool any more; a run records the tools that there are.
    pub(crate) fn stop_awaiting(&mut self) {
        self.awaited.clear();
    }

    /// Chooses the declared tools in an extension's name.
    pub(crate) fn choose(&mut self, names: &[String]) {
        let before = self.active.clone();
        self.activate(names);
        // A choice that drops a tool is a new choice; one that only adds keeps what was awaited.
        if before.iter().any(|name| !self.active.contains(name)) {
            self.awaited.clear();
        }
    }

    /// Chooses the declared tools: those that stay keep their order, new ones follow; unknown and hidden names are
    /// ignored.
    pub(crate) fn activate(&mut self, names: &[String]) {
        let mut ordered: Vec<String> = self
            .active
            .iter()
            .filter(|name| names.contains(name))
            .cloned()
            .collect();
        for name in names {
            if !ordered.contains(name) {
                ordered.push(name.clone());
            }
        }
        ordered.retain(|name| {
            self.entry(name)
                .is_some_and(|entry| entry.definition.exposure != Exposure::Hidden)
        });
        self.awaited.retain(|name| !ordered.contains(name));
        self.active = ordered;
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.definition.name == name)
    }

    /// The names of the declared tools.
    pub(crate) fn active_names(&self) -> Vec<String> {
        self.active.clone()
    }

    /// The declared tools themselves. A turn keeps this list, whatever is registered meanwhile (pi-host.md 4.7).
    pub(crate) fn active(&self) -> Vec<Entry> {
        self.active
            .iter()
            .filter_map(|name| self.entry(name))
            .cloned()
            .collect()
    }

    /// The tools that other tools may call: the declared ones and those that are loaded on demand, but none that is for
    /// the model only (pi-host.md 10).
    pub(crate) fn callable(&self) -> Vec<Entry> {
        let callable = |entry: &&Entry| match entry.definition.exposure {
            Exposure::Direct => self.active.contains(&entry.definition.name),
            Exposure::Deferred => true,
            Exposure::Hidden | Exposure::ModelOnly => false,
        };
        self.entries.iter().filter(callable).cloned().collect()
    }

    /// The declared tools as the transcript has them. While scripts can be run, each says how they call it.
    pub(crate) fn declarations(&self) -> Vec<Value> {
        let scripts = self.active.iter().any(|name| name == codemode::NAME);
        let declaration = |entry: &Entry| {
            let mut declaration = entry.declaration();
            if scripts && entry.definition.exposure != Exposure::ModelOnly {
                let output = entry.tool.registry_members()["outputSchema"].clone();
                let described = codemode::described(&entry.definition, &output);
                declaration["description"] = described.into();
            }
            declaration
        };
        self.active().iter().map(declaration).collect()
    }

    /// All tools as `getAllTools()` lists them.
    pub(crate) fn listed(&self) -> Value {
        self.entries.iter().map(Entry::listed).collect()
    }
}

/// Puts an extension's tools over the session's own: an equal name replaces in place, a new one is appended.
pub(crate) fn overlay(own: Vec<Entry>, registered: Vec<Entry>) -> Vec<Entry> {
    let mut merged = own;
    let mut seen = BTreeSet::new();
    for entry in registered {
        // The first extension that registered a name keeps it (pi-host.md 4.2).
        if !seen.insert(entry.definition.name.clone()) {
            continue;
        }
        match merged
            .iter_mut()
            .find(|known| known.definition.name == entry.definition.name)
        {
            Some(known) => *known = entry,
            None => merged.push(entry),
        }
    }
    merged
}

/// The `sourceInfo` of one of Pi's own tools.
pub(crate) fn builtin_info(name: &str) -> Value {
    json!({"path": format!("builtin:{name}"), "source": "builtin", "scope": "temporary", "origin": "top-level"})
}

/// What changed between what the transcript declares and what is active: a changed declaration is a removal followed
/// by an addition.
pub(crate) fn changes(declared: &[Value], active: &[Value]) -> Option<(Vec<Value>, Vec<Value>)> {
    let same = |left: &Value, right: &Value| left["name"] == right["name"] && left == right;
    let added: Vec<Value> = active
        .iter()
        .filter(|tool| !declared.iter().any(|known| same(known, tool)))
        .cloned()
        .collect();
    let removed: Vec<Value> = declared
        .iter()
        .filter(|tool| !active.iter().any(|known| same(known, tool)))
        .map(|tool| json!({"name": tool["name"]}))
        .collect();
    (!added.is_empty() || !removed.is_empty()).then_some((added, removed))
}

/// The tools that a transcript's system messages declare, after every addition and removal in order.
pub(crate) fn declared(messages: &[Value]) -> Vec<Value> {
    let mut tools: Map<String, Value> = Map::new();
    for message in messages
        .iter()
        .filter(|message| message["role"] == "system")
    {
        for tool in message["toolsRemoved"].as_array().into_iter().flatten() {
            if let Some(name) = tool["name"].as_str() {
                tools.shift_remove(name);
            }
        }
        for tool in message["toolsAdded"].as_array().into_iter().flatten() {
            if let Some(name) = tool["name"].as_str() {
                tools.insert(name.to_owned(), tool.clone());
            }
        }
    }
    tools.into_iter().map(|(_, tool)| tool).collect()
}
