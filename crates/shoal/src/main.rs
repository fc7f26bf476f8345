//! `shoal`: measures drives, builds arrays of them in Linux md's format, and runs the arrays in user space.
//!
//! `args` says what can be typed and never acts; `commands` acts, one file a command; `documents` are what `--json`
//! prints; `exit` says how a command ends.

mod args;
mod commands;
mod documents;
mod drives;
mod exit;
mod output;
mod progress;
mod seed;
mod size;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::failure(&cli, &failure);
            ExitCode::from(failure.code())
        }
    }
}
