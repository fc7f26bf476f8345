//! `shoal`: measures drives, builds arrays of them in Linux md's format, and runs the arrays in user space.
//!
//! `args` says what can be typed and never acts; `commands` acts, one file a command; `running` is an array in a process
//! of its own, and how it is reached; `documents` are what `--json` prints; `exit` says how a command ends.

mod args;
mod attaching;
mod bay;
mod commands;
mod documents;
mod drives;
mod exit;
mod gather;
mod host;
mod kernel_bay;
mod look;
mod memory;
mod newcomer;
mod output;
mod outside;
mod present;
mod progress;
mod running;
mod scan;
mod seed;
mod simulated;
mod size;
mod state_directory;
mod wipe;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::not_understood(&error),
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::failure(&cli, &failure);
            ExitCode::from(failure.code())
        }
    }
}
