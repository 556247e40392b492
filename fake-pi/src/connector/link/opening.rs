//! How a link is opened: a process is started or an address taken up, the handshake is tried, and over HTTP tried again
//! after a failure that may pass (pi-host.md 4.6).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Link, Live, Peer, Process, RETRIES, State, with_stderr};
use crate::extension::lock;
use crate::mcp::environment::{self, Surroundings};
use crate::mcp::failure::Failure;
use crate::mcp::http::HttpSession;
use crate::mcp::{ClientOptions, Connection, launch};

impl Link {
    pub(super) async fn open(self: Arc<Self>) -> Result<Connection, String> {
        let retries: &[Duration] = match self.config.url {
            Some(_) => &RETRIES,
            None => &[],
        };
        let mut retries = retries.iter();
        loop {
            lock(&self.inner).state = State::Connecting;
            let (failure, stderr) = match self.try_open().await {
                Ok(live) => return Ok(self.opened(live)),
                Err(failed) => failed,
            };
            if let (true, false, Some(delay)) = (
                failure.is_transient(),
                self.shutdown.is_cancelled(),
                retries.next(),
            ) {
                tokio::select! {
                    biased;
                    () = self.shutdown.cancelled() => {}
                    () = sleep(*delay) => continue,
                }
            }
            return Err(self.failed(&failure, stderr));
        }
    }

    /// One attempt; a failed one leaves nothing behind, and tells what the server wrote last.
    async fn try_open(&self) -> Result<Live, (Failure, Option<String>)> {
        let started = self.start().await;
        let (stream, peer) = started.map_err(|failure| (failure, None))?;
        let options = self.client_options();
        let opening = async {
            match (stream, &peer) {
                (Some(stream), _) => Connection::open(stream, options).await,
                (None, Peer::Http(session)) => Connection::open_http(session, options).await,
                (None, Peer::Process(_)) => Err("MCP connection closed".into()),
            }
        };
        let opened = tokio::select! {
            biased;
            () = self.shutdown.cancelled() => Err("MCP connection closed".into()),
            opened = opening => opened,
        };
        match opened {
            Ok(connection) => Ok(Live {
                connection,
                peer,
                mark: Arc::default(),
            }),
            Err(failure) => {
                // A process's input is closed by now; only when it is gone its last words are complete.
                self.stop(&peer).await;
                Err((failure, peer.stderr()))
            }
        }
    }

    fn failed(&self, failure: &Failure, stderr: Option<String>) -> String {
        let is_closed = self.shutdown.is_cancelled();
        let mut inner = lock(&self.inner);
        if self.wants_sign_in(failure) && !is_closed {
            inner.state = State::NeedsAuth;
            inner.error = None;
            return self.sign_in();
        }
        let error = with_stderr(failure.text.clone(), stderr);
        inner.state = if is_closed {
            State::Closed
        } else {
            State::Failed
        };
        inner.error = Some(error.clone());
        format!(
            "MCP server \"{}\" failed to connect: {error}",
            self.config.name
        )
    }

    /// Starts the server, or takes up its address.
    async fn start(&self) -> Result<(Option<Box<dyn launch::Duplex>>, Peer), Failure> {
        let manager = self.manager.upgrade().ok_or("MCP connection closed")?;
        let options = &manager.host.options;
        let surroundings = Surroundings {
            cwd: manager.cwd(),
            home: options.home.clone(),
            variables: options.variables.clone(),
        };
        if let Some(url) = &self.config.url {
            let launcher = options.servers.as_ref();
            let headers = environment::headers(&self.config, &surroundings, launcher).await?;
            let session = HttpSession::new(options.http.clone(), url, &headers)?;
            manager.host.server_up(&self.config.name, None);
            return Ok((None, Peer::Http(session)));
        }
        let launch =
            environment::prepare(&self.config, &surroundings, options.servers.as_ref()).await?;
        let launch = launch.ok_or("MCP connection closed")?;
        let started = options.servers.launch(launch).await?;
        manager
            .host
            .server_up(&self.config.name, Some(started.control.clone()));
        let process = Process {
            control: started.control,
            stderr: started.stderr,
        };
        Ok((Some(started.stream), Peer::Process(process)))
    }

    fn client_options(&self) -> ClientOptions {
        let manager = self.manager.upgrade();
        let (cwd, version, temp_dir) = manager.map_or_else(Default::default, |manager| {
            let options = &manager.host.options;
            (
                manager.cwd(),
                options.version.to_string(),
                options.temp_dir.clone(),
            )
        });
        ClientOptions {
            server: self.config.name.clone(),
            cwd,
            pi_version: version,
            timeout: self.config.request_timeout(),
            temp_dir,
        }
    }
}
