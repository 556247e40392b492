//! How Pi runs: who gives it prompts, who reads what it prints, and what extensions are told of that.

/// The way in which a host is driven (pi-host.md 5, 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// `--mode rpc`: commands on stdin, records on stdout.
    #[default]
    Rpc,
    /// `-p`: the prompts are arguments, the last answer is printed, and Pi ends by itself.
    Print,
    /// `--mode json`: as `Print`, but the session's events are printed.
    Json,
    /// The terminal. Commands stand for what a person types, and records tell the driver how far Pi is: on the real Pi
    /// there are none, and the screen is not modelled.
    Terminal,
    /// A program that uses Pi's SDK: `createAgentSession`, one session after the other in one process. Commands and
    /// records are the program's own, made like those of RPC.
    Embedded {
        /// Whether the program calls `bindExtensions`. Without it no extension is told of a session's start, so nothing
        /// connects, and nobody hears of an extension's errors.
        binds: bool,
    },
}

impl Mode {
    /// `ctx.mode`. An embedding program that names none is taken for `print`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rpc => "rpc",
            Self::Print | Self::Embedded { .. } => "print",
            Self::Json => "json",
            Self::Terminal => "tui",
        }
    }

    /// `ctx.hasUI`: whether a notice or a question can reach a person.
    pub fn has_ui(self) -> bool {
        matches!(self, Self::Rpc | Self::Terminal)
    }

    /// `event.source` of a prompt that did not come from an extension.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Self::Rpc => "rpc",
            Self::Print | Self::Json | Self::Terminal | Self::Embedded { .. } => "interactive",
        }
    }

    /// Whether the host takes commands; without them it works through its prompts and ends.
    pub(crate) fn takes_commands(self) -> bool {
        !matches!(self, Self::Print | Self::Json)
    }
}
