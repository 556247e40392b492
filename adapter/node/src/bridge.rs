//! The class that JavaScript sees: one method for each of Pi's events.
#![expect(
    clippy::needless_pass_by_value,
    reason = "an argument from JavaScript arrives owned, as a String or a scoped handle"
)]

use std::future::Future;
use std::sync::{Arc, LazyLock};

use adapter::child::{ChildHook, Turns};
use adapter::log::FileLog;
use adapter::{Caps, Environment, Instance, Ports, Registration, ThreadWork, WriteTable};
use futures::FutureExt;
use napi::bindgen_prelude::{FnArgs, Function, PromiseRaw, within_runtime_if_available};
use napi::{Env, Error, Result};
use napi_derive::napi;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::abort::AbortHandle;
use crate::facts::{CallText, ProcessText, ResultText, SessionText, TurnText, UserBashText};
use crate::guard::{self, Guard};
use crate::host::{NodeHost, Notice, Question};
use crate::patch::{Difference, Original};
use crate::text;

/// The files being written by calls in flight, of all instances of the process (E3).
///
/// It must live here: TypeScript is evaluated anew for each session, so that a table in a module of it would not be
/// shared (portal.md D5). The core gets it handed.
static WRITES: LazyLock<Arc<WriteTable>> = LazyLock::new(Arc::default);

/// The turns that the hooks of all instances take, since they share the processors.
static TURNS: LazyLock<Turns> = LazyLock::new(Turns::default);

/// Tells Pi of an MCP server: takes its name and its config as JSON, answers why Pi refused, if it did.
type Register<'a> = Function<'a, FnArgs<(String, String)>, Option<String>>;

/// One instance of the extension. Every text in and out is JSON.
#[napi]
pub struct Adapter {
    instance: Arc<Instance>,
    host: Arc<NodeHost>,
    guard: Guard,
}

#[napi]
impl Adapter {
    /// Builds an instance.
    ///
    /// `environment` is `{vars, home?, cwd?}`. The callbacks run on JavaScript's thread and must not throw: `tools` answers
    /// `[{name, exposure?}]`, `custom_messages` takes a `customType` and answers the list of contents, both `null` once
    /// the session was replaced; `notify` takes a message and a level.
    ///
    /// # Errors
    /// Where the environment cannot be read or Node refuses the callbacks.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        environment: String,
        #[napi(ts_arg_type = "() => string | null")] tools: Question<'_>,
        #[napi(ts_arg_type = "(customType: string) => string | null")] custom_messages: Question<
            '_,
        >,
        #[napi(ts_arg_type = "(text: string, level: Level) => void")] notify: Notice<'_>,
    ) -> Result<Self> {
        guard::silence();
        let environment: Environment = read::<ProcessText>(&environment)?.into();
        #[cfg(feature = "panic-injection")]
        guard::arm(&environment);
        guard::injected("new");
        let log = Arc::new(FileLog::open(&environment));
        let guard = Guard::new(log.clone());
        let host = Arc::new(NodeHost::new(&tools, &custom_messages, &notify)?);
        let ports = Ports {
            host: host.clone(),
            hook: Arc::new(ChildHook::new(TURNS.clone())),
            writes: WRITES.clone(),
            log,
            work: Arc::new(ThreadWork),
        };
        Ok(Self {
            instance: Instance::new(environment, ports, Caps::default()),
            host,
            guard,
        })
    }

    /// `session_start`. Calls `register` before it returns, or not at all (R1).
    ///
    /// # Errors
    /// Where the facts cannot be read; nothing was done then.
    #[napi(catch_unwind)]
    pub fn session_start(
        &self,
        facts: String,
        #[napi(ts_arg_type = "(name: string, config: string) => string | null")] register: Register<
            '_,
        >,
    ) -> Result<()> {
        let facts = read::<SessionText>(&facts)?.into();
        self.guard.run("sessionStart", || {
            self.instance
                .session_start(&facts, &mut |registration| tell(&register, registration));
        });
        Ok(())
    }

    /// `before_agent_start`. Resolves to the message to store, or to `null`; never rejects.
    ///
    /// # Errors
    /// Where the facts cannot be read; nothing was done then.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn before_agent_start<'env>(
        &self,
        env: &'env Env,
        facts: String,
        #[napi(ts_arg_type = "AbortHandle | null")] abort: Option<&AbortHandle>,
    ) -> Result<PromiseRaw<'env, Option<String>>> {
        let facts = read::<TurnText>(&facts)?.facts(token(abort));
        let instance = self.instance.clone();
        self.promise(env, "beforeAgentStart", async move {
            json(&instance.before_agent_start(facts).await?)
        })
    }

    /// `tool_call`. Resolves to the reason of a block, or to `null`; never rejects.
    ///
    /// # Errors
    /// Where the facts cannot be read; nothing was done then.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn tool_call<'env>(
        &self,
        env: &'env Env,
        facts: String,
        #[napi(ts_arg_type = "AbortHandle | null")] abort: Option<&AbortHandle>,
    ) -> Result<PromiseRaw<'env, Option<String>>> {
        let facts = read::<CallText>(&facts)?.facts(token(abort));
        let instance = self.instance.clone();
        self.promise(env, "toolCall", async move {
            Some(instance.tool_call(facts).await?.reason)
        })
    }

    /// `tool_result`. Resolves to a [`Difference`], or to `null`; never rejects.
    ///
    /// # Errors
    /// Where the facts cannot be read; nothing was done then.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn tool_result<'env>(
        &self,
        env: &'env Env,
        facts: String,
        #[napi(ts_arg_type = "AbortHandle | null")] abort: Option<&AbortHandle>,
    ) -> Result<PromiseRaw<'env, Option<String>>> {
        let text = read::<ResultText>(&facts)?;
        let original = Original {
            content: text.content.clone(),
            details: text.details.clone(),
            structured_content: text.structured_content.clone(),
        };
        let facts = text.facts(token(abort));
        let instance = self.instance.clone();
        self.promise(env, "toolResult", async move {
            let patch = instance.tool_result(facts).await?;
            json(&Difference::new(&original, patch))
        })
    }

    /// `user_bash`. Takes `{cwd, results?}`, the number of `bashExecution` messages that the session holds.
    ///
    /// # Errors
    /// Where the facts cannot be read; nothing was done then.
    #[napi(catch_unwind)]
    pub fn user_bash(&self, facts: String) -> Result<()> {
        let facts = read::<UserBashText>(&facts)?.into();
        self.guard
            .run("userBash", || self.instance.user_bash(&facts));
        Ok(())
    }

    /// `turn_end`.
    #[napi(catch_unwind)]
    pub fn turn_end(&self) {
        self.guard.run("turnEnd", || self.instance.turn_end());
    }

    /// `agent_settled`.
    #[napi(catch_unwind)]
    pub fn agent_settled(&self) {
        self.guard
            .run("agentSettled", || self.instance.agent_settled());
    }

    /// `session_shutdown`. Every pending promise of this instance settles, and no callback is called any more (R11).
    #[napi(catch_unwind)]
    pub fn session_shutdown(&self) {
        self.guard
            .run("sessionShutdown", || self.instance.session_shutdown());
        // Guarded by itself: the end of an instance comes here too, where nothing else catches, and whatever happened above
        // the callbacks are to go.
        self.guard.run("release", || self.host.release());
    }
}

impl Drop for Adapter {
    /// An instance whose host ended without a word, as an embedder or a worker thread may (pi-host.md 5), leaves no child.
    fn drop(&mut self) {
        self.session_shutdown();
    }
}

impl Adapter {
    /// A promise of what `work` answers. Node is kept alive for as long as it is pending, and no longer.
    ///
    /// The first step of the work is taken here, on JavaScript's thread: most results need no more than that, and a hook
    /// child that waits has its question before any other thread is woken. What blocks is kept from here by its port.
    fn promise<'env>(
        &self,
        env: &'env Env,
        entry: &'static str,
        work: impl Future<Output = Option<String>> + Send + 'static,
    ) -> Result<PromiseRaw<'env, Option<String>>> {
        let mut answer = Box::pin(self.guard.clone().wait(entry, work));
        match within_runtime_if_available(|| answer.as_mut().now_or_never()) {
            Some(answer) => PromiseRaw::resolve(env, answer),
            None => env.spawn_future(async move { Ok(answer.await) }),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(facts: &str) -> Result<T> {
    text::read(facts).map_err(Error::from_reason)
}

fn json(answer: &impl Serialize) -> Option<String> {
    serde_json::to_string(answer).ok()
}

fn token(abort: Option<&AbortHandle>) -> Option<CancellationToken> {
    abort.map(AbortHandle::token)
}

fn tell(register: &Register<'_>, registration: &Registration) -> std::result::Result<(), String> {
    let config = serde_json::to_string(registration).map_err(|error| error.to_string())?;
    match register.call((registration.name.to_owned(), config).into()) {
        Ok(None) => Ok(()),
        Ok(Some(refusal)) => Err(refusal),
        Err(error) => Err(error.reason.clone()),
    }
}
