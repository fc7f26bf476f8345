//! What requests cost in member I/O: for parity levels the least of full-stripe write,
//! reconstruct-write and read-modify-write, healthy and degraded.

use shoal_array::{Level, ParityLayout, Raid0Layout, Role};

use super::Scene;
use crate::rig::shapes::{CHUNK, Topology, equal, raid10};
use crate::rig::story::FAST;

const C: u64 = CHUNK as u64;
/// A logical block.
const B: u64 = 512;

/// What one scene costs.
struct Cost {
    scene: &'static str,
    topology: Topology,
    missing: &'static [u16],
    /// Offsets and lengths of what is submitted in one go.
    writes: &'static [(u64, u64)],
    reads: &'static [(u64, u64)],
    /// Member I/Os: reads and writes, each with its bytes.
    expected: [(u64, u64); 2],
}

fn assert_cost(cost: &Cost) {
    let missing: Vec<Role> = cost.missing.iter().copied().map(Role).collect();
    let mut scene = Scene::new(&cost.topology, &missing, FAST);
    for (offset, length) in cost.writes {
        scene.write(*offset, *length);
    }
    for (offset, length) in cost.reads {
        scene.read(*offset, *length);
    }
    scene.run();
    assert!(scene.results().iter().all(Result::is_ok));
    let counts = scene.counts();
    let found = [(counts.reads, counts.read_bytes), (counts.writes, counts.written_bytes)];
    assert_eq!(found, cost.expected, "{}: reads and writes (I/Os, bytes)", cost.scene);
}

/// Row 0 of a left-symmetric RAID5 of five: data on 0 to 3, P on 4.
fn raid5() -> Topology {
    equal(Level::Raid5(ParityLayout::LeftSymmetric), 5, 8)
}

/// Row 0 of a left-symmetric RAID6 of six: Q on 0, data on 1 to 4, P on 5.
fn raid6() -> Topology {
    equal(Level::Raid6(ParityLayout::LeftSymmetric), 6, 8)
}

fn cost(scene: &'static str, topology: Topology, missing: &'static [u16]) -> Cost {
    Cost { scene, topology, missing, writes: &[], reads: &[], expected: [(0, 0); 2] }
}

#[test]
fn writes_to_raid5_take_the_cheapest_way() {
    let costs = [
        Cost { writes: &[(0, 4 * C)], expected: [(0, 0), (5, 5 * C)], ..cost("a full stripe", raid5(), &[]) },
        Cost { writes: &[(0, 12 * C)], expected: [(0, 0), (15, 15 * C)], ..cost("three stripes", raid5(), &[]) },
        Cost { writes: &[(0, B)], expected: [(2, 2 * B), (2, 2 * B)], ..cost("a block", raid5(), &[]) },
        Cost { writes: &[(0, C)], expected: [(2, 2 * C), (2, 2 * C)], ..cost("a chunk", raid5(), &[]) },
        Cost { writes: &[(0, 2 * C)], expected: [(2, 2 * C), (3, 3 * C)], ..cost("two chunks of four", raid5(), &[]) },
        Cost { writes: &[(C, 3 * C)], expected: [(1, C), (4, 4 * C)], ..cost("three chunks of four", raid5(), &[]) },
        Cost {
            writes: &[(0, C), (C, C), (2 * C, C), (3 * C, C)],
            expected: [(0, 0), (5, 5 * C)],
            ..cost("a stripe's chunks, one by one, in one go", raid5(), &[])
        },
        Cost {
            writes: &[(0, B), (B, B), (2 * B, B), (3 * B, B)],
            expected: [(2, 8 * B), (2, 8 * B)],
            ..cost("adjacent blocks in one go", raid5(), &[])
        },
    ];
    costs.iter().for_each(assert_cost);
}

#[test]
fn writes_to_degraded_raid5_take_the_only_way() {
    let costs = [
        Cost { writes: &[(0, B)], expected: [(2, 2 * B), (2, 2 * B)], ..cost("another is missing", raid5(), &[3]) },
        Cost { writes: &[(0, B)], expected: [(3, 3 * B), (1, B)], ..cost("its own is missing", raid5(), &[0]) },
        Cost { writes: &[(0, B)], expected: [(0, 0), (1, B)], ..cost("P is missing", raid5(), &[4]) },
        Cost { writes: &[(0, 4 * C)], expected: [(0, 0), (4, 4 * C)], ..cost("a full stripe", raid5(), &[2]) },
    ];
    costs.iter().for_each(assert_cost);
}

#[test]
fn writes_to_raid6_take_the_cheapest_way() {
    let costs = [
        Cost { writes: &[(0, 4 * C)], expected: [(0, 0), (6, 6 * C)], ..cost("a full stripe", raid6(), &[]) },
        Cost { writes: &[(0, B)], expected: [(3, 3 * B), (3, 3 * B)], ..cost("a block", raid6(), &[]) },
        Cost { writes: &[(0, 2 * C)], expected: [(2, 2 * C), (4, 4 * C)], ..cost("two chunks of four", raid6(), &[]) },
        Cost { writes: &[(0, 3 * C)], expected: [(1, C), (5, 5 * C)], ..cost("three chunks of four", raid6(), &[]) },
        Cost { writes: &[(0, B)], expected: [(2, 2 * B), (2, 2 * B)], ..cost("Q is missing", raid6(), &[0]) },
        Cost { writes: &[(0, B)], expected: [(0, 0), (1, B)], ..cost("P and Q are missing", raid6(), &[0, 5]) },
        Cost { writes: &[(0, B)], expected: [(3, 3 * B), (2, 2 * B)], ..cost("its own is missing", raid6(), &[1]) },
    ];
    costs.iter().for_each(assert_cost);
}

#[test]
fn reads_cost_what_they_bring_or_a_stripe_where_a_member_is_missing() {
    let costs = [
        Cost { reads: &[(0, B)], expected: [(1, B), (0, 0)], ..cost("RAID5", raid5(), &[]) },
        Cost { reads: &[(0, 4 * C)], expected: [(4, 4 * C), (0, 0)], ..cost("RAID5, a row", raid5(), &[]) },
        Cost { reads: &[(0, B)], expected: [(1, B), (0, 0)], ..cost("RAID5, another is missing", raid5(), &[1]) },
        Cost { reads: &[(0, B)], expected: [(4, 4 * B), (0, 0)], ..cost("RAID5, its own is missing", raid5(), &[0]) },
        Cost { reads: &[(0, B)], expected: [(4, 4 * B), (0, 0)], ..cost("RAID6, its own is missing", raid6(), &[1]) },
        Cost { reads: &[(0, B)], expected: [(4, 4 * B), (0, 0)], ..cost("RAID6, two are missing", raid6(), &[1, 2]) },
        Cost {
            reads: &[(0, 4 * C)],
            expected: [(4, 4 * C), (0, 0)],
            ..cost("RAID5, a row with a member missing", raid5(), &[2])
        },
    ];
    costs.iter().for_each(assert_cost);
}

#[test]
fn levels_without_parity_write_each_copy_once_and_read_one() {
    let raid0 = || equal(Level::Raid0(Raid0Layout::Original), 4, 8);
    let raid1 = || equal(Level::Raid1, 3, 8);
    let near2 = || equal(raid10(2, 1, false, false), 4, 8);
    let costs = [
        Cost { writes: &[(0, 4 * C)], expected: [(0, 0), (4, 4 * C)], ..cost("RAID0", raid0(), &[]) },
        Cost { reads: &[(B, 2 * B)], expected: [(1, 2 * B), (0, 0)], ..cost("RAID0", raid0(), &[]) },
        Cost { writes: &[(0, 6 * C)], expected: [(0, 0), (3, 18 * C)], ..cost("RAID1", raid1(), &[]) },
        Cost { reads: &[(0, 6 * C)], expected: [(1, 6 * C), (0, 0)], ..cost("RAID1", raid1(), &[]) },
        Cost { writes: &[(0, C)], expected: [(0, 0), (2, 2 * C)], ..cost("RAID1, one is missing", raid1(), &[0]) },
        Cost { writes: &[(0, 2 * C)], expected: [(0, 0), (4, 4 * C)], ..cost("RAID10", near2(), &[]) },
        Cost { reads: &[(0, 2 * C)], expected: [(2, 2 * C), (0, 0)], ..cost("RAID10", near2(), &[]) },
    ];
    costs.iter().for_each(assert_cost);
}
