//! Members that were away and come back: only what changed is copied, and nothing is lost that is
//! written meanwhile.

use alloc::vec;

use super::*;

const REGIONS: [u64; 4] = [4096, 8192, 512, 5 * 4096];

/// A story of one member that leaves and comes back.
struct Story {
    rig: Rig,
    model: Vec<u8>,
    /// Requests in flight, by the blocks they are on.
    live: Vec<(RequestId, core::ops::Range<u64>, bool)>,
    role: Role,
    /// Writes that were answered with an error: what they were for is old or new.
    refused: Vec<core::ops::Range<u64>>,
}

impl Story {
    fn new(level: Level, member_count: usize, seed: u64) -> Self {
        let chunk_bytes = [4096, 16384][(seed % 2) as usize];
        let mut rig = Rig::new(shape(level, member_count, chunk_bytes, 6), seed);
        let capacity = rig.array.geometry().capacity_bytes();
        let model = pattern(capacity, 1);
        rig.write(0, &model).unwrap();
        let role = Role(rig.random(member_count as u64) as u16);
        fail(&mut rig, role.0);
        Self { rig, model, live: vec![], role, refused: vec![] }
    }

    /// A range that no request in flight touches.
    fn choose(&mut self) -> Option<core::ops::Range<u64>> {
        let blocks = self.model.len() as u64 / BLOCK;
        let most = [1, 4, 30][self.rig.random(3) as usize];
        let count = 1 + self.rig.random(most);
        let start = self.rig.random(blocks);
        let range = start * BLOCK..(start + count).min(blocks) * BLOCK;
        let is_free = !self.live.iter().any(|(_, other, _)| other.start < range.end && range.start < other.end);
        is_free.then_some(range)
    }

    fn submit(&mut self) -> Option<core::ops::Range<u64>> {
        let range = self.choose()?;
        let is_write = self.rig.random(3) > 0;
        let id = if is_write {
            let seed = self.rig.random(256) as u8;
            let bytes = pattern(range.end - range.start, seed);
            self.model[range.start as usize..range.end as usize].copy_from_slice(&bytes);
            self.rig.submit_write(range.start, &bytes)
        } else {
            self.rig.submit_read(range.start, range.end - range.start)
        };
        self.live.push((id, range.clone(), is_write));
        is_write.then_some(range)
    }

    /// Looks at what was answered.
    fn reap(&mut self, may_fail: bool) {
        let rig = &mut self.rig;
        let model = &self.model;
        self.live.retain(|(id, range, is_write)| {
            let Some(result) = rig.result(*id) else { return true };
            let bytes = rig.take_bytes(*id);
            assert!(result.is_ok() || may_fail, "{result:?} of {range:?}");
            if result.is_err() && *is_write {
                self.refused.push(range.clone());
            }
            let is_right = bytes == model[range.start as usize..range.end as usize];
            assert!(result.is_err() || *is_write || is_right, "wrong bytes in {range:?}");
            false
        });
        rig.events.retain(|event| !matches!(event, Event::Completed(_)));
    }

    fn go_on(&mut self, count: u64, may_fail: bool) {
        for _ in 0..count {
            match self.rig.random(4) {
                0 if self.live.len() < 8 => drop(self.submit()),
                _ => drop(self.rig.step()),
            }
            self.reap(may_fail);
        }
    }

    /// Writes while the member is away, of which somebody keeps account; and some more, of which
    /// nobody does, that are not answered when it comes back.
    fn come_back(&mut self, region_bytes: u64) {
        let geometry = self.rig.array.geometry().clone();
        let mut regions = Regions::new(region_bytes, geometry.sync_bytes());
        for _ in 0..self.rig.random(12) {
            if let Some(range) = self.submit() {
                regions.insert(geometry.sync_range(range.start, range.end - range.start));
            }
            self.rig.run();
            self.reap(false);
        }
        let mut unaccounted = vec![];
        for _ in 0..self.rig.random(6) {
            unaccounted.extend(self.submit());
            for _ in 0..self.rig.random(4) {
                self.rig.step();
            }
        }
        self.reap(false);
        unaccounted.retain(|range| !self.live.iter().any(|(_, live, _)| live == range));
        for range in unaccounted {
            regions.insert(geometry.sync_range(range.start, range.end - range.start));
        }
        self.rig.array.rebuild_member(self.rig.now, self.role, 0, Some(regions)).unwrap();
    }
}

fn levels() -> Vec<(Level, usize)> {
    let far2 = Level::Raid10(Raid10Layout { near: 1, far: 2, offset: false, far_sets: false });
    let offset2 = Level::Raid10(Raid10Layout { near: 1, far: 2, offset: true, far_sets: false });
    vec![
        (Level::Raid1, 2),
        (Level::Raid1, 3),
        (Level::Raid4, 4),
        (RAID5, 3),
        (RAID5, 5),
        (RAID6, 5),
        (NEAR2, 3),
        (NEAR2, 4),
        (far2, 3),
        (offset2, 4),
    ]
}

#[test]
fn a_member_that_comes_back_under_load_is_right_everywhere() {
    for seed in 1..60 {
        for (level, member_count) in levels() {
            std::println!("{level:?} of {member_count}, seed {seed}");
            let mut story = Story::new(level, member_count, seed);
            story.come_back(REGIONS[(seed / 2 % 4) as usize]);
            story.go_on(400, false);
            story.rig.run();
            story.reap(false);
            assert_eq!(story.rig.array.health(), Health::Optimal);
            story.rig.array.scrub(story.rig.now, ScrubMode::Check).unwrap();
            story.rig.run();
            let finished = Event::ScrubFinished { mismatched_bytes: 0, completed: true };
            assert_eq!(story.rig.events.last(), Some(&finished));
            let capacity = story.model.len() as u64;
            assert!(story.rig.read(0, capacity).unwrap() == story.model);
        }
    }
}

#[test]
fn a_second_failure_while_a_member_comes_back_gives_errors_at_worst() {
    let mut answers = [0, 0];
    for seed in 1..60 {
        for (level, member_count) in levels() {
            std::println!("{level:?} of {member_count}, seed {seed}");
            let mut story = Story::new(level, member_count, seed);
            story.come_back(REGIONS[(seed / 2 % 4) as usize]);
            let steps = story.rig.random(60);
            story.go_on(steps, false);
            let second = story.rig.random(member_count as u64) as u16;
            let _ = story.rig.array.fail_member(story.rig.now, Role(second));
            story.rig.run();
            story.reap(true);
            let capacity = story.model.len() as u64;
            for offset in (0..capacity).step_by(BLOCK as usize) {
                let read = story.rig.read(offset, BLOCK);
                answers[usize::from(read.is_ok())] += 1;
                if story.refused.iter().any(|range| range.contains(&offset)) {
                    continue;
                }
                let right = &story.model[offset as usize..][..BLOCK as usize];
                assert!(read.is_err() || read.unwrap() == right, "{offset}");
            }
        }
    }
    assert!(answers[1] > 10_000, "{answers:?}");
}

#[test]
fn only_what_changed_is_copied() {
    for (level, member_count) in levels() {
        let mut rig = Rig::new(shape(level, member_count, CHUNK, 64), 1);
        let geometry = rig.array.geometry().clone();
        let capacity = geometry.capacity_bytes();
        rig.write(0, &pattern(capacity, 1)).unwrap();
        fail(&mut rig, 0);
        let mut regions = Regions::new(8192, geometry.sync_bytes());
        let on_member = (0..64).filter_map(|row| match geometry.home(Role(0), row * u64::from(CHUNK)) {
            Home::Data { offset, .. } => Some(offset),
            _ => None,
        });
        let offset = on_member.into_iter().nth(9).unwrap();
        rig.write(offset, &pattern(BLOCK, 2)).unwrap();
        regions.insert(geometry.sync_range(offset, BLOCK));
        rig.written.fill(0);
        rig.array.rebuild_member(rig.now, Role(0), 0, Some(regions)).unwrap();
        rig.run();
        assert_eq!(rig.array.health(), Health::Optimal);
        assert!((BLOCK..=8192).contains(&rig.written[0]), "{level:?}: {} bytes", rig.written[0]);
        let mut expected = pattern(capacity, 1);
        expected[offset as usize..][..BLOCK as usize].copy_from_slice(&pattern(BLOCK, 2));
        assert!(rig.read(0, capacity).unwrap() == expected);
    }
}

#[test]
fn what_a_member_that_came_back_holds_is_read_from_it() {
    let (mut rig, capacity) = filled(RAID5, 3);
    fail(&mut rig, 0);
    let slow = Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1, depth: 1 };
    rig.array.set_background(rig.now, slow);
    let mut regions = Regions::new(u64::from(CHUNK), 8 * u64::from(CHUNK));
    regions.insert(3 * u64::from(CHUNK)..6 * u64::from(CHUNK));
    rig.array.rebuild_member(rig.now, Role(0), 0, Some(regions)).unwrap();
    rig.poll();
    fail(&mut rig, 1);
    // One step was under way, for row 3. Rows 4 and 5 have lost two members, the others one.
    let row = 2 * u64::from(CHUNK);
    for offset in (0..capacity).step_by(CHUNK as usize) {
        let is_held = !(4..6).contains(&(offset / row)) || rig.array.geometry().piece(offset, 1).copies[0].0 == Role(2);
        let id = rig.submit_read(offset, u64::from(CHUNK));
        while rig.result(id).is_none() {
            rig.step();
        }
        let bytes = rig.take_bytes(id);
        assert_eq!(rig.result(id) == Some(Ok(())), is_held, "{offset}");
        assert!(!is_held || bytes == pattern(capacity, 1)[offset as usize..][..CHUNK as usize]);
    }
}

#[test]
fn a_rebuild_that_had_stopped_keeps_what_it_knows() {
    let (mut rig, capacity) = filled(RAID5, 3);
    fail(&mut rig, 0);
    rig.members[0].fill(0x77);
    rig.unreadable.push((1, 30));
    rig.array.rebuild_member(rig.now, Role(0), 0, None).unwrap();
    rig.run();
    // Nothing of what lies beyond is up to date, whatever is said.
    rig.unreadable.clear();
    let nothing = Regions::new(4096, 8 * u64::from(CHUNK));
    rig.array.rebuild_member(rig.now, Role(0), u64::MAX, Some(nothing)).unwrap();
    rig.run();
    assert_eq!(rig.array.health(), Health::Optimal);
    assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
}
