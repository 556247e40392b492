//! `fake-gortex`: stands in for `gortex` on the `PATH` of a real Pi. See the library.

use std::process::ExitCode;

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the process's environment, to hand it to the library"
)]
fn main() -> ExitCode {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let arguments = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    fake_gortex::cli::run(fake_gortex::cli::Invocation {
        arguments,
        environment,
        cwd: std::env::current_dir().unwrap_or_default(),
        program: std::env::current_exe().unwrap_or_default(),
    })
}
