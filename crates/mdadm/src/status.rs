//! An array's status out of what sysfs says, and of what is known from its superblocks.

use shoal_array::{Array, BufferId, Config, Geometry, Scratch, Shape};
use shoal_volume::{
    ArrayStatus, Cause, Health, JobProgress, LeftOut, Level, MemberOn, MemberState, MemberStatus, ReplacementStatus,
    Role, Verdict,
};

use crate::sysfs::{self, Action, Device, Snapshot};

/// The array at the moment of the snapshot. `base` says what does not change while md runs it;
/// `name_of` gives what people call a device.
pub(crate) fn array_status(base: &ArrayStatus, snapshot: &Snapshot, name_of: impl Fn(&str) -> String) -> ArrayStatus {
    let states = member_states(snapshot, base.members.len());
    let roles = (0..).map(Role).zip(&states);
    let members = roles.map(|(role, &state)| MemberStatus {
        role,
        state,
        on: snapshot.member(role.0).map(|device| MemberOn::Drive(name_of(&device.name))),
        replacement: snapshot.replacement(role.0).map(|device| ReplacementStatus {
            drive: name_of(&device.name),
            position: device.recovered_bytes.unwrap_or(snapshot.component_bytes),
        }),
        suspect: false, // md does not say
    });
    let failed = snapshot.devices.iter().filter(|device| device.is_faulty);
    let failed = failed.map(|device| LeftOut { name: name_of(&device.name), cause: Cause::Verdict(Verdict::Faulty) });
    ArrayStatus {
        members: members.collect(),
        health: health(base.level, base.chunk_bytes, base.redundancy, &states),
        needs_resync: snapshot.needs_resync,
        spares: snapshot.spares().map(|device| name_of(&device.name)).collect(),
        left_out: base.left_out.iter().cloned().chain(failed).collect(),
        progress: progress(snapshot),
        ..base.clone()
    }
}

/// In role order.
pub(crate) fn member_states(snapshot: &Snapshot, count: usize) -> Vec<MemberState> {
    let state = |device: Option<&Device>| match device {
        None => MemberState::Missing,
        Some(device) if device.is_in_sync => MemberState::InSync,
        Some(device) => MemberState::Rebuilding { position: device.recovered_bytes.unwrap_or(0) },
    };
    (0..).take(count).map(|role| state(snapshot.member(role))).collect()
}

/// What goes on.
pub(crate) fn progress(snapshot: &Snapshot) -> Option<JobProgress> {
    if matches!(snapshot.action, Action::Idle | Action::Frozen) {
        return None;
    }
    let (done_bytes, total_bytes) = snapshot.completed.unwrap_or((0, snapshot.component_bytes));
    Some(JobProgress { done_bytes, total_bytes })
}

/// How well an array of this shape is with its members in these states, by the engine's own rules.
pub(crate) fn health(level: Level, chunk_bytes: u32, redundancy: usize, states: &[MemberState]) -> Health {
    let count = states.len();
    let scratch = Scratch { first: BufferId(0), count: Scratch::least_count(count), bytes_each: 4096 };
    let shape = shape_of(level, chunk_bytes, count);
    let config = Config { writable: false, ..Config::new(shape, states.to_vec(), scratch) };
    let out_of_sync = states.iter().filter(|state| **state != MemberState::InSync).count();
    Array::new(config).map_or(
        match out_of_sync {
            0 => Health::Optimal,
            lost if lost <= redundancy => Health::Degraded,
            _ => Health::Failed,
        },
        |array| array.health(),
    )
}

/// How many members an array of this shape may lose, whichever they are.
pub(crate) fn redundancy(shape: &sysfs::Shape) -> Option<usize> {
    let sysfs::Shape { level, chunk_bytes, members, .. } = *shape;
    Geometry::new(shape_of(level, chunk_bytes, usize::from(members))).ok().map(|geometry| geometry.redundancy())
}

/// With members of any size, where only how they stand to each other matters.
fn shape_of(level: Level, chunk_bytes: u32, count: usize) -> Shape {
    Shape { level, chunk_bytes, member_bytes: vec![u64::from(chunk_bytes.max(1 << 20)) * 4; count] }
}

#[cfg(test)]
mod tests;
