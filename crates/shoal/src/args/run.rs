//! Arguments of the commands that run arrays.

use std::path::PathBuf;

use clap::Args;
use shoal_text::{parse_size, whole_number};

use super::arrays::ArrayArgs;
use super::engine::EngineArgs;
use super::measure::SimulatedArrayArgs;
use super::write_back::WriteBackArgs;

/// `shoal run`
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Run a degraded array that was not shut down cleanly, though some blocks may be wrong; or,
    /// for reading only, what is left of one that has lost more members than it survives.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// What answers writes before the members have them.
    #[command(flatten)]
    pub(crate) write_back: WriteBackArgs,
    /// Who runs it.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// How fast background work goes.
    #[command(flatten)]
    pub(crate) speed: SpeedLimits,
    /// For arrays that nobody watches.
    #[command(flatten)]
    pub(crate) unattended: UnattendedArgs,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
    /// What simulated drives, given instead of members, are made into; they work at the pace of
    /// real ones.
    #[command(flatten)]
    pub(crate) simulated: SimulatedArrayArgs,
}

/// What an array has that nobody watches.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct UnattendedArgs {
    /// Wait so long for members that are not there yet; then the array is run without them, if it
    /// can be. And for a minute at most for members that somebody else has.
    #[arg(long, value_name = "SECONDS", value_parser = whole_number(0_u64..))]
    pub(crate) wait: Option<u64>,
    /// Tell people when the array's health changes: by mail, webhook or command, as this file says
    /// (shoal alert --help).
    #[arg(long, value_name = "FILE")]
    pub(crate) alerts: Option<PathBuf>,
}

/// `shoal stop`
#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    /// Stop it though it is mounted, or attached to this machine. What uses it waits then until
    /// somebody runs it again, and fails after the deadline of the attachment; what was written
    /// there and not flushed is lost with that.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal speed`
#[derive(Args, Debug)]
pub(crate) struct SpeedArgs {
    /// How fast background work goes.
    #[command(flatten)]
    pub(crate) speed: SpeedLimits,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// Rates of resyncs, rebuilds and scrubs.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SpeedLimits {
    /// Resyncs, rebuilds and scrubs go on at least this fast while the array is used: bytes a
    /// second on each member.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) min: Option<u64>,
    /// They never go faster than this, even while the array is not used.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) max: Option<u64>,
}
