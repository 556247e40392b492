//! `pi-bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    scenarios::cli::main()
}
