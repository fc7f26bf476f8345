//! Where each drive is to be plugged in, and which role it is to have.
//!
//! Two aims, in this order of making, which do not get in each other's way:
//! * **every bus gets its share of the load**: drives are dealt out, the fastest first, each to the
//!   bus of its kind that has least to carry so far;
//! * **what stands in for each other hangs on different buses**, so that a hub that fails takes as
//!   few members of a set as can be: roles are dealt out over the buses in turn. So the two copies
//!   of a RAID10's chunk, which are neighbours, are apart, and so are reads of neighbouring chunks.
//!
//! A drive stays on buses of the kind that it was given: a stick does not fit a SATA port.

use shoal_sim::{DriveModel, Medium};
use shoal_volume::ArrayLevel;

use super::arrangement::Arrangement;
use crate::drives::Inventory;

/// An arrangement of these members and spares, plugged in well.
pub fn plug_in(inventory: &Inventory, level: ArrayLevel, members: &[usize], spares: &[usize]) -> Arrangement {
    let mut load = vec![0_u64; inventory.buses.len()];
    let mut placed = |drives: &[usize]| -> Vec<(usize, usize)> {
        let mut fastest: Vec<usize> = drives.to_vec();
        fastest.sort_by_key(|&drive| (std::cmp::Reverse(rate(&inventory.drives[drive].model)), drive));
        let place = |drive: usize| {
            let choices = alternatives(inventory, inventory.drives[drive].bus);
            let bus = choices.into_iter().min_by_key(|&bus| load[bus]).unwrap_or(inventory.drives[drive].bus);
            load[bus] += rate(&inventory.drives[drive].model);
            (drive, bus)
        };
        fastest.into_iter().map(place).collect()
    };
    let (members, spares) = (placed(members), placed(spares));
    Arrangement { level, members: in_turn(members), spares }
}

/// Buses that are as good for a drive as its own: of its kind, on the same kind of upstream bus.
fn alternatives(inventory: &Inventory, bus: usize) -> Vec<usize> {
    let kind_above = |bus: usize| inventory.buses[bus].upstream.map(|above| inventory.buses[above].kind);
    let is_alike = |other: &usize| {
        inventory.buses[*other].kind == inventory.buses[bus].kind && kind_above(*other) == kind_above(bus)
    };
    (0..inventory.buses.len()).filter(is_alike).collect()
}

/// Deals drives out over their buses in turn.
fn in_turn(mut placed: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    placed.sort_by_key(|&(drive, bus)| (bus, drive));
    let mut turn: Vec<(usize, usize, usize)> = Vec::new();
    for (drive, bus) in placed {
        let before = turn.iter().filter(|(_, _, other)| *other == bus).count();
        turn.push((before, drive, bus));
    }
    turn.sort_by_key(|&(round, drive, bus)| (round, bus, drive));
    turn.into_iter().map(|(_, drive, bus)| (drive, bus)).collect()
}

/// What a drive can move, as far as a bus is concerned.
fn rate(model: &DriveModel) -> u64 {
    match &model.medium {
        Medium::Flash(flash) => flash.bytes_per_s.read,
        Medium::Disk(disk) => disk.zones.iter().map(|zone| zone.bytes_per_s).max().unwrap_or(0),
    }
}
