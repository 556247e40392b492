//! `fake-gortex`: stands in for `gortex` on the `PATH` of a real Pi. See the library.

use std::path::PathBuf;
use std::process::ExitCode;

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the process's environment, to hand it to the library"
)]
fn main() -> ExitCode {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let mut words = std::env::args_os();
    let called = words.next().map(PathBuf::from).unwrap_or_default();
    let name = called.file_name().unwrap_or_default();
    let arguments = words
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    fake_gortex::cli::run(&fake_gortex::cli::Invocation {
        arguments,
        environment,
        name: name.to_string_lossy().into_owned(),
        cwd: std::env::current_dir().unwrap_or_default(),
        program: std::env::current_exe().unwrap_or_default(),
    })
}
