//! How stories end: all is made whole and nothing may differ; or what is lost gives errors, and all
//! else reads right.

use shoal_array::{CommandError, Health, Home, MemberIo, MemberState, Mismatch, Role, ScrubMode};

use super::disk::range_of;
use super::engine::Origin;
use super::model::BLOCK;
use super::story::{FAST, Story};
use super::{PATIENCE_STEPS, Rig};

impl Story {
    /// Everything is answered; all is made whole; then nothing may differ.
    pub(super) fn end_well(&mut self) {
        self.settle();
        self.set_background(FAST);
        self.stop_scrub();
        self.steps_until("scrubs have ended", |story| !story.scrubbing.contains(&true));
        self.spare_drives();
        self.rebuild_all();
        self.steps_until("resyncs have ended", |story| {
            story.rig.engines.iter().all(|engine| engine.array.resync_position().is_none())
        });
        self.settle();
        self.rewrite_discarded();
        self.scrub_all();
        self.rig.check_drives();
        if self.rig.random.one_in(3) {
            self.spoil_and_repair();
            self.rig.check_drives();
        }
        self.read_all(|_, _| true);
        for engine in &self.rig.engines {
            assert_eq!(engine.array.health(), Health::Optimal);
            assert!(engine.array.is_idle(), "nothing is left to do, but the engine is busy");
        }
    }

    /// What cannot be had gives an error, and all else reads right.
    pub(super) fn end_badly(&mut self) {
        self.settle();
        self.stop_scrub();
        self.set_background(FAST);
        for disk in &mut self.rig.disks {
            disk.fails_after = None;
        }
        self.read_all(|rig, offset| rig.can_be_had(0, offset));
        self.look();
    }

    fn settle(&mut self) {
        self.rig.drain(0);
        self.rig.settle();
        self.look();
    }

    fn steps_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let limit = self.rig.step + PATIENCE_STEPS;
        self.look();
        while !is_so(self) {
            assert!(self.rig.step(), "stuck before {what}");
            assert!(self.rig.step < limit, "no end in sight before {what}");
            self.look();
        }
    }

    /// Drives that would fail stay; those that are gone are taken out if the engine has not
    /// noticed.
    fn spare_drives(&mut self) {
        for engine in 0..self.rig.engines.len() {
            for role in self.rig.engines[engine].roles() {
                let Some(disk) = self.rig.engines[engine].disk(role) else { continue };
                self.rig.disks[disk].fails_after = None;
                if self.rig.disks[disk].is_gone && self.rig.engines[engine].state(role) != MemberState::Missing {
                    let now = self.rig.now;
                    assert_eq!(self.rig.engines[engine].array.fail_member(now, role), Ok(()));
                    self.rig.drain(engine);
                }
            }
        }
    }

    fn rebuild_all(&mut self) {
        let is_whole = |story: &Self| story.rig.engines.iter().all(|engine| engine.array.health() == Health::Optimal);
        let limit = self.rig.step + PATIENCE_STEPS;
        while !is_whole(self) {
            for engine in 0..self.rig.engines.len() {
                for role in self.rig.engines[engine].roles() {
                    if self.rig.engines[engine].state(role) == MemberState::Missing {
                        self.try_replace(engine, role);
                    }
                }
            }
            assert!(self.rig.step() || is_whole(self), "stuck in a rebuild");
            assert!(self.rig.step < limit, "a rebuild does not end");
            self.look();
        }
        self.settle();
    }

    fn rewrite_discarded(&mut self) {
        for block in 0..self.rig.capacity_bytes() / BLOCK {
            if self.rig.model.is_discarded(block) {
                self.write_to(block * BLOCK, BLOCK);
                self.settle();
            }
        }
    }

    /// Nothing disagrees, on any engine.
    fn scrub_all(&mut self) {
        self.mixed_discards = false;
        for engine in 0..self.rig.engines.len() {
            if self.rig.engines[engine].array.geometry().redundancy() == 0 {
                assert_eq!(self.scrub(engine, ScrubMode::Check), Err(CommandError::NoRedundancy));
            } else {
                self.scrub_through(engine, ScrubMode::Check);
                assert_eq!(self.mismatches[engine], vec![]);
            }
        }
    }

    fn scrub_through(&mut self, engine: usize, mode: ScrubMode) {
        let scrubs_before = self.tally.scrubs;
        assert_eq!(self.scrub(engine, mode), Ok(()));
        self.steps_until("the scrub has ended", |story| !story.scrubbing[engine]);
        assert_eq!(self.tally.scrubs, scrubs_before + 1, "the scrub did not go through");
        self.settle();
    }

    /// Parity and second copies are spoilt here and there: a scrub finds all of it and nothing
    /// else, and repairs it.
    fn spoil_and_repair(&mut self) {
        for engine in 0..self.rig.engines.len() {
            if self.rig.engines[engine].array.geometry().redundancy() == 0 {
                continue;
            }
            let spoilt = self.spoil(engine);
            self.is_spoilt = true;
            for mode in [ScrubMode::Check, ScrubMode::Repair] {
                self.scrub_through(engine, mode);
                let mut found = vec![];
                for Mismatch { role, member_range, repaired, offset, .. } in self.mismatches[engine].clone() {
                    assert_eq!(repaired, mode == ScrubMode::Repair);
                    assert!(offset < self.rig.engines[engine].array.geometry().capacity_bytes());
                    found.extend(member_range.step_by(BLOCK as usize).map(|block| (role, block)));
                }
                found.sort_unstable();
                assert_eq!(found, spoilt, "a scrub found something else than was spoilt");
            }
            self.is_spoilt = false;
        }
    }

    /// Changes a byte in some blocks of parity or of copies other than the first; returns which.
    fn spoil(&mut self, engine: usize) -> Vec<(Role, u64)> {
        let mut spoilt = vec![];
        for _ in 0..12 {
            let role = Role(self.rig.random.index(self.rig.engines[engine].stores.len()) as u16);
            let disk = self.rig.engines[engine].disk(role).expect("arrays with redundancy have drives as members");
            let geometry = self.rig.engines[engine].array.geometry();
            let block = self.rig.random.within(0..geometry.used_bytes(role) / BLOCK) * BLOCK;
            let is_first_copy = matches!(geometry.home(role, block), Home::Data { copy: 0, .. } | Home::Unused);
            if !is_first_copy && !spoilt.contains(&(role, block)) {
                let byte = block + self.rig.random.within(0..BLOCK);
                self.rig.disks[disk].content[byte as usize] ^= 0x10;
                spoilt.push((role, block));
            }
        }
        spoilt.sort_unstable();
        spoilt
    }

    /// Reads block by block, in any order; `can_be_had` says what must succeed.
    fn read_all(&mut self, can_be_had: impl Fn(&Rig, u64) -> bool) {
        let blocks = self.rig.capacity_bytes() / BLOCK;
        let first = self.rig.random.within(0..blocks);
        for block in (first..blocks).chain(0..first) {
            let offset = block * BLOCK;
            let expected = can_be_had(&self.rig, offset);
            let span = self.free_span(BLOCK);
            let id = self.rig.next_request();
            self.rig.submit(0, id, MemberIo::Read { offset, span }, Origin::Story);
            self.rig.settle();
            let answer = self.rig.answers.pop().expect("all is settled");
            assert_eq!(range_of(answer.open.io), (offset, BLOCK));
            // A mirror that failed, was kept, and is back is not believed where another should know
            // better, even if that one is lost.
            let is_fine = answer.result.is_ok() == expected || answer.result.is_err() && self.drives_come_back;
            assert!(is_fine, "block {block}: {:?}", answer.result);
            self.tally.lost_blocks += u64::from(!expected);
        }
    }
}
