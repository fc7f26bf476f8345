//! An array that another process runs as a target: it is measured through the block device that
//! this process serves. Its members would give what is on them at that moment, which is not what
//! the array holds.

use shoal_attaching::refuse_served;
use shoal_bench::{Conditions, TargetDescription, TargetKind, Workload};
use shoal_documents::protocol::Command;
use shoal_documents::{HealthDocument, StateDocument};
use shoal_drive::Access;
use shoal_inventory::check_measurable;
use shoal_labbook::ArrayIdentity;
use shoal_running::Handle;
use shoal_serve::Address;
use shoal_volume::{ArrayLevel, Volume};

use super::access::access;
use super::remote::{self, Named};
use super::whose::Whose;
use crate::args::BenchArgs;
use crate::exit::Failure;

/// The array with what is known of it, as a client of the process that runs it.
pub(super) fn open(
    args: &BenchArgs,
    mut running: Box<dyn Handle>,
    workload: &Workload,
) -> Result<(TargetDescription, Conditions, Whose, Box<dyn Volume>), Failure> {
    let state = running.execute(Command::Status)?;
    let is_written = access(workload) == Access::Write;
    if is_written {
        refuse_served(&state)?;
    }
    let mut volume = remote::open(&Named::first_export(served_at(&state)?), workload.depth, workload.block_size_bytes)?;
    if is_written && !args.force {
        check_measurable(&mut volume, &state.array.name)?;
    }
    let conditions = Conditions {
        degraded: state.array.health != HealthDocument::Optimal,
        resyncing: state.background.is_some(),
        ..Conditions::default()
    };
    let array = ArrayIdentity {
        uuid: Some(state.array.uuid.clone()),
        name: state.array.name.clone(),
        level: ArrayLevel::Plain(state.array.level).name(),
    };
    let whose = Whose { array: Some(array), ..Whose::default() };
    Ok((describe(&state, &volume), conditions, whose, Box::new(volume)))
}

/// Where the array is a block device for this machine.
fn served_at(state: &StateDocument) -> Result<Address, Failure> {
    let addresses = state.running.iter().flat_map(|running| &running.nbd);
    let unix = addresses.filter_map(|address| address.parse().ok()).find(|it| matches!(it, Address::Unix(_)));
    unix.ok_or_else(|| {
        Failure::Refused(format!(
            "array {} is run by another process, which serves it at no socket of this machine: `shoal stop` it and \
             measure it at rest, or run it with `shoal serve` and measure it through that",
            state.array.name
        ))
    })
}

fn describe(state: &StateDocument, volume: &dyn Volume) -> TargetDescription {
    let array = &state.array;
    TargetDescription {
        name: array.name.clone(),
        kind: TargetKind::Array,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: Some(ArrayLevel::Plain(array.level).name()),
        layout: array.layout(),
        chunk_bytes: array.chunk_bytes,
        member_count: Some(u32::try_from(array.members.len()).unwrap_or(u32::MAX)),
        simulated: state.simulated.as_ref().map(|simulated| simulated.drives.clone()),
        engine: state.engine.as_ref().map(|engine| engine.name.clone()),
    }
}
