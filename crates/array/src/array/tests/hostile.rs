//! More failures than any level survives: answers may be errors then, but never wrong bytes, panics
//! or silence.
//!
//! Every block written carries a number of its own. After a write that failed, a block may hold the
//! old number or the new one; the first read that succeeds settles which.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use super::{
    fuzz::levels,
    rig::{BLOCK, Rig, shape},
};
use crate::*;

enum Sent {
    Read { block: u64 },
    Write { block: u64, count: u64, number: u32 },
}

struct Hostile {
    rig: Rig,
    sent: BTreeMap<u64, Sent>,
    /// What each block may hold.
    may_hold: Vec<Vec<u32>>,
    numbers: u32,
    answers: [usize; 2],
}

impl Hostile {
    fn new(level: Level, member_count: usize, seed: u64) -> Self {
        let rig = Rig::new(shape(level, member_count, [4096, 16384][(seed % 2) as usize], 4), seed);
        let blocks = rig.array.geometry().capacity_bytes() / BLOCK;
        let may_hold = vec![vec![0]; blocks as usize];
        Self { rig, sent: BTreeMap::new(), may_hold, numbers: 0, answers: [0; 2] }
    }

    fn request(&mut self) {
        let blocks = self.may_hold.len() as u64;
        let most = [1, 8, 40][self.rig.random(3) as usize];
        let count = (1 + self.rig.random(most)).min(blocks);
        let block = self.rig.random(blocks - count + 1);
        let id = if self.rig.random(2) == 0 {
            let id = self.rig.submit_read(block * BLOCK, count * BLOCK);
            self.sent.insert(id.number, Sent::Read { block });
            id
        } else {
            self.numbers += 1;
            let bytes: Vec<u8> = self.numbers.to_le_bytes().repeat((count * BLOCK / 4) as usize);
            let id = self.rig.submit_write(block * BLOCK, &bytes);
            self.sent.insert(id.number, Sent::Write { block, count, number: self.numbers });
            id
        };
        assert!(self.sent.contains_key(&id.number));
    }

    fn trouble(&mut self) {
        let count = self.rig.members.len() as u64;
        let role = self.rig.random(count) as u16;
        let (now, random) = (self.rig.now, self.rig.random(10));
        let array = &mut self.rig.array;
        match random {
            0 => drop(array.fail_member(now, Role(role))),
            1 => self.rig.gone.push(role),
            2 => self.rig.gone.clear(),
            3..6 => {
                let blocks = self.rig.members[usize::from(role)].len() as u64 / BLOCK;
                let block = self.rig.random(blocks);
                self.rig.unreadable.push((role, block));
            }
            6 | 7 => {
                if array.member_states()[usize::from(role)] == MemberState::Missing
                    && array.rebuild_member(now, Role(role), 0, None).is_ok()
                {
                    self.rig.members[usize::from(role)].fill(0x77);
                    self.rig.unreadable.retain(|(bad, _)| *bad != role);
                    self.rig.gone.retain(|gone| *gone != role);
                }
            }
            8 => drop(array.scrub(now, ScrubMode::Check)),
            _ => drop(array.scrub(now, ScrubMode::Repair)),
        }
    }

    fn reap(&mut self) {
        for event in core::mem::take(&mut self.rig.events) {
            let Event::Completed(Completion { id, result }) = event else { continue };
            let bytes = self.rig.take_bytes(id);
            self.answers[usize::from(result.is_ok())] += 1;
            match self.sent.remove(&id.number).expect("one answer to each request") {
                Sent::Write { block, count, number } => {
                    for may in &mut self.may_hold[block as usize..(block + count) as usize] {
                        if result.is_ok() {
                            may.clear();
                        }
                        may.push(number);
                    }
                }
                Sent::Read { block } if result.is_ok() => self.check(block, &bytes),
                Sent::Read { .. } => {}
            }
        }
    }

    fn check(&mut self, first: u64, bytes: &[u8]) {
        for (bytes, block) in bytes.chunks(BLOCK as usize).zip(first..) {
            let held = u32::from_le_bytes(bytes[..4].try_into().unwrap());
            let may = &mut self.may_hold[block as usize];
            assert!(bytes.chunks(4).all(|word| word == held.to_le_bytes()), "block {block} is torn");
            assert!(may.contains(&held), "block {block} holds {held}, not one of {may:?}");
            *may = vec![held];
        }
    }

    fn run(mut self, steps: usize) -> [usize; 2] {
        for _ in 0..steps {
            match self.rig.random(40) {
                0..8 if self.sent.len() < 12 => self.request(),
                8 if self.rig.random(6) == 0 => self.trouble(),
                _ => drop(self.rig.step()),
            }
            self.reap();
        }
        self.rig.run();
        self.reap();
        assert!(self.sent.is_empty(), "every request is answered");
        assert!(self.rig.array.is_idle());
        for block in 0..self.may_hold.len() as u64 {
            self.rig.submit_read(block * BLOCK, BLOCK);
            self.sent.insert(self.rig.last_id(), Sent::Read { block });
            self.rig.run();
            self.reap();
        }
        self.answers
    }
}

#[test]
fn random_failures_beyond_the_limit() {
    let mut answers = [0; 2];
    for seed in 1..40 {
        for (level, member_count) in levels() {
            std::println!("{level:?} of {member_count}, seed {seed}");
            let [failed, done] = Hostile::new(level, member_count, seed).run(2000);
            answers = [answers[0] + failed, answers[1] + done];
        }
    }
    assert!(answers.into_iter().all(|count| count > 1000), "both errors and data: {answers:?}");
}
