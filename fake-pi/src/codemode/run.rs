//! One script, from its start to its result.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::WORKERS;
use super::calls::{Calls, Outcome};
use super::output::{self, Piece};
use super::script::{ScriptCall, Scripts, Source, Step};
use super::source::{self, Options};
use crate::tool::{ToolError, ToolOutput, ToolRun};

/// The patience of a script that finds all workers busy.
const WORKER_WAIT: Duration = Duration::from_secs(60);

/// What an abort is called.
const ABORTED: &str = "Script aborted: This operation was aborted";

/// Runs the script of a call.
pub(super) async fn run(run: ToolRun, scripts: &dyn Scripts) -> Result<ToolOutput, ToolError> {
    let started = Instant::now();
    let code = run.input["code"].as_str().unwrap_or_default();
    let options = source::parse(code).map_err(ToolError)?;
    let Some(read) = scripts.read(code) else {
        let text = "the simulated host runs no JavaScript, and nobody said what this script does";
        return Err(ToolError(text.into()));
    };
    let calls = Calls::new(
        run.session.clone(),
        run.call_id.clone(),
        run.updates.clone(),
    );
    calls.publish();
    // The news that it runs leaves before its first call.
    tokio::task::yield_now().await;
    let deadline = options.timeout.map(|timeout| started + timeout);
    let worker = match reserve(&run, started, options).await {
        Ok(worker) => worker,
        Err(reason) => return Ok(not_started(&calls, started, &reason)),
    };
    let mut script = Script {
        calls: &calls,
        values: BTreeMap::new(),
        pieces: Vec::new(),
    };
    let ended = match read {
        Source::Broken(said) => Err(said),
        Source::Script(steps) => tokio::select! {
            biased;
            () = run.abort.cancelled() => Err(ABORTED.to_owned()),
            () = at(deadline) => Err(timed_out(options)),
            ended = script.play(&steps) => ended,
        },
    };
    let pieces = script.pieces;
    calls.end();
    // Calls that were cancelled say so while the engine is stopped.
    tokio::task::yield_now().await;
    drop(worker);
    let error = ended
        .as_ref()
        .err()
        .map(|said| format!("{said}\n\n{}", calls.summary()));
    let mut details = calls.details();
    let mut content = vec![output::header(
        ended.is_ok(),
        started.elapsed().as_secs_f64(),
    )];
    if let Some(text) = output::laid_out(&pieces, error.as_deref()) {
        let folder = run
            .session
            .session()
            .map(|session| session.host.options.temp_dir.clone())
            .unwrap_or_default();
        let (text, file) = output::cut(text, options.most_tokens, &folder);
        content.push(json!({"type": "text", "text": text}));
        if let Some(file) = file {
            details["fullOutputPath"] = file.into();
        }
    }
    Ok(ToolOutput {
        content,
        details: Some(details),
        structured_content: None,
        is_error: ended.is_err(),
        terminate: false,
    })
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn timed_out(options: Options) -> String {
    let ms = options.timeout.unwrap_or_default().as_millis();
    format!("Script timed out: Execution timed out after {ms} ms")
}

/// Waits for a free worker.
async fn reserve(
    run: &ToolRun,
    started: Instant,
    options: Options,
) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, String> {
    let Some(session) = run.session.session() else {
        return Ok(None);
    };
    let limit = options.timeout.unwrap_or(WORKER_WAIT).min(WORKER_WAIT);
    let free = session.host.workers.clone().acquire_owned();
    tokio::select! {
        biased;
        () = run.abort.cancelled() => Err(ABORTED.to_owned()),
        // The host never closes it.
        free = free => Ok(free.ok()),
        () = sleep_until(started + limit) => Err(match options.timeout.filter(|timeout| *timeout <= WORKER_WAIT) {
            Some(_) => format!("{} while waiting for a free codemode worker", timed_out(options)),
            None => format!(
                "No codemode worker became free within {} seconds. All {WORKERS} workers, shared by every session in this \
                 process, are held by other scripts. Retry after they finish.",
                WORKER_WAIT.as_secs()
            ),
        }),
    }
}

fn not_started(calls: &Calls, started: Instant, reason: &str) -> ToolOutput {
    let text = format!("Script error:\n{reason}\n\nThe script did not start.");
    ToolOutput {
        content: vec![
            output::header(false, started.elapsed().as_secs_f64()),
            json!({"type": "text", "text": text}),
        ],
        details: Some(calls.details()),
        structured_content: None,
        is_error: true,
        terminate: false,
    }
}

/// A running script.
struct Script<'a> {
    calls: &'a Calls,
    values: BTreeMap<String, Value>,
    pieces: Vec<Piece>,
}

impl Script<'_> {
    /// Plays the steps, as far as they go.
    ///
    /// # Errors
    /// What is told of the error that ended it.
    async fn play(&mut self, steps: &[Step]) -> Result<(), String> {
        for step in steps {
            match step {
                Step::Call(call) => {
                    let outcome = self.calls.begin(call).await?;
                    let value = value(call, outcome).await;
                    let value = value.map_err(|message| rejected(&message))?;
                    self.keep(call, value);
                }
                Step::Together { calls, settled } => self.together(calls, *settled).await?,
                Step::Print(text) => self.pieces.push(Piece::Text(text.clone())),
                Step::Show(name) => {
                    let text = output::text_of(&self.value(name));
                    self.pieces.push(Piece::Text(text));
                }
                Step::Log(text) => self.pieces.push(Piece::Console(text.clone())),
                Step::Give(names) => {
                    let given: Map<String, Value> = names
                        .iter()
                        .map(|name| (name.clone(), self.value(name)))
                        .collect();
                    let text = Value::Object(given).to_string();
                    self.pieces.push(Piece::Text(text));
                    return Ok(());
                }
                Step::Throw(said) => return Err(said.clone()),
            }
        }
        Ok(())
    }

    async fn together(&mut self, calls: &[ScriptCall], settled: bool) -> Result<(), String> {
        let mut begun = Vec::new();
        for call in calls {
            let outcome = self.calls.begin(call).await?;
            begun.push(value(call, outcome));
        }
        let values = if settled {
            // An error has no members of its own that JSON shows.
            let told = |outcome: Outcome| match outcome {
                Ok(value) => json!({"status": "fulfilled", "value": value}),
                Err(_) => json!({"status": "rejected", "reason": {}}),
            };
            join_all(begun).await.into_iter().map(told).collect()
        } else {
            let all = try_join_all(begun).await;
            all.map_err(|message| rejected(&message))?
        };
        for (call, value) in calls.iter().zip(values) {
            self.keep(call, value);
        }
        Ok(())
    }

    fn keep(&mut self, call: &ScriptCall, value: Value) {
        if let Some(name) = &call.name {
            self.values.insert(name.clone(), value);
        }
    }

    fn value(&self, name: &str) -> Value {
        self.values.get(name).cloned().unwrap_or_default()
    }
}

/// What a call's variable takes.
async fn value(call: &ScriptCall, outcome: oneshot::Receiver<Outcome>) -> Outcome {
    let outcome = match outcome.await {
        Ok(outcome) => outcome,
        // The call went with its host: nothing is heard of the script either.
        Err(_) => std::future::pending().await,
    };
    match outcome {
        Err(message) if call.catches => Ok(message.into()),
        outcome => outcome,
    }
}

/// What is told of a rejection that nobody caught: the engine knows no place for it.
fn rejected(message: &str) -> String {
    format!("Error: {message}")
}
