//! Pi, as the core reaches it: callbacks that run on JavaScript's thread.

use std::sync::{Arc, Mutex, PoisonError};

use adapter::{Host, Level, ToolFact};
use futures::future::BoxFuture;
use napi::bindgen_prelude::{FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Result, Status};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::facts::ToolText;
use crate::text;

/// A callback that may be called from any thread and never keeps Node alive (`Weak`).
type Weak<Args, Answer> = ThreadsafeFunction<Args, Answer, Args, Status, false, true>;

/// Takes a question's argument, answers JSON text, or `null` once the session was replaced (R10).
pub type Question<'a> = Function<'a, String, Option<String>>;
/// Takes a message and its level.
pub type Notice<'a> = Function<'a, FnArgs<(String, String)>, ()>;

struct Callbacks {
    tools: Weak<String, Option<String>>,
    custom_messages: Weak<String, Option<String>>,
    notify: Weak<FnArgs<(String, String)>, ()>,
}

/// Pi behind three callbacks, until [`NodeHost::release`].
pub struct NodeHost {
    callbacks: Mutex<Option<Arc<Callbacks>>>,
}

impl NodeHost {
    /// Takes the callbacks of one instance.
    ///
    /// # Errors
    /// Where Node cannot make them callable from other threads.
    pub fn new(
        tools: &Question<'_>,
        custom_messages: &Question<'_>,
        notify: &Notice<'_>,
    ) -> Result<Self> {
        let callbacks = Callbacks {
            tools: weak_question(tools)?,
            custom_messages: weak_question(custom_messages)?,
            notify: notify
                .build_threadsafe_function()
                .weak::<true>()
                .callee_handled::<false>()
                .build()?,
        };
        Ok(Self {
            callbacks: Mutex::new(Some(Arc::new(callbacks))),
        })
    }

    /// Lets go of the callbacks. They hold Pi's objects of the session, which hold the handlers, which hold the
    /// instance: without this the circle would keep each session that was replaced in memory.
    pub fn release(&self) {
        let released = self.lock().take();
        drop(released);
    }

    fn callbacks(&self) -> Option<Arc<Callbacks>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Callbacks>>> {
        // Nothing that could panic runs under the lock, and an `Option` cannot be half written.
        self.callbacks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn weak_question(question: &Question<'_>) -> Result<Weak<String, Option<String>>> {
    question
        .build_threadsafe_function()
        .weak::<true>()
        .callee_handled::<false>()
        .build()
}

/// Asks on JavaScript's thread. An exception there, and an answer that cannot be read, are no answer.
async fn ask<T: DeserializeOwned>(
    question: &Weak<String, Option<String>>,
    argument: String,
) -> Option<T> {
    let answer = question.call_async_catch(argument).await.ok()??;
    text::read(&answer).ok()
}

impl Host for NodeHost {
    fn tools(&self) -> BoxFuture<'static, Option<Vec<ToolFact>>> {
        let callbacks = self.callbacks();
        Box::pin(async move {
            let tools: Vec<ToolText> = ask(&callbacks?.tools, String::new()).await?;
            Some(tools.into_iter().map(ToolFact::from).collect())
        })
    }

    fn custom_messages(&self, custom_type: &'static str) -> BoxFuture<'static, Option<Vec<Value>>> {
        let callbacks = self.callbacks();
        Box::pin(async move { ask(&callbacks?.custom_messages, custom_type.to_owned()).await })
    }

    fn notify(&self, message: &str, level: Level) {
        if let Some(callbacks) = self.callbacks() {
            let line = (message.to_owned(), level.as_str().to_owned()).into();
            // The result is taken, or an exception in JavaScript would end the process. A host that is closing shows
            // no notice.
            let _status = callbacks.notify.call_with_return_value(
                line,
                ThreadsafeFunctionCallMode::NonBlocking,
                |_shown, _env| Ok(()),
            );
        }
    }
}
