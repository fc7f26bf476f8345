//! What becomes of writes that wait for a drive which does not answer.

use std::time::Duration;

use shoal_array::{BufferId, MemberIo, Span};
use shoal_parity::Parity;
use shoal_sim::{Bus, BusKind, HostModel, Scheduler, Topology};

use super::super::{Pending, Target, Tree};
use super::*;
use crate::{BufferPlan, Contents, SimulatedWorld, VolumeError};

const TARGET: Target = Target::Drive(DriveId(0));
/// Not side by side.
const FIRST: u64 = 0;
const SECOND: u64 = 1 << 20;
const LENGTH: usize = 4096;

/// A drive with an elevator, which stands still and has a write at the first place.
fn stalled() -> Tree<SimulatedWorld> {
    let mut model = shoal_sim::find("stick-64g").unwrap().model.clone();
    model.size_bytes = 8 << 20;
    let bus = Bus { kind: BusKind::Direct, upstream: None };
    let topology = Topology { buses: vec![bus], drives: vec![(model, 0)] };
    let host = HostModel { scheduler: Scheduler::LastFirst, ..HostModel::default() };
    let plan = BufferPlan::for_drives(1, 2, LENGTH as u32);
    let mut world = SimulatedWorld::new(&topology, &host, Contents::Kept, plan, 1).unwrap();
    world.simulation_mut().stall(0, 60_000_000_000);
    let mut tree = Tree::new(world, plan, Parity::best());
    tree.patience.limit = Some(Duration::from_secs(1));
    ask(&mut tree, FIRST, 0);
    tree.run_until(Some(tree.world.now()), |_| true).unwrap();
    assert_eq!(tree.world.pending(), 1, "the drive has it");
    tree
}

/// Asks for a write out of a request's buffer, for nobody.
fn ask(tree: &mut Tree<SimulatedWorld>, offset: u64, buffer: u32) {
    tree.world.arena().write(tree.request_memory(buffer), &[1; LENGTH]);
    let token = tree.pending.insert(Pending::Forgotten);
    let span = Span { buffer: BufferId(buffer), offset: 0, length: LENGTH as u32 };
    tree.submit_io(tree.world.now(), TARGET, token, MemberIo::Write { offset, span });
}

/// What is at the two places once the drive has done everything.
fn written(mut tree: Tree<SimulatedWorld>) -> [u8; 2] {
    tree.run_until(None, |tree| tree.world.pending() == 0).unwrap();
    tree.run_until(None, |tree| tree.world.pending() == 0).unwrap();
    assert!(tree.has_landed());
    [FIRST, SECOND].map(|at| {
        let mut bytes = [0; LENGTH];
        tree.world.content_mut(0).look(at, &mut bytes).unwrap();
        bytes[0]
    })
}

#[test]
fn a_write_that_its_caller_gave_up_is_done_only_if_the_drive_had_it() {
    let mut tree = stalled();
    let small = tree.small;
    assert!(tree.write_small(TARGET, SECOND, &[2; LENGTH]).unwrap().is_err(), "nobody waits for so long");
    assert_eq!(tree.small, small, "the drive has nothing of the notes");
    assert!(!tree.flights.are_left_on(DriveId(0)));
    assert_eq!(written(tree), [1, 0]);
}

#[test]
fn what_waits_for_a_drive_is_on_its_way() {
    let mut tree = stalled();
    tree.world.simulation_mut().stall(0, 0);
    tree.run_until(None, |tree| tree.world.pending() == 0).unwrap();
    ask(&mut tree, SECOND, 1);
    assert_eq!((tree.world.pending(), tree.has_landed()), (0, false));
    assert_eq!(written(tree), [1, 1]);
}

#[test]
fn arrays_that_are_forgotten_write_nothing_any_more() {
    let mut tree = stalled();
    ask(&mut tree, SECOND, 1);
    assert!(matches!(tree.forget_nodes(), Err(VolumeError::Silent { .. })));
    assert_eq!(written(tree), [1, 0]);
}
