//! The simulated Pi as a host: one thread, virtual time, the same trace every time.

mod gortex;
mod network;
mod ours;
mod recording;
mod scripted;

use std::sync::Arc;
use std::time::Duration;

use adapter::log::FileLog;
use adapter::{Environment, WriteTable};
use fake_gortex::{JournalEntry, Script, State};
use fake_pi::{Extension, Fault, Host, HostOptions, Model, ModelReply, Version};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use self::gortex::{Installation, Ready};
use self::network::Network;
use self::ours::Ours;
use self::recording::{By, Recording};
use self::scripted::{Scripted, Sight};
use super::folder::CaseFolder;
use super::http::HttpServers;
use super::model::ScriptedModel;
use super::person::{Left, Line};
use super::script::CaseScripts;
use super::{PlayProblem, Unfinished, person};
use crate::case::host::{Place, Queueing};
use crate::case::person::Signal;
use crate::case::{Case, Connector, Mode};
use crate::trace::recorder::Recorder;
use crate::trace::{Header, Lane, Trace};

/// As what the simulated Pi is played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The seed of its random choices.
    pub seed: u64,
    /// The version that it models.
    pub version: Version,
    /// The mistake that it makes; set by nothing but the proof that mistakes are noticed.
    pub fault: Option<Fault>,
}

impl Options {
    /// The same, but for the version.
    #[must_use]
    pub fn of(self, version: Version) -> Self {
        Self { version, ..self }
    }
}

/// Plays a case on the simulated Pi.
///
/// # Errors
/// When the host ends in the middle or hangs, or the case's folder fails; with what was recorded until then.
pub fn play(name: &str, case: &Case, options: &Options) -> Result<Trace, Box<Unfinished>> {
    let folder = CaseFolder::lay_out(case, None, network::addresses(case))?;
    let runtime = fake_pi::runtime(options.seed)?;
    let header = Header {
        trace: 1,
        case: name.into(),
        host: "sim".into(),
        pi: options.version.to_string(),
        seed: Some(options.seed),
    };
    let trace = runtime.block_on(async {
        let recorder = Recorder::new(folder.placeholders());
        let ended = run(case, &folder, &recorder, options).await;
        super::finish(header, &recorder, ended)
    })?;
    drop(runtime);
    folder.remove()?;
    Ok(trace)
}

async fn run(
    case: &Case,
    folder: &CaseFolder,
    recorder: &Recorder,
    played_as: &Options,
) -> Result<(), PlayProblem> {
    let writes = Arc::new(WriteTable::default());
    let (options, gortex) = options(case, folder, recorder, &writes, played_as);
    let mut host = Connection(Host::start(options));
    let end = match person::play(case, &folder.stored(), &mut host, recorder).await? {
        Left::Done => host.0.close().await,
        Left::Ends => host.0.end().await,
    };
    person::listen_to_the_end(case.host.mode, &mut host, recorder).await;
    gortex.host_died().await;
    super::record_stdout(recorder, &end.stdout);
    super::record_stored(recorder, case.host.mode, &host.0.stored_sessions());
    let mut leftovers = end.leftover_tasks;
    leftovers.extend(end.leftover_servers);
    if end.hung {
        leftovers.push("a handler that never settled".into());
    }
    // What only the simulated host can look into: a claim that outlives its call spoils the diffs of later ones (E6).
    leftovers.extend((0..writes.in_flight()).map(|_| "a claim on a file".to_owned()));
    super::record_log(recorder, &folder.log());
    recorder.record(
        Lane::Disk,
        "end",
        json!({ "files": CaseFolder::texts(&folder.project()) }),
    );
    recorder.record(
        Lane::Person,
        "closed",
        json!({ "exit": end.code, "stderr": end.stderr.iter().map(|line| format!("{line}\n")).collect::<String>(), "leftovers": leftovers }),
    );
    Ok(())
}

fn options(
    case: &Case,
    folder: &CaseFolder,
    recorder: &Recorder,
    writes: &Arc<WriteTable>,
    played_as: &Options,
) -> (HostOptions, Installation) {
    let environment = environment(case, folder);
    let journal = recorder.clone();
    let gortex = Installation {
        program: folder.gortex(),
        variables: environment.vars.clone(),
        script: Arc::new(Script {
            daemon: case.daemon.clone(),
            hook: case.hook.clone(),
            servers: case.servers.clone(),
        }),
        state: Arc::new(State::memory()),
        journal: Arc::new(move |entry: JournalEntry| super::record_journal(&journal, entry)),
        waiting: Ready::default(),
    };
    let sight = Sight {
        hooks: gortex.waiting.clone(),
        recorder: recorder.clone(),
    };
    let ours = Ours {
        path: "<adapter>/index.ts".into(),
        log: Arc::new(FileLog::open(&environment)),
        environment: environment.clone(),
        hook: Arc::new(gortex.clone()),
        writes: writes.clone(),
    };
    let recording = |by| {
        Arc::new(Recording {
            by,
            folder: folder.scratch(),
            recorder: recorder.clone(),
            silent: !case.host.mode.prints_events(),
        })
    };
    let mut extensions: Vec<Arc<dyn Extension>> = vec![recording(By::First)];
    let others = |place: Place| {
        let placed = case
            .host
            .extensions
            .iter()
            .filter(move |other| other.place == place);
        placed.map(|script| {
            Arc::new(Scripted::new(
                folder.scratch(),
                folder.filled_in(script),
                sight.clone(),
            )) as Arc<dyn Extension>
        })
    };
    extensions.extend(others(Place::Before));
    extensions.push(Arc::new(ours));
    extensions.extend(others(Place::After));
    extensions.push(recording(By::Last));
    let model = Arc::new(Scripts(ScriptedModel::new(
        case.model.clone(),
        recorder.clone(),
    )));
    let mode = case.host.mode;
    let mut options = HostOptions::new(folder.project(), model, Arc::new(gortex.clone()));
    let servers = HttpServers::new(case, &folder.project(), recorder);
    options.http = Arc::new(Network(servers));
    options.mode = match mode {
        Mode::Rpc => fake_pi::Mode::Rpc,
        Mode::Print => fake_pi::Mode::Print,
        Mode::Json => fake_pi::Mode::Json,
        Mode::Terminal => fake_pi::Mode::Terminal,
        Mode::Embedded => fake_pi::Mode::Embedded {
            binds: case.host.binds,
        },
    };
    if mode.is_one_shot() {
        options.prompts = prompts(case);
    }
    options.agent_dir = folder.agent();
    options.home = folder.home();
    options.temp_dir = folder.scratch();
    options.extensions = extensions;
    options.model_id = "scripted".into();
    options.other_models = vec!["other".into()];
    options.provider = "bench".into();
    options.further_tools.clone_from(&case.host.tools);
    options.scripts = Arc::new(CaseScripts::of(&case.model));
    options.keep_sessions = true;
    options.project_trusted = case.host.trusted;
    options.variables = environment.vars;
    options.seed = played_as.seed;
    options.version = played_as.version;
    options.fault = played_as.fault;
    options.settings = settings(&case.host.settings);
    options.connector = match case.host.connector {
        Connector::Builtin => fake_pi::Connector::Builtin,
        Connector::Absent => fake_pi::Connector::Absent,
    };
    (options, gortex)
}

fn settings(set: &crate::case::host::Settings) -> fake_pi::Settings {
    let default = fake_pi::Settings::default();
    let all = |mode: Option<Queueing>| mode == Some(Queueing::All);
    fake_pi::Settings {
        compaction: fake_pi::CompactionSettings {
            enabled: set.compaction.enabled.unwrap_or(true),
            reserve_tokens: set
                .compaction
                .reserve_tokens
                .unwrap_or(default.compaction.reserve_tokens),
            keep_recent_tokens: set
                .compaction
                .keep_recent_tokens
                .unwrap_or(default.compaction.keep_recent_tokens),
        },
        retry: fake_pi::RetrySettings {
            enabled: set.retry.enabled.unwrap_or(true),
            max_retries: set.retry.max_retries.unwrap_or(default.retry.max_retries),
            base_delay: set
                .retry
                .base_delay_ms
                .map_or(default.retry.base_delay, Duration::from_millis),
        },
        steer_all: all(set.steering_mode),
        follow_up_all: all(set.follow_up_mode),
    }
}

/// What Pi makes of its arguments: what was piped in is the beginning of the first.
fn prompts(case: &Case) -> Vec<String> {
    let mut prompts: Vec<String> = case.prompts().into_iter().map(str::to_owned).collect();
    let piped = case.host.piped.as_deref().unwrap_or_default().trim();
    match prompts.first_mut() {
        Some(first) => first.insert_str(0, piped),
        None if !piped.is_empty() => prompts.push(piped.to_owned()),
        None => {}
    }
    prompts
}

fn environment(case: &Case, folder: &CaseFolder) -> Environment {
    let fixed = [
        ("HOME", folder.home().display().to_string()),
        ("PI_CODING_AGENT_DIR", folder.agent().display().to_string()),
        ("GORTEX_PI_LOG", folder.log().display().to_string()),
    ];
    let fixed = fixed
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Environment {
        vars: fixed.chain(folder.variables(case)).collect(),
        home: Some(folder.home()),
        cwd: Some(folder.project()),
    }
}

struct Scripts(ScriptedModel);

impl Model for Scripts {
    fn complete(&self, request: Value) -> BoxFuture<'static, ModelReply> {
        let model = self.0.clone();
        Box::pin(async move { model.answer(request).await })
    }
}

struct Connection(Host);

impl Line for Connection {
    fn send(&mut self, command: Value) -> BoxFuture<'_, Result<(), PlayProblem>> {
        self.0.send(command);
        Box::pin(std::future::ready(Ok(())))
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Value>> {
        Box::pin(self.0.records.recv())
    }

    fn signal(&mut self, signal: Signal) {
        self.0.signal(match signal {
            Signal::Term => fake_pi::Signal::Terminate,
            Signal::Hup => fake_pi::Signal::HangUp,
            Signal::Int => fake_pi::Signal::Interrupt,
        });
    }
}
