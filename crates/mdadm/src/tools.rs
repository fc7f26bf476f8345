//! mdadm and losetup as programs: run to their end, and understood by their exit status.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::KernelError;

/// Places that PATH may lack: these are the administrator's programs.
const SYSTEM_PLACES: [&str; 4] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"];

/// Where a program is.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(SYSTEM_PLACES.map(PathBuf::from));
    places.map(|place| place.join(name)).find(|path| path.is_file())
}

/// Runs a program and gives what it printed.
pub(crate) fn run<S: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>) -> Result<String, KernelError> {
    let place = program(name).unwrap_or_else(|| Path::new(name).to_owned());
    let mut command = Command::new(place);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null());
    let told = |said: String| KernelError::Tool { program: name.to_owned(), said };
    let ran = command.output().map_err(|error| told(error.to_string()))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned());
    }
    Err(told(one_line(&ran.stderr, name).unwrap_or_else(|| ran.status.to_string())))
}

/// All that a program said of its failure, in one line, without its own name.
fn one_line(said: &[u8], name: &str) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let prefix = format!("{name}: ");
    let lines = said.lines().map(|line| line.trim().trim_start_matches(&prefix)).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join("; ");
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_becomes_one_line() {
        let said = b"mdadm: failed to stop array /dev/md7: busy\n       Perhaps it is mounted?\n\n";
        let line = one_line(said, "mdadm");
        assert_eq!(line.as_deref(), Some("failed to stop array /dev/md7: busy; Perhaps it is mounted?"));
        assert_eq!(one_line(b" \n", "mdadm"), None);
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = run("no-such-program", ["x"]).unwrap_err();
        assert!(error.to_string().starts_with("no-such-program: "), "{error}");
    }
}
