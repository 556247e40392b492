//! Servers that are registered, changed or unregistered while a session runs (pi-host.md 3.3, 3.5).

use std::sync::Arc;

use futures::future::{BoxFuture, join_all};

use super::link::Link;
use super::manager::{Manager, Server};
use crate::extension::lock;
use crate::instance::Ctx;
use crate::mcp::{self, naming};

impl Manager {
    /// The servers that extensions registered, without those that `mcp.json` names too, which are noted.
    pub(super) fn registered(&self) -> Vec<Arc<Server>> {
        let listed = self.pi.get_mcp_servers().unwrap_or_default();
        let mut inner = lock(&self.inner);
        let mut servers = Vec::new();
        let mut overridden = Vec::new();
        for registration in listed.as_array().into_iter().flatten() {
            let name = registration["name"].as_str().unwrap_or_default();
            let path = registration["extensionPath"].as_str().unwrap_or_default();
            let namespace = naming::namespace(name);
            let configured = inner
                .configured
                .iter()
                .find(|server| naming::namespace(&server.config.name) == namespace);
            if let Some(configured) = configured {
                overridden.push(format!(
                    "\"{name}\" registered by {path} is overridden by \"{}\" in {}",
                    configured.config.name, configured.source
                ));
                continue;
            }
            // A stored registration passed this check once.
            if let Ok(config) = mcp::validate(&registration["name"], &registration["config"], path)
            {
                servers.push(Server::new(config, true));
            }
        }
        inner.overridden = overridden;
        servers
    }

    /// `mcp_servers_change`: stops what is gone or changed, connects what is new. Before `session_start` nothing
    /// happens: that handler reads the registrations itself.
    pub(super) fn change(self: Arc<Self>, ctx: Ctx) -> BoxFuture<'static, ()> {
        let life = lock(&self.inner)
            .life
            .clone()
            .filter(|life| !life.is_cancelled());
        let Some(life) = life else {
            return Box::pin(async {});
        };
        let next = self.registered();
        let same = |one: &Server, other: &Server| {
            one.config.name == other.config.name && one.config.json == other.config.json
        };
        let removed: Vec<Arc<Server>> = {
            let mut inner = lock(&self.inner);
            let (kept, removed) =
                std::mem::take(&mut inner.servers)
                    .into_iter()
                    .partition(|server| {
                        !server.is_registered || next.iter().any(|next| same(server, next))
                    });
            inner.servers = kept;
            removed
        };
        for server in &removed {
            self.hide_tools(&server.config.name);
        }
        let added: Vec<Arc<Server>> = {
            let mut inner = lock(&self.inner);
            let known = |server: &Arc<Server>| {
                inner
                    .servers
                    .iter()
                    .any(|known| known.config.name == server.config.name)
            };
            let added: Vec<Arc<Server>> =
                next.into_iter().filter(|server| !known(server)).collect();
            inner.servers.extend(added.iter().cloned());
            added
        };
        self.activate_reaching(&ctx);
        Box::pin(async move {
            let closing: Vec<Arc<Link>> =
                removed.iter().filter_map(|server| server.link()).collect();
            join_all(closing.iter().map(|link| link.close())).await;
            let connecting: Vec<Arc<Server>> = added
                .into_iter()
                .filter(|server| server.config.enabled)
                .collect();
            if life.is_cancelled() || connecting.is_empty() {
                return;
            }
            join_all(connecting.iter().map(|server| self.connect(server))).await;
            if life.is_cancelled() {
                let links: Vec<Arc<Link>> = connecting
                    .iter()
                    .filter_map(|server| server.link())
                    .collect();
                join_all(links.iter().map(|link| link.close())).await;
                return;
            }
            self.report_problems(&ctx, Some(&connecting));
        })
    }
}
