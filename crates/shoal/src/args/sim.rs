//! Arguments of the commands about simulated worlds.

use shoal_text::whole_number;
use std::ops::Range;

use clap::{Args, Subcommand};

/// `shoal sim`
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: SimCommand,
}

/// The commands of `shoal sim`.
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Hunt for faults: a seed is an array, drives that fail, power cuts, and everything is
    /// checked.
    Swarm(SwarmArgs),
}

/// `shoal sim swarm`
#[derive(Args, Debug)]
#[command(
    after_help = "Nothing real is touched. A seed is the same world on every machine; one that fails is shrunk, and \
                        printed with the line that plays it again. Exit status 1 if any seed fails."
)]
pub(crate) struct SwarmArgs {
    /// The seeds to play: from A on, before B.
    #[arg(long, value_name = "A..B", value_parser = parse_seeds, default_value = "0..1000")]
    pub(crate) seeds: Range<u64>,
    /// How many to play at a time [default: one for each processor].
    #[arg(long, value_name = "COUNT", value_parser = whole_number(1_u16..=1024))]
    pub(crate) threads: Option<u16>,
    /// Print what happens, I/O by I/O. For one seed; of one that fails, what is left when it has
    /// been made smaller.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Leave seeds that fail as they are, instead of making them smaller.
    #[arg(long)]
    pub(crate) no_shrink: bool,
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let numbers = text.split_once("..").and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    match numbers {
        Some((start, end)) if start < end => Ok(start..end),
        Some(_) => Err("the range is empty: give the smaller number first".to_owned()),
        None => Err("give two numbers, such as 0..10000".to_owned()),
    }
}
