//! What an extension asks a person: `ctx.ui.confirm`, `select` and `input` (Pi's page on the extension UI of RPC).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::Ctx;
use crate::extension::Thrown;

impl Ctx {
    /// Asks for a yes or a no. Without an answer, or where nobody can be asked, it is a no.
    ///
    /// # Errors
    /// [`super::STALE`].
    pub async fn confirm(
        &self,
        title: &str,
        message: &str,
        limit: Option<Duration>,
    ) -> Result<bool, Thrown> {
        let asked = json!({"method": "confirm", "title": title, "message": message});
        let answer = self.ask(asked, limit).await?;
        Ok(answer["confirmed"] == true)
    }

    /// Asks for one of some choices; none without an answer.
    ///
    /// # Errors
    /// [`super::STALE`].
    pub async fn select(
        &self,
        title: &str,
        options: &[String],
        limit: Option<Duration>,
    ) -> Result<Option<String>, Thrown> {
        let asked = json!({"method": "select", "title": title, "options": options});
        Ok(value(&self.ask(asked, limit).await?))
    }

    /// Asks for a line of text; none without an answer.
    ///
    /// # Errors
    /// [`super::STALE`].
    pub async fn input(
        &self,
        title: &str,
        placeholder: Option<&str>,
        limit: Option<Duration>,
    ) -> Result<Option<String>, Thrown> {
        let mut asked = json!({"method": "input", "title": title});
        if let Some(placeholder) = placeholder {
            asked["placeholder"] = placeholder.into();
        }
        Ok(value(&self.ask(asked, limit).await?))
    }

    /// Passes a question on and waits. The answer has no members when there was none in time, or nobody to ask. The
    /// events that tell other extensions of a question (`ui_prompt_start`, `ui_prompt_end`) are not modelled.
    async fn ask(&self, question: Value, limit: Option<Duration>) -> Result<Value, Thrown> {
        let instance = self.active()?;
        if !self.has_ui()? {
            return Ok(Value::Null);
        }
        let host = instance.host.clone();
        let (id, answer) = host.expect_answer();
        let mut record = json!({"type": "extension_ui_request", "id": id});
        for (name, member) in question.as_object().into_iter().flatten() {
            record[name] = member.clone();
        }
        if let Some(limit) = limit {
            record["timeout"] = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).into();
        }
        host.output(record);
        let answer = match limit {
            Some(limit) => timeout(limit, answer).await.ok(),
            None => Some(answer.await),
        };
        host.expect_no_answer(&id);
        let answer = answer.and_then(Result::ok).unwrap_or_default();
        let waved_away = answer["cancelled"] == true;
        Ok(if waved_away { Value::Null } else { answer })
    }

    /// Asks Pi to leave as soon as nothing is under way. Only RPC mode and the terminal do.
    ///
    /// # Errors
    /// [`super::STALE`].
    pub fn shutdown(&self) -> Result<(), Thrown> {
        self.active()?.host.request_shutdown();
        Ok(())
    }
}

fn value(answer: &Value) -> Option<String> {
    answer["value"].as_str().map(str::to_owned)
}
