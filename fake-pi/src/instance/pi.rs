//! `pi`: what a factory is handed, and keeps.

use std::sync::{Arc, Weak};

use serde_json::{Value, json};

use super::{Change, Instance, Registered, STALE, Slot, Stage};
use crate::extension::{CommandHandler, Handler, Thrown, lock};
use crate::registry::servers;
use crate::session::Session;
use crate::tool::Tool;

/// A slash command.
#[derive(Clone)]
pub struct Command {
    /// What the command list says about it.
    pub description: Option<String>,
    /// Runs it.
    pub handler: CommandHandler,
}

/// When a custom message is delivered (pi-host.md 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// After the turn's tool results.
    #[default]
    Steer,
    /// When the agent would stop.
    FollowUp,
    /// With the next prompt.
    NextTurn,
}

/// Removes a handler; an emit in progress still calls it (pi-host.md 2).
pub struct Unsubscribe {
    slot: Weak<Slot>,
    id: u64,
}

impl Unsubscribe {
    /// Removes the handler. Calling it again changes nothing.
    pub fn call(&self) {
        if let Some(slot) = self.slot.upgrade() {
            slot.remove_handler(self.id);
        }
    }
}

/// The extension API of one instance. Every method throws [`STALE`] once the session was replaced.
#[derive(Clone)]
pub struct Pi {
    instance: Weak<Instance>,
    slot: Arc<Slot>,
}

impl Pi {
    pub(super) fn new(instance: &Arc<Instance>, slot: &Arc<Slot>) -> Self {
        Self {
            instance: Arc::downgrade(instance),
            slot: slot.clone(),
        }
    }

    /// The instance, if it is still the current one.
    fn active(&self) -> Result<Arc<Instance>, Thrown> {
        if matches!(*lock(&self.slot.stage), Stage::Failed) {
            return Err(Thrown::error(format!(
                "Extension \"{}\" failed to load and its API is no longer active.",
                self.slot.path
            )));
        }
        Instance::current(&self.instance).ok_or_else(|| Thrown::error(STALE))
    }

    fn session(&self) -> Result<Arc<Session>, Thrown> {
        self.active()?.session()
    }

    /// Applies a change now, or when the factory has returned.
    fn apply(&self, instance: &Instance, change: Change) {
        if let Stage::Loading(waiting) = &mut *lock(&self.slot.stage) {
            waiting.push(change);
            return;
        }
        change(instance);
    }

    /// The path of the extension that holds this handle.
    pub fn path(&self) -> &str {
        &self.slot.path
    }

    /// Adds a handler; it runs from the next emit of `event` on.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn on(&self, event: &str, handler: Handler) -> Result<Unsubscribe, Thrown> {
        self.active()?;
        Ok(Unsubscribe {
            slot: Arc::downgrade(&self.slot),
            id: self.slot.add_handler(event, handler),
        })
    }

    /// Registers a tool, or replaces this extension's tool of that name.
    ///
    /// # Errors
    /// [`STALE`], or Pi's text when the parameters are no object.
    pub fn register_tool(&self, tool: Arc<dyn Tool>) -> Result<(), Thrown> {
        let instance = self.active()?;
        let definition = tool.definition();
        if !definition.parameters.is_object() {
            return Err(Thrown::error(format!(
                "Tool \"{}\" registered by extension \"{}\" must define an object parameter schema.",
                definition.name, self.slot.path
            )));
        }
        {
            let mut tools = lock(&self.slot.tools);
            match tools
                .iter_mut()
                .find(|known| known.definition().name == definition.name)
            {
                Some(known) => *known = tool,
                None => tools.push(tool),
            }
        }
        if let Ok(session) = instance.session() {
            session.refresh_tools();
        }
        Ok(())
    }

    /// Registers a slash command.
    ///
    /// # Errors
    /// [`STALE`], or Pi's text for an empty name.
    pub fn register_command(&self, name: &str, command: Command) -> Result<(), Thrown> {
        self.active()?;
        if name.is_empty() {
            return Err(Thrown::error(format!(
                "Command registered by extension \"{}\" must have a non-empty string name. Use \
                 pi.registerCommand(\"name\", {{ description, handler }}).",
                self.slot.path
            )));
        }
        let registered = Registered {
            name: name.to_owned(),
            description: command.description,
            handler: command.handler,
        };
        let mut commands = lock(&self.slot.commands);
        match commands.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = registered,
            None => commands.push(registered),
        }
        Ok(())
    }

    /// Registers an MCP server (pi-host.md 3). In the factory the registration waits until the factory returned; from
    /// `session_start` on it is stored at once and announced before this returns.
    ///
    /// # Errors
    /// [`STALE`], and the texts of validation and ownership of pi-host.md 3.1 and 3.2.
    pub fn register_mcp_server(&self, name: &Value, config: &Value) -> Result<(), Thrown> {
        let instance = self.active()?;
        let server = servers::validated(name, config, &self.slot.path)?;
        lock(&instance.servers).check(&server)?;
        self.apply(
            &instance,
            Box::new(move |instance| {
                lock(&instance.servers).register(server);
                instance.servers_changed();
            }),
        );
        Ok(())
    }

    /// Unregisters a server of this extension; any other name changes nothing.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn unregister_mcp_server(&self, name: &str) -> Result<(), Thrown> {
        let instance = self.active()?;
        let (name, path) = (name.to_owned(), self.slot.path.clone());
        self.apply(
            &instance,
            Box::new(move |instance| {
                let removed = lock(&instance.servers).unregister(&name, &path);
                if removed {
                    instance.servers_changed();
                }
            }),
        );
        Ok(())
    }

    /// The registered servers of all extensions: `[{name, config, extensionPath}]`.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn get_mcp_servers(&self) -> Result<Value, Thrown> {
        Ok(lock(&self.active()?.servers).value())
    }

    /// All registered tools, active or not (pi-host.md 12).
    ///
    /// # Errors
    /// [`STALE`], [`super::NOT_INITIALIZED`] in the factory.
    pub fn get_all_tools(&self) -> Result<Value, Thrown> {
        Ok(self.session()?.all_tools())
    }

    /// The names of the tools declared to the model.
    ///
    /// # Errors
    /// [`STALE`], [`super::NOT_INITIALIZED`] in the factory.
    pub fn get_active_tools(&self) -> Result<Vec<String>, Thrown> {
        Ok(self.session()?.active_tools())
    }

    /// Chooses the declared tools; unknown and hidden names are ignored.
    ///
    /// # Errors
    /// [`STALE`], [`super::NOT_INITIALIZED`] in the factory.
    pub fn set_active_tools(&self, names: &[String]) -> Result<(), Thrown> {
        self.session()?.set_active_tools(names);
        Ok(())
    }

    /// The slash commands as a person types them (pi-host.md 12).
    ///
    /// # Errors
    /// [`STALE`], [`super::NOT_INITIALIZED`] in the factory.
    pub fn get_commands(&self) -> Result<Value, Thrown> {
        let instance = self.active()?;
        instance.session()?;
        Ok(instance.command_list())
    }

    /// Sends a custom message (pi-host.md 7). `trigger` is `triggerTurn`: `None` is "not given".
    ///
    /// # Errors
    /// [`STALE`], [`super::NOT_INITIALIZED`] in the factory.
    pub fn send_message(
        &self,
        message: &Value,
        deliver: Option<Delivery>,
        trigger: Option<bool>,
    ) -> Result<(), Thrown> {
        self.session()?
            .send_custom_message(message, deliver, trigger);
        Ok(())
    }

    /// Sends a prompt in the person's name; while a run is active `deliver` says where it queues.
    ///
    /// # Errors
    /// [`STALE`], [`super::NOT_INITIALIZED`] in the factory.
    pub fn send_user_message(&self, text: &str, deliver: Option<Delivery>) -> Result<(), Thrown> {
        self.session()?.send_user_message(text, deliver);
        Ok(())
    }

    /// Appends a `custom` entry to the session's history; the model never sees it.
    ///
    /// # Errors
    /// [`STALE`], [`super::NOT_INITIALIZED`] in the factory.
    pub fn append_entry(&self, custom_type: &str, data: Option<Value>) -> Result<(), Thrown> {
        self.session()?.append_custom_entry(custom_type, data);
        Ok(())
    }
}

impl Instance {
    /// What `getCommands` and the RPC command list give.
    pub(crate) fn command_list(&self) -> Value {
        let commands = self.commands().into_iter().map(|(name, command, info)| {
            let mut entry = json!({"name": name});
            if let Some(description) = command.description {
                entry["description"] = description.into();
            }
            entry["source"] = "extension".into();
            entry["sourceInfo"] = info;
            entry
        });
        Value::Array(commands.collect())
    }
}
