//! Random requests, failures and rebuilds on every level against a flat array of bytes.

use alloc::{vec, vec::Vec};

use super::rig::{BLOCK, Rig, shape};
use crate::*;

const LAYOUT10: Raid10Layout = Raid10Layout { near: 2, far: 1, offset: false, far_sets: false };

pub(super) fn levels() -> Vec<(Level, usize)> {
    vec![
        (Level::Linear, 3),
        (Level::Raid0(Raid0Layout::Original), 3),
        (Level::Raid1, 3),
        (Level::Raid4, 4),
        (Level::Raid5(ParityLayout::LeftSymmetric), 3),
        (Level::Raid5(ParityLayout::LeftSymmetric), 5),
        (Level::Raid6(ParityLayout::LeftSymmetric), 4),
        (Level::Raid6(ParityLayout::LeftSymmetric), 6),
        (Level::Raid6(ParityLayout::DdfNContinue), 5),
        (Level::Raid10(LAYOUT10), 4),
        (Level::Raid10(LAYOUT10), 5),
        (Level::Raid10(Raid10Layout { near: 1, far: 2, ..LAYOUT10 }), 4),
    ]
}

struct Live {
    id: RequestId,
    offset: u64,
    /// What a read must find, as of submission.
    expected: Option<Vec<u8>>,
}

struct Fuzz {
    rig: Rig,
    model: Vec<u8>,
    live: Vec<Live>,
    survives: usize,
    steps: usize,
}

impl Fuzz {
    fn reap(&mut self, is_clean: bool) {
        let mut index = 0;
        while index < self.live.len() {
            let Some(result) = self.rig.result(self.live[index].id) else {
                index += 1;
                continue;
            };
            let live = self.live.swap_remove(index);
            let bytes = self.rig.take_bytes(live.id);
            assert!(!is_clean || result.is_ok(), "{result:?}");
            if let (Some(expected), Ok(())) = (live.expected, result) {
                let wrong = expected.iter().zip(&bytes).position(|(left, right)| left != right);
                assert_eq!(wrong, None, "read at {} of {}", live.offset, bytes.len());
            }
        }
        self.rig.events.retain(|event| !matches!(event, Event::Completed(_)));
    }

    fn request(&mut self) {
        let capacity = self.model.len() as u64;
        let longest = [1, 8, 64][self.rig.random(3) as usize];
        let length = (1 + self.rig.random(longest)) * BLOCK;
        let length = length.min(capacity);
        let offset = self.rig.random((capacity - length) / BLOCK + 1) * BLOCK;
        let (start, end) = (offset as usize, (offset + length) as usize);
        if self.rig.random(2) == 0 {
            let expected = Some(self.model[start..end].to_vec());
            let id = self.rig.submit_read(offset, length);
            self.live.push(Live { id, offset, expected });
        } else {
            let seed = self.rig.random(u64::MAX);
            let bytes: Vec<_> = (0..length).map(|at| (seed >> (at % 8 * 8)) as u8 ^ (at / 512) as u8).collect();
            self.model[start..end].copy_from_slice(&bytes);
            let id = self.rig.submit_write(offset, &bytes);
            self.live.push(Live { id, offset, expected: None });
        }
    }

    fn lost(&self) -> usize {
        let states = self.rig.array.member_states().iter().zip(0..);
        states.filter(|(state, role)| **state != MemberState::InSync || self.rig.gone.contains(role)).count()
    }

    fn trouble(&mut self) {
        let role = self.rig.random(self.rig.members.len() as u64) as u16;
        let state = self.rig.array.member_states()[usize::from(role)];
        match self.rig.random(8) {
            0 if self.lost() < self.survives => {
                let now = self.rig.now;
                let _ = self.rig.array.fail_member(now, Role(role));
            }
            1 if self.lost() < self.survives && self.rig.gone.is_empty() => self.rig.gone.push(role),
            2 | 3 if state == MemberState::Missing => {
                self.rig.gone.retain(|gone| *gone != role);
                let now = self.rig.now;
                if self.rig.array.rebuild_member(now, Role(role), 0, None).is_ok() {
                    self.rig.members[usize::from(role)].fill(0x77);
                    self.rig.unreadable.retain(|(bad, _)| *bad != role);
                }
            }
            4 if self.lost() == 0
                && self.survives > 0
                && self.rig.gone.is_empty()
                && self.rig.unreadable.is_empty() =>
            {
                let blocks = self.rig.members[usize::from(role)].len() as u64 / BLOCK;
                let block = self.rig.random(blocks);
                self.rig.unreadable.push((role, block));
            }
            5 => {
                let mode = if self.rig.random(2) == 0 { ScrubMode::Check } else { ScrubMode::Repair };
                let now = self.rig.now;
                let _ = self.rig.array.scrub(now, mode);
            }
            6 => self.rig.array.stop_scrub(self.rig.now),
            _ => {}
        }
    }

    fn run(&mut self) {
        for _ in 0..self.steps {
            match self.rig.random(20) {
                0..4 if self.live.len() < 12 => self.request(),
                4 if self.rig.random(10) == 0 && self.rig.unreadable.is_empty() => self.trouble(),
                _ => {
                    self.rig.step();
                    self.reap(true);
                }
            }
        }
        self.rig.run();
        self.reap(true);
        assert!(self.live.is_empty());
        assert!(self.rig.array.is_idle());
        self.finish();
    }

    fn finish(&mut self) {
        let capacity = self.model.len() as u64;
        assert!(self.rig.read(0, capacity).unwrap() == self.model, "content before the rebuild");
        for role in 0..self.rig.members.len() as u16 {
            self.rig.gone.retain(|gone| *gone != role);
            if self.rig.array.member_states()[usize::from(role)] == MemberState::Missing {
                self.rig.members[usize::from(role)].fill(0x55);
                self.rig.array.rebuild_member(self.rig.now, Role(role), 0, None).unwrap();
            }
        }
        self.rig.run();
        assert_eq!(self.rig.array.health(), Health::Optimal);
        assert!(self.rig.read(0, capacity).unwrap() == self.model, "content after the rebuild");
        if self.survives > 0 {
            self.rig.events.clear();
            self.rig.array.scrub(self.rig.now, ScrubMode::Check).unwrap();
            self.rig.run();
            let wrong: Vec<_> = self.rig.events.iter().filter(|event| matches!(event, Event::Mismatch(_))).collect();
            assert!(wrong.is_empty(), "{wrong:?}");
            assert!(matches!(self.rig.events.last(), Some(Event::ScrubFinished { completed: true, .. })));
        }
    }
}

#[test]
fn random_work_on_every_level() {
    for seed in 1..40 {
        for (level, count) in levels() {
            let chunk_bytes = [4096, 16384][(seed % 2) as usize];
            let rig = Rig::new(shape(level, count, chunk_bytes, 6), seed);
            let geometry = rig.array.geometry();
            let (capacity, survives) = (geometry.capacity_bytes(), geometry.redundancy());
            let model = vec![0; capacity as usize];
            std::println!("{level:?} of {count}, seed {seed}");
            Fuzz { rig, model, live: vec![], survives, steps: 3000 }.run();
        }
    }
}
