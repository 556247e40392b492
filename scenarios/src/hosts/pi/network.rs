//! The case's HTTP servers on loopback ports, for the real Pi.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::case::Case;
use crate::hosts::http::{HttpServers, PATH};

/// Ports that are taken, and not yet served.
pub struct Ports(BTreeMap<String, (TcpListener, u16)>);

impl Ports {
    /// Takes a free port for each server of a case.
    ///
    /// # Errors
    /// When the system gives none.
    pub async fn take(case: &Case) -> io::Result<Self> {
        let mut ports = BTreeMap::new();
        for name in case.http.keys() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let port = listener.local_addr()?.port();
            ports.insert(name.clone(), (listener, port));
        }
        Ok(Self(ports))
    }

    /// The servers' addresses.
    pub fn addresses(&self) -> BTreeMap<String, String> {
        let address = |(name, (_, port)): (&String, &(TcpListener, u16))| {
            (name.clone(), format!("http://127.0.0.1:{port}{PATH}"))
        };
        self.0.iter().map(address).collect()
    }

    /// Serves until the result is dropped.
    pub fn serve(self, servers: &HttpServers) -> Served {
        let serve = |(name, (listener, _)): (String, (TcpListener, u16))| {
            let router = servers.router(&name)?;
            Some(tokio::spawn(async move {
                // A connection's own error is that connection's.
                let _ = axum::serve(listener, router).await;
            }))
        };
        Served {
            tasks: self.0.into_iter().filter_map(serve).collect(),
            _servers: servers.clone(),
        }
    }
}

/// Servers that are being served; they end when this is dropped.
pub struct Served {
    tasks: Vec<JoinHandle<()>>,
    _servers: HttpServers,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
