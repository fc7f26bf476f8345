//! An array of simulated drives: made, brought to rest and shown, all in virtual time. It vanishes
//! with the command.

use std::sync::atomic::Ordering;
use std::time::Duration;

use shoal_documents::{ArrayDocument, SimulatedDocument, StateDocument};
use shoal_inventory::SimulatedDrives;
use shoal_text::format_ns;
use shoal_volume::{ArrayVolume, Contents, CreateOptions, Volume, World};

use super::size::size_text;
use crate::args::Cli;
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::progress::{bytes_bar, interrupt_flag};
use crate::setup::open_options;

/// How much virtual time passes between looks at the interrupt flag.
const LOOK: Duration = Duration::from_secs(1);
/// Nothing random in a new array but its UUID: the same one each time.
const SEED: u64 = 0;

pub(super) fn create(cli: &Cli, drives: &SimulatedDrives, create: &CreateOptions) -> Result<(), Failure> {
    // Blank drives need no memory: a resync finds zeros that agree, and writes nothing.
    let opened = drives.open_all(Contents::Kept, (1, 4096), SEED)?;
    let options = open_options(cli, true, false)?;
    let mut array = ArrayVolume::create(opened.world, opened.plan, &opened.drives, create, &options)?;
    let resync_ns = array.needs_resync().then(|| resync(cli, &mut array)).transpose()?;
    array.rest().map_err(Failure::failed)?;
    let document = StateDocument {
        simulated: Some(SimulatedDocument { drives: drives.notation().to_owned(), resync_ns }),
        ..StateDocument::at_rest(ArrayDocument::from(&array.status()))
    };
    let told = size_text(create, array.drive_content_bytes());
    output::document(cli, &document, |document| text(document, &told))
}

/// How long the resync takes, in virtual time.
fn resync<W: World>(cli: &Cli, array: &mut ArrayVolume<W>) -> Result<u64, Failure> {
    let interrupt = interrupt_flag()?;
    let bar = bytes_bar(cli, 0, "resync");
    let begun = array.now();
    while array.run_background(LOOK).map_err(Failure::failed)? {
        if let Some(progress) = array.progress() {
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
        }
        if interrupt.load(Ordering::Relaxed) {
            return Err(Failure::failed("stopped before the end of the resync: the simulated array is gone"));
        }
    }
    bar.finish_and_clear();
    Ok(array.now().since_ns(begun))
}

fn text(document: &StateDocument, size: &str) -> String {
    let resync = document.simulated.as_ref().and_then(|simulated| simulated.resync_ns);
    let resync = resync.map_or_else(String::new, |ns| {
        format!("  its resync, on blank drives, took {} of virtual time\n", format_ns(ns))
    });
    format!("{}{size}{resync}  the array vanishes now, and its drives with it\n", state_text(document))
}
