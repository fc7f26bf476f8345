//! How a rig is put together from a topology.

use shoal_array::{Instant, MemberState, Role};

use super::cut::Logs;
use super::disk::Disk;
use super::engine::{Engine, Setup, Store};
use super::memory::Memory;
use super::model::Model;
use super::random::Random;
use super::shapes::Topology;
use super::{Rig, Schedule};

impl Rig {
    /// All drives are zeros, which is consistent on every level. On each engine whose members are
    /// drives, those in `degraded` start out so, with something else on them where they hold
    /// nothing.
    pub(crate) fn new(
        topology: &Topology,
        setup: &Setup,
        degraded: &[(Role, MemberState)],
        mut random: Random,
    ) -> Self {
        let mut memory = Memory::default();
        let (engines, disks) = build(topology, setup, degraded, &mut memory, &mut random);
        Self {
            model: Model::new(engines[0].array.geometry().capacity_bytes()),
            logs: vec![Logs::default(); engines.len()],
            busy_until: vec![Instant::default(); disks.len()],
            engines,
            disks,
            memory,
            random,
            schedule: Schedule::Random,
            pending: Vec::new(),
            holds_records: false,
            overtakes_one_in: 0,
            overtaken: 0,
            now: Instant { ns: 1 },
            step: 1,
            next_request: 1,
            answers: Vec::new(),
            events: Vec::new(),
            trace: std::env::var_os("SHOAL_TRACE").is_some(),
        }
    }
}

/// The engines, the top one first, and the drives below them.
fn build(
    topology: &Topology,
    setup: &Setup,
    degraded: &[(Role, MemberState)],
    memory: &mut Memory,
    random: &mut Random,
) -> (Vec<Engine>, Vec<Disk>) {
    let (mut engines, mut disks) = (Vec::new(), Vec::new());
    let (outer, inner) = (topology.outer_shape(), topology.inner_shapes());
    for shape in if inner.is_empty() { std::slice::from_ref(&outer) } else { &inner } {
        let first = disks.len();
        let stores = (first..first + shape.member_bytes.len()).map(Store::Disk).collect();
        disks.extend(shape.member_bytes.iter().map(|bytes| Disk::new(*bytes)));
        let states = degrade(&mut disks[first..], degraded, random);
        engines.push(Engine::new(shape.clone(), states, stores, setup, memory));
    }
    if !inner.is_empty() {
        let stores = (0..inner.len()).map(|index| Store::Engine(index + 1)).collect();
        let states = vec![MemberState::InSync; inner.len()];
        engines.insert(0, Engine::new(outer, states, stores, setup, memory));
    }
    (engines, disks)
}

/// Makes some members of an engine missing or half rebuilt; returns the states of all.
fn degrade(disks: &mut [Disk], degraded: &[(Role, MemberState)], random: &mut Random) -> Vec<MemberState> {
    let mut states = vec![MemberState::InSync; disks.len()];
    for (role, state) in degraded {
        states[role.index()] = *state;
        let disk = &mut disks[role.index()];
        disk.replace(random);
        if let MemberState::Rebuilding { position } = state {
            disk.content[..*position as usize].fill(0);
        }
    }
    states
}
