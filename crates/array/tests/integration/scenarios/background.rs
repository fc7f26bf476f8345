//! Rebuilds beside a load: neither starves. Drives here serve one I/O at a time, and each takes 100
//! microseconds.

use shoal_array::{Background, Event, Level, ParityLayout, Role};

use super::Scene;
use crate::rig::Schedule;
use crate::rig::model::BLOCK;
use crate::rig::shapes::{Topology, equal, raid10};

const MIB: u64 = 1 << 20;
const SERVICE_NS: u64 = 100_000;
const DEPTH: usize = 16;

/// What a load came to.
struct Load {
    time_ns: u64,
    slowest_ns: u64,
    rebuilt_bytes: u64,
}

fn scene(topology: &Topology, background: Background) -> Scene {
    let mut scene = Scene::new(topology, &[Role(1)], background);
    scene.rig.schedule = Schedule::Served { service_ns: SERVICE_NS };
    scene
}

/// Random reads and writes of a block, sixteen at a time, for as long as `count` of them take.
fn load(scene: &mut Scene, count: usize) -> Load {
    let start = scene.rig.now;
    let blocks = scene.rig.capacity_bytes() / BLOCK;
    let (mut submitted, mut slowest_ns) = (std::collections::HashMap::new(), 0);
    for _ in 0..count {
        while scene.rig.engines[0].open.len() >= DEPTH {
            assert!(scene.rig.step(), "stuck under load");
            for answer in scene.rig.answers.drain(..) {
                assert_eq!(answer.result, Ok(()));
                let since: shoal_array::Instant = submitted.remove(&answer.open.id).unwrap();
                slowest_ns = slowest_ns.max(scene.rig.now.since_ns(since));
            }
        }
        let offset = scene.rig.random.within(0..blocks) * BLOCK;
        if scene.rig.random.one_in(2) {
            scene.read(offset, BLOCK)
        } else {
            scene.write(offset, BLOCK)
        }
        let id = scene.rig.engines[0].open.last().unwrap().id;
        submitted.insert(id, scene.rig.now);
        scene.rig.drain(0);
    }
    let rebuilt_bytes = scene.rig.engines[0].array.progress().map_or(0, |progress| progress.done_bytes);
    Load { time_ns: scene.rig.now.since_ns(start), slowest_ns, rebuilt_bytes }
}

fn start_rebuild(scene: &mut Scene) {
    scene.rig.engines[0].array.rebuild_member(scene.rig.now, Role(1), 0, None).unwrap();
    scene.rig.drain(0);
}

fn arrays() -> [Topology; 4] {
    [
        equal(Level::Raid1, 2, 256),
        equal(raid10(2, 1, false, false), 4, 256),
        equal(Level::Raid5(ParityLayout::LeftSymmetric), 4, 256),
        equal(Level::Raid6(ParityLayout::LeftSymmetric), 6, 256),
    ]
}

#[test]
fn a_rebuild_keeps_its_least_rate_under_load_and_the_load_goes_on() {
    let background = Background { rate_min_bytes_per_s: 2 * MIB, rate_max_bytes_per_s: 1 << 40, depth: 4 };
    for topology in arrays() {
        let alone = load(&mut scene(&topology, background), 3000);
        let mut beside = scene(&topology, background);
        start_rebuild(&mut beside);
        let shared = load(&mut beside, 3000);
        let promised_bytes = u128::from(shared.time_ns) * u128::from(background.rate_min_bytes_per_s) / 1_000_000_000;
        let promised_bytes = (promised_bytes as u64 * 3 / 4).min(MIB / 2);
        assert!(shared.rebuilt_bytes >= promised_bytes, "{} of {promised_bytes} bytes rebuilt", shared.rebuilt_bytes);
        assert!(shared.time_ns < 2 * alone.time_ns, "the load took {} instead of {} ns", shared.time_ns, alone.time_ns);
        assert!(shared.slowest_ns < 4 * alone.slowest_ns, "{} instead of {} ns", shared.slowest_ns, alone.slowest_ns);
    }
}

#[test]
fn a_rebuild_of_an_idle_array_goes_at_the_greatest_rate() {
    for topology in arrays() {
        let background = Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 8 * MIB, depth: 4 };
        let mut scene = scene(&topology, background);
        let start = scene.rig.now;
        start_rebuild(&mut scene);
        scene.rig.wait_for(0, |event| matches!(event, Event::RebuildFinished(Role(1))).then_some(()));
        let ms = scene.rig.now.since_ns(start) / 1_000_000;
        assert!((110..=145).contains(&ms), "1 MiB at 8 MiB/s took {ms} ms");
    }
}
