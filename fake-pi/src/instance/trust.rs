//! Whether a project's own files are trusted: asked of the extensions before the built-in ones are loaded, once a folder.

use std::path::Path;

use serde_json::{Value, json};

use super::Instance;
use crate::extension::{Event, lock};

/// What in a project's `.pi` folder makes trust a question. Folders of skills elsewhere (`.agents/skills`) do so too, and
/// are not looked for.
const ASKED_FOR: [&str; 8] = [
    "settings.json",
    "mcp.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];

impl Instance {
    /// Whether the files of the project in `cwd` are trusted, as far as that is known.
    pub(crate) fn is_trusted(&self, cwd: &Path) -> bool {
        let known = lock(&self.host.trusted).get(cwd).copied();
        self.host.options.project_trusted || known.unwrap_or_else(|| !is_asked_for(cwd))
    }

    /// Asks the extensions, if there is a question. The first one that says yes or no decides; without any it is a no:
    /// no mode but the terminal asks the person, whose answer is not modelled.
    pub(super) async fn ask_for_trust(&self, cwd: &Path) {
        let known = lock(&self.host.trusted).contains_key(cwd);
        if self.host.options.project_trusted || known || !is_asked_for(cwd) {
            return;
        }
        let event = json!({"type": "project_trust", "cwd": cwd.to_string_lossy()});
        let mut trusted = false;
        for (slot, handler) in self.snapshot("project_trust") {
            let answer = self.call(&handler, &Event::new(event.clone())).await;
            let error = match answer {
                Ok(Value::Null) => {
                    "Cannot read properties of undefined (reading 'trusted')".to_owned()
                }
                Ok(answer) if answer["trusted"] == "undecided" => continue,
                Ok(answer) => {
                    trusted = answer["trusted"] == "yes";
                    break;
                }
                Err(thrown) => thrown.message,
            };
            self.host.warn(format!(
                "Warning: Extension \"{}\" project_trust error: {error}",
                slot.path
            ));
        }
        lock(&self.host.trusted).insert(cwd.to_owned(), trusted);
    }
}

fn is_asked_for(cwd: &Path) -> bool {
    ASKED_FOR
        .iter()
        .any(|name| cwd.join(".pi").join(name).exists())
}
