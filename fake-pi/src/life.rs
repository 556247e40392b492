//! The life of a host: start, what it is driven by, end (pi-host.md 1.1, 4.9, 5).

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use crate::fault::Fault;
use crate::host::{Exit, Input, Shared, Signal};
use crate::instance::Instance;
use crate::mode::Mode;
use crate::rpc::{commands, new_history, replace};
use crate::session::{Prompt, Session};

/// Turns of the runtime that ended tasks get before they count as left over.
const TURNS_TO_END: usize = 16;

/// How a life came to its end.
enum Ending {
    /// Shut down in order: `session_shutdown` ran and servers were stopped.
    Orderly(i32),
    /// The process ended where it was: by a second signal, or because its program said so.
    Exited(i32),
    /// A signal killed the process, which had no chance to do anything.
    Killed(Signal),
}

/// Lives from the first factory to the end.
pub(crate) async fn run(
    host: Arc<Shared>,
    mut input: UnboundedReceiver<Input>,
    end: watch::Sender<Option<Exit>>,
) {
    let ending = match Instance::load(&host, &host.options.cwd).await {
        Ok(instance) => {
            let session = Session::new(&host, new_history(&host, &host.options.cwd), &instance);
            host.set_session(&session);
            if host.options.mode.takes_commands() {
                by_commands(&host, &session, &mut input).await
            } else {
                by_prompts(&host, &session, &mut input).await
            }
        }
        Err(failure) => {
            host.warn(format!("Error: {}", failure.text()));
            host.warn("Hint: Start without extensions using \"pi -ne\".".to_owned());
            Ending::Orderly(1)
        }
    };
    let code = match ending {
        Ending::Orderly(0) if host.makes(Fault::ExitsWithOne) => 1,
        Ending::Orderly(code) => code,
        Ending::Exited(code) => {
            // Whatever still waits dies with the process; servers are told to end.
            host.stop_tasks();
            host.terminate_servers();
            code
        }
        Ending::Killed(signal) => {
            // Servers see their input end, since nobody holds it any more, and nothing else.
            host.forget_servers();
            if let Some(session) = host.session() {
                session.instance().let_go();
            }
            host.end();
            -signal.number()
        }
    };
    // Tasks that were just told to end get the turns they need to notice; what is still there then is left over.
    for _ in 0..TURNS_TO_END {
        tokio::task::yield_now().await;
    }
    end.send_replace(Some(host.leftovers(code)));
    host.end();
}

/// Takes commands until the input ends or a signal comes.
async fn by_commands(
    host: &Arc<Shared>,
    session: &Arc<Session>,
    input: &mut UnboundedReceiver<Input>,
) -> Ending {
    let start = json!({"type": "session_start", "reason": "startup"});
    replace::bind(session, start).await;
    host.command_ends();
    let (code, signals) = loop {
        match input.recv().await {
            // Each line is handled beside the others, for the session that is the client's as it is read.
            Some(Input::Command(command)) => commands::dispatch(host, command),
            Some(Input::Signal(Signal::Interrupt)) => return Ending::Killed(Signal::Interrupt),
            Some(Input::Signal(signal)) => break (signal.exit_code(), 1),
            Some(Input::End) | None => break (0, 0),
        }
    };
    if let Mode::Embedded { .. } = host.options.mode {
        // A program disposes of its session, which tells no extension, and ends.
        session_of(host, session).dispose();
        return Ending::Exited(code);
    }
    let down = shut_down(host);
    tokio::select! {
        biased;
        () = down => Ending::Orderly(code),
        ending = second_signal(input, signals) => ending,
    }
}

/// Works through the prompts that were arguments (`-p`, `--mode json`).
async fn by_prompts(
    host: &Arc<Shared>,
    session: &Arc<Session>,
    input: &mut UnboundedReceiver<Input>,
) -> Ending {
    let (code, signals) = tokio::select! {
        biased;
        code = answer_prompts(host, session) => (code, 0),
        signal = next_signal(input) => match signal {
            Signal::Interrupt => return Ending::Killed(signal),
            Signal::Terminate | Signal::HangUp => (signal.exit_code(), 1),
        },
    };
    tokio::select! {
        biased;
        () = shut_down(host) => Ending::Orderly(code),
        ending = second_signal(input, signals) => ending,
    }
}

/// Gives the exit code.
async fn answer_prompts(host: &Arc<Shared>, session: &Arc<Session>) -> i32 {
    let prints_events = host.options.mode == Mode::Json;
    if prints_events {
        host.output(session.history().header());
    }
    replace::bind(
        session,
        json!({"type": "session_start", "reason": "startup"}),
    )
    .await;
    for text in &host.options.prompts {
        let prompt = Prompt {
            text: text.clone(),
            source: host.options.mode.source(),
            commands: true,
            ..Prompt::default()
        };
        // A command may have replaced the session.
        if let Err(error) = session_of(host, session)
            .prompt(prompt, Box::new(|_| {}))
            .await
        {
            host.warn(error);
            return 1;
        }
    }
    if prints_events {
        return 0;
    }
    print_answer(host, &session_of(host, session))
}

/// Prints the last answer, or why there is none; gives the exit code.
fn print_answer(host: &Shared, session: &Session) -> i32 {
    let messages = session.messages();
    let Some(answer) = messages
        .last()
        .filter(|message| message["role"] == "assistant")
    else {
        return 0;
    };
    let stopped = answer["stopReason"].as_str().unwrap_or_default();
    if matches!(stopped, "error" | "aborted") {
        let cause = answer["errorMessage"]
            .as_str()
            .filter(|cause| !cause.is_empty());
        host.warn(cause.map_or_else(|| format!("Request {stopped}"), str::to_owned));
        return 1;
    }
    let parts = answer["content"].as_array().into_iter().flatten();
    for text in parts.filter_map(|part| part["text"].as_str()) {
        host.print(text);
    }
    if stopped == "length" {
        host.warn("Response was truncated: the model reached its output token limit.".to_owned());
        return 1;
    }
    0
}

/// The current session.
fn session_of(host: &Shared, first: &Arc<Session>) -> Arc<Session> {
    host.session().unwrap_or_else(|| first.clone())
}

/// The end in order: the run is aborted, `session_shutdown` runs; the client hears nothing of it (pi-host.md 4.9).
async fn shut_down(host: &Shared) {
    if let Some(session) = host.client_session() {
        session.unsubscribe();
    }
    if let Some(session) = host.session() {
        session.abort().await;
        session
            .instance()
            .emit(json!({"type": "session_shutdown", "reason": "quit"}))
            .await;
        session.dispose();
    }
}

/// The next signal; what else comes in is not heard.
async fn next_signal(input: &mut UnboundedReceiver<Input>) -> Signal {
    loop {
        match input.recv().await {
            Some(Input::Signal(signal)) => return signal,
            Some(Input::Command(_) | Input::End) => {}
            None => std::future::pending().await,
        }
    }
}

/// What ends a host that is shutting down already: a second signal, or one that cannot be handled.
async fn second_signal(input: &mut UnboundedReceiver<Input>, mut seen: u32) -> Ending {
    loop {
        let signal = next_signal(input).await;
        if signal == Signal::Interrupt {
            return Ending::Killed(signal);
        }
        seen += 1;
        if seen > 1 {
            return Ending::Exited(signal.exit_code());
        }
    }
}
