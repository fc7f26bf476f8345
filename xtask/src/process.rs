//! Running other programs.

use anyhow::{Context, Result, bail};
use std::process::{Command, Output};

/// Runs a program to its end and hands over what it printed; an error only if it cannot be started.
pub(crate) fn capture(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("cannot start {}", name_of(command)))
}

/// Runs a program that must succeed and hands over its standard output.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output = capture(command)?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed ({}):\n{}", name_of(command), output.status, complaint.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed something that is no text", name_of(command)))
}

/// Runs a program that must succeed, on this terminal.
pub(crate) fn pass(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name_of(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", name_of(command));
    }
    Ok(())
}

/// Whether a program of this name is on the search path.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn name_of(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}
