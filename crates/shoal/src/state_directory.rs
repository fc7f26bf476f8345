//! Where what is kept from one start to the next goes: the machine's, or the user's.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use crate::exit::Failure;

/// If this is set, it is there: for tests, and services with a place of their own.
pub(crate) const STATE_VARIABLE: &str = "SHOAL_STATE_DIRECTORY";

/// The directory, whether it is there or not; none for a user without a home.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    named(STATE_VARIABLE).or_else(|| match rustix::process::geteuid().as_raw() {
        0 => Some(PathBuf::from("/var/lib/shoal")),
        _ => named("XDG_STATE_HOME")
            .or_else(|| named("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("shoal")),
    })
}

/// Makes the directory, for this user alone.
pub(crate) fn make_state_directory() -> Result<PathBuf, Failure> {
    let directory = state_directory();
    let directory = directory
        .ok_or_else(|| Failure::Usage(format!("there is no home: say where to keep alerts with {STATE_VARIABLE}")))?;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.map_err(|error| Failure::Failed(format!("{}: {error}", directory.display())))?;
    Ok(directory)
}
