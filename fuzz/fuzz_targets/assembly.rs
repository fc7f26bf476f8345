//! Up to eight members: assembly, the engine's view of it, and the superblocks of the running
//! array.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_array::{Array, BufferId, Config, Role, Scratch};
use shoal_fuzz::{Found, find_superblock};
use shoal_md::{
    Assembly, Candidate, Membership, NewMember, SUPERBLOCK_BYTES, Superblock, Timestamp, Unverified, Uuid, Verdict,
    assemble, group_by_array,
};

const MOST_MEMBERS: usize = 8;

fuzz_target!(|input: &[u8]| {
    let found: Vec<Found> = input.chunks(SUPERBLOCK_BYTES).take(MOST_MEMBERS).filter_map(find_superblock).collect();
    let candidate = |(number, found): (usize, &Found)| Candidate {
        drive: format!("drive {number}"),
        superblock: found.superblock.clone(),
    };
    let candidates: Vec<Candidate> = found.iter().enumerate().map(candidate).collect();
    for group in group_by_array(&candidates) {
        let group_found: Vec<&Found> = group.iter().map(|index| &found[*index]).collect();
        let group: Vec<Candidate> = group.iter().map(|index| candidates[*index].clone()).collect();
        if let Ok(assembly) = assemble(&group) {
            look_at(&assembly);
            keep(&assembly, &group, &group_found);
        }
    }
});

/// What a volume asks of an assembly.
fn look_at(assembly: &Assembly) {
    let _ = (assembly.name(), assembly.spares(), assembly.missing_roles(), assembly.is_dirty_and_degraded());
    let Ok(shape) = assembly.shape() else { return };
    let count = Scratch::least_count(shape.member_bytes.len());
    let scratch = Scratch { first: BufferId(0), count, bytes_each: 128 << 10 };
    let Ok(array) = Array::new(Config::new(shape, assembly.member_states(), scratch)) else { return };
    let geometry = array.geometry();
    let capacity = geometry.capacity_bytes();
    let _ = (array.health(), geometry.redundancy());
    let sync = geometry.sync_bytes();
    let range = geometry.sync_range(capacity.saturating_sub(4096), capacity.min(4096));
    assert!(range.start <= range.end && range.end <= sync, "{range:?} of {sync}");
}

/// The superblocks of the running array stay such as are believed on their drives, whatever happens
/// to the members.
fn keep(assembly: &Assembly, candidates: &[Candidate], found: &[&Found]) {
    if !assembly.read_only.is_empty() || !assembly.refused.is_empty() {
        return;
    }
    let check = |superblock: &Superblock| {
        let Some(found) = found.iter().find(|found| found.superblock.device_uuid == superblock.device_uuid) else {
            return;
        };
        let read = Unverified::parse_and_verify(&superblock.encode(), found.version, found.drive_bytes);
        assert_eq!(read.as_ref(), Ok(superblock));
    };
    for (_, superblock) in Membership::levelled(assembly, candidates) {
        check(&superblock);
    }
    let mut membership = Membership::of_assembly(assembly, candidates);
    let dev_number = assembly.superblock.dev_number;
    membership.mark_active();
    membership.advance(Timestamp::from_seconds(1));
    membership.record_resync_position(4096);
    let _ = membership.record_rebuild_position(dev_number, 4096);
    membership.superblocks().iter().for_each(check);
    let _ = membership.fail(dev_number);
    let spare = NewMember { drive: "new".to_owned(), size_bytes: 64 << 20, uuid: Uuid([0xfe; 16]) };
    if let Ok(number) = membership.add_spare(&spare) {
        let role = assembly.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::InSync(role) => Some(*role),
            _ => None,
        });
        let _ = membership.start_rebuild(number, role.unwrap_or(Role(0)));
        let _ = membership.finish_rebuild(number);
    }
    membership.mark_clean();
    membership.advance(Timestamp::from_seconds(2));
    membership.superblocks().iter().for_each(check);
}
