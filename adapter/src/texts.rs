//! Every sentence that the model or a person reads: one cause and one remedy each.

use crate::line::one_line;

/// The longest text from outside that is worked into a sentence, in characters.
const QUOTE: usize = 300;

/// R3: no loaded extension connects MCP servers.
pub const NO_CONNECTOR: &str = "Gortex graph tools are unavailable in this session: no loaded extension connects MCP \
    servers. To get them, start Pi without --no-mcp and with its built-in mcp extension enabled.";

/// R5, R6: the first turn runs before a graph tool is listed.
pub const NOT_YET_CALLABLE: &str = "Gortex graph tools (mcp__gortex__*) may not be callable yet: the server is still \
    connecting. If a call is refused, retry later in the session or ask the user to run /reload.";

/// E4: a shell command, or a tool that changes files it does not name, ran at the same time.
pub const NOTE_ALONGSIDE: &str =
    "No diff: another command that can change files ran at the same time.";
/// E4: the diff cost more than its budget.
pub const NOTE_COSTLY: &str = "No diff: the change is too large to compare quickly.";
/// E4: the file is over the bound.
pub const NOTE_LARGE: &str = "No diff: the file is larger than 1 MiB.";
/// E4: the call names more files than are compared.
pub const NOTE_MANY: &str = "No diff: only the first 64 files of a call are compared.";
/// E4: two readings of one moment differ.
pub const NOTE_CHANGING: &str = "No diff: the file changed while it was read.";
/// O05: the call failed, and yet the file is another.
pub const NOTE_UNKNOWN: &str =
    "No diff: the call failed although this file changed, so its outcome is unknown.";

/// C8: the executable does not resolve.
#[must_use]
pub fn no_binary(name: &str, there: bool) -> String {
    let what = if there {
        "is no executable file"
    } else {
        "was not found"
    };
    format!("the Gortex executable \"{}\" {what}", one_line(name, QUOTE))
}

/// R3: nothing was registered because of the executable.
#[must_use]
pub fn unavailable(cause: &str) -> String {
    format!(
        "Gortex graph tools are unavailable in this session: {cause}. To get them, install Gortex on PATH or set \
         GORTEX_BIN, then run /reload."
    )
}

/// R4: Pi refused the registration.
#[must_use]
pub fn refused(reason: &str) -> String {
    format!(
        "Gortex graph tools are unavailable: Pi refused the server ({}). To get them, resolve that and run /reload.",
        one_line(reason, QUOTE)
    )
}

/// R4: an extension that replaced Pi's own MCP support connected nothing.
#[must_use]
pub fn foreign_connector(source: &str) -> String {
    format!(
        "Gortex graph tools may not be callable: the extension {} replaced Pi's MCP support and connected no gortex \
         server. To get them, add a \"gortex\" entry to mcp.json (command \"gortex\", args [\"mcp\"]) and run /reload.",
        one_line(source, QUOTE)
    )
}

/// B4, to the user.
#[must_use]
pub fn old_daemon_user(version: &str, floor: &str) -> String {
    format!(
        "Gortex daemon {version} is older than {floor}, which this extension expects. Update Gortex."
    )
}

/// B4, to the model.
#[must_use]
pub fn old_daemon_model(version: &str, floor: &str) -> String {
    format!(
        "The Gortex daemon is version {version}, older than the expected {floor}: a graph tool may misbehave. If one \
         does, use another tool and suggest that the user update Gortex."
    )
}

/// C2, to the user.
#[must_use]
pub fn project_bin(place: &str) -> String {
    format!(
        "Gortex: ignored {place}: a project cannot choose the executable. Set GORTEX_BIN or the global file."
    )
}

/// C3, to the user: a file.
#[must_use]
pub fn bad_file(place: &str) -> String {
    format!("Gortex: ignored {place}: not a readable JSON object. Correct or remove the file.")
}

/// C3, to the user: a key.
#[must_use]
pub fn bad_key(place: &str) -> String {
    format!("Gortex: ignored {place}: not a valid value. Correct or remove it.")
}

/// C3, C4, to the user: a variable.
#[must_use]
pub fn bad_variable(variable: &str) -> String {
    format!(
        "Gortex: ignored the environment variable {variable}: not a valid value. Correct or unset it."
    )
}
