//! The command line.

mod author;
pub use author::schema_text;
mod diffs;
mod play;
mod prepare;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fake_pi::{NotModelled, Version};

use crate::report::Format;
use crate::{setup, suite};

/// Exit codes.
pub mod exit {
    /// All held.
    pub const HELD: u8 = 0;
    /// Something did not hold, or two hosts differ.
    pub const FAILED: u8 = 1;
    /// The call, or a file, is wrong.
    pub const WRONG: u8 = 2;
    /// The host could not be had.
    pub const NO_HOST: u8 = 3;
    /// Interrupted, as shells say it of SIGINT.
    pub const INTERRUPTED: u8 = 130;
}

/// Plays cases of the Gortex extension on a simulated Pi, and on the real one, and says whether they hold.
///
/// Without a command it plays all cases on the simulated Pi.
#[derive(Debug, Parser)]
#[command(
    name = "pi-bench",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Exit codes: 0 all held, 1 something did not hold, 2 the call or a file is wrong, 3 the host could not be had, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunOptions,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Plays cases on one host and prints a table.
    Run {
        /// Plays only cases whose name contains one of these.
        filter: Vec<String>,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Plays cases on both hosts and compares what happened.
    Conform(Conform),
    /// Lets the simulated host make mistakes on purpose, and shows which cases notice each.
    Mutations(Mutations),
    /// Shows the timeline of one case, its lanes side by side.
    Show(Show),
    /// Lists the cases, or the rules and what covers them.
    List {
        #[command(flatten)]
        choose: Choose,
        /// Lists each rule with its cases and tests instead.
        #[arg(long)]
        rules: bool,
    },
    /// Compares the adapter's diffs with those of Pi's own functions, on random texts and on a git history.
    Diffs(Diffs),
    /// Checks case files without playing them.
    Check {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        output: Output,
    },
    /// Prints the JSON Schema of a case file.
    Schema,
    /// Gets the real Pi from npm, builds the addon and puts it in place.
    Setup(Setup),
    /// Packs the extension into archives that Pi and npm install.
    Pack(Pack),
    /// Says what is there and what is missing; changes nothing.
    Doctor(Doctor),
}

#[derive(Debug, Args)]
struct Output {
    /// How the report is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Folder {
    /// The folder of the cases.
    #[arg(long, value_name = "DIR", default_value_os_t = suite::own_cases(), hide_default_value = true)]
    cases: PathBuf,
}

#[derive(Debug, Args)]
struct Choose {
    /// Only cases whose name contains one of these.
    filter: Vec<String>,
    #[command(flatten)]
    folder: Folder,
    #[command(flatten)]
    output: Output,
}

/// A host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum HostName {
    /// The simulated Pi.
    #[default]
    Sim,
    /// The real Pi.
    Pi,
}

/// How cases are played, on whichever host.
#[derive(Debug, Args)]
struct Playing {
    /// The seed of the simulated host's random choices.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// How many cases are played at once on the real Pi.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = jobs)]
    jobs: usize,
    /// Writes each trace to a file of its own in this folder, as JSON lines.
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    #[command(flatten)]
    folder: Folder,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct RunOptions {
    /// On which host.
    #[arg(long, value_enum, default_value_t)]
    host: HostName,
    /// Which version of Pi; the simulated one models some.
    #[arg(long, value_name = "V", default_value = setup::PINNED)]
    pi_version: String,
    #[command(flatten)]
    playing: Playing,
}

#[derive(Debug, Args)]
struct Conform {
    /// Only cases whose name contains one of these.
    filter: Vec<String>,
    /// Which versions of Pi, on both hosts; may be given more than once [default: the pinned one].
    #[arg(long, value_name = "V")]
    pi_version: Vec<String>,
    /// Keeps what came of it in the table of cases by versions (`scenarios/matrix.json`), in all versions that are
    /// modelled unless some are named.
    #[arg(long, conflicts_with = "cases")]
    write_matrix: bool,
    #[command(flatten)]
    playing: Playing,
}

#[derive(Debug, Args)]
struct Mutations {
    /// Only cases whose name contains one of these.
    filter: Vec<String>,
    /// How many cases are played at once on the real Pi.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = jobs)]
    jobs: usize,
    #[command(flatten)]
    folder: Folder,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct Show {
    /// The case's name, as `list` prints it, or a part of it that no other has.
    case: String,
    /// On which host.
    #[arg(long, value_enum, default_value_t)]
    host: HostName,
    /// Which version of Pi; the simulated one models some.
    #[arg(long, value_name = "V", default_value = setup::PINNED)]
    pi_version: String,
    /// The seed of the simulated host's random choices.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    folder: Folder,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct Diffs {
    /// How many random pairs of texts.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pairs: usize,
    /// The seed that they are made from.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The checkout whose git history is compared too, if it has one: each file of each commit with its parent. Without
    /// it, that of the bench.
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    /// Which version of the real Pi.
    #[arg(long, value_name = "V", default_value = setup::PINNED)]
    pi_version: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct Setup {
    /// Which version of the real Pi.
    #[arg(long, value_name = "V", default_value = setup::PINNED)]
    pi_version: String,
    /// Tells nextest's tests whether the real Pi is there (a setup script's part).
    #[arg(long, hide = true)]
    for_tests: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct Pack {
    /// The folder for the archives.
    #[arg(long, value_name = "DIR", default_value = "target/pack")]
    to: PathBuf,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct Doctor {
    /// Which version of the real Pi.
    #[arg(long, value_name = "V", default_value = setup::PINNED)]
    pi_version: String,
    #[command(flatten)]
    output: Output,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // Its errors print the usage and exit with 2, which is what a wrong call is here too.
    let cli = Cli::parse();
    let outcome = match cli.command {
        None => play::run(&[], &cli.run),
        Some(Command::Run { filter, options }) => play::run(&filter, &options),
        Some(Command::Conform(conform)) => play::conform(&conform),
        Some(Command::Mutations(mutations)) => play::mutations(&mutations),
        Some(Command::Show(show)) => play::show(&show),
        Some(Command::List {
            choose,
            rules: false,
        }) => author::list(&choose),
        Some(Command::List {
            choose,
            rules: true,
        }) => author::list_rules(&choose),
        Some(Command::Diffs(options)) => diffs::diffs(&options),
        Some(Command::Check { files, output }) => author::check(&files, output.format),
        Some(Command::Schema) => author::schema(),
        Some(Command::Setup(setup)) => prepare::setup(&setup),
        Some(Command::Pack(pack)) => prepare::pack(&pack),
        Some(Command::Doctor(doctor)) => prepare::doctor(&doctor),
    };
    ExitCode::from(outcome.unwrap_or_else(Stop::tell))
}

/// Why a command ended early.
enum Stop {
    /// A report with the remedy, and the exit code.
    Report(miette::Report, u8),
    /// The reader of the output is gone: there is nobody to tell.
    Unheard,
    /// Ctrl-C.
    Interrupted,
}

impl Stop {
    fn tell(self) -> u8 {
        match self {
            Self::Report(report, code) => {
                say(&format!("{report:?}"));
                code
            }
            Self::Unheard => exit::HELD,
            Self::Interrupted => {
                say("interrupted; nothing was left behind");
                exit::INTERRUPTED
            }
        }
    }

    fn wrong(report: impl Into<miette::Report>) -> Self {
        Self::Report(report.into(), exit::WRONG)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Unheard;
        }
        Self::Report(
            miette::miette!(help = "check the disk and the permissions", "{error}"),
            exit::WRONG,
        )
    }
}

impl From<Box<crate::case::CaseProblem>> for Stop {
    fn from(problem: Box<crate::case::CaseProblem>) -> Self {
        Self::wrong(*problem)
    }
}

impl From<setup::SetupError> for Stop {
    fn from(error: setup::SetupError) -> Self {
        if matches!(error, setup::SetupError::Interrupted) {
            return Self::Interrupted;
        }
        let code = if matches!(error, setup::SetupError::VersionInvalid { .. }) {
            exit::WRONG
        } else {
            exit::NO_HOST
        };
        let tail = error
            .tail()
            .filter(|tail| !tail.is_empty())
            .map_or(String::new(), |tail| format!("\n{tail}"));
        Self::Report(
            miette::miette!(help = error.remedy(), "{error}{tail}"),
            code,
        )
    }
}

/// Tells a person on stderr. One who closed it hears nothing, and the exit code still says it.
fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// How many plays at once make sense: each is a Pi of its own.
fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=32) => Ok(jobs),
        _ => Err("give a number from 1 to 32".to_owned()),
    }
}

/// The version that the simulated host is to model; one that it does not is a wrong call.
fn modelled(version: &str) -> Result<Version, Stop> {
    version.parse().map_err(|modelled: NotModelled| {
        Stop::wrong(miette::miette!(
            help = format!("{modelled}; `run --host pi` plays any version"),
            "the simulated host does not model Pi {version}"
        ))
    })
}

/// The chosen cases; none is a wrong call.
fn choose(folder: &Folder, filter: &[String]) -> Result<Vec<suite::Named>, Stop> {
    let cases = suite::read(&folder.cases, filter)?;
    if cases.is_empty() {
        return Err(Stop::wrong(miette::miette!(
            help = "`pi-bench list` shows the names; a filter is a part of one",
            "no case matches {}",
            if filter.is_empty() {
                format!("in {}", folder.cases.display())
            } else {
                filter.join(", ")
            }
        )));
    }
    Ok(cases)
}
