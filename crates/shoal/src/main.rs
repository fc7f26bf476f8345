//! `shoal`: measures drives, builds arrays of them in Linux md's format, and runs the arrays in
//! user space.
//!
//! `args` says what can be typed and never acts; `commands` acts, one file a command; `setup` says
//! what libraries are given of arguments and environment; `documents` are what `--json` prints;
//! `exit` says how a command ends.

mod args;
mod attaching;
mod bay;
mod commands;
mod documents;
mod exit;
mod figure;
mod host;
mod kernel_bay;
mod labbook;
mod named;
mod output;
mod progress;
mod report;
mod seed;
mod setup;
mod signals;
mod simulated;
mod temporary_array;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut cli = match args::parse() {
        Ok(cli) => cli,
        Err(error) => return output::not_understood(&error),
    };
    signals::outlive_file_limits();
    match commands::run(&mut cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::failure(&cli, &failure);
            ExitCode::from(failure.code())
        }
    }
}
