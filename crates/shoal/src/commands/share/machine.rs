//! Where this machine keeps its shares.

use std::path::PathBuf;

use shoal_inventory::{RUNTIME_VARIABLE, STATE_VARIABLE};
use shoal_share::machine::Machine;

use crate::exit::Failure;

/// This machine's shares. They are root's, whoever asks.
pub(crate) fn machine() -> Result<Machine, Failure> {
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = named(STATE_VARIABLE).unwrap_or_else(|| "/var/lib/shoal".into());
    let runtime = named(RUNTIME_VARIABLE).unwrap_or_else(|| "/run/shoal".into());
    Ok(Machine::new(&state, &runtime, &std::env::current_exe().map_err(Failure::failed)?))
}
