//! What befalls the members in a story, and what is done about it: failures, sectors that cannot be
//! read, fresh drives, scrubs.

use shoal_array::{Background, BadBlocks, CommandError, MemberState, Regions, Resync, Role, ScrubMode};

use super::model::BLOCK;
use super::random::Random;
use super::story::{Faults, Story};

impl Story {
    /// Some engine whose members are drives, and one of its members.
    fn choose_member(&mut self) -> (usize, Role) {
        let engines: Vec<usize> =
            (0..self.rig.engines.len()).filter(|engine| self.rig.engines[*engine].disk(Role(0)).is_some()).collect();
        let engine = self.rig.random.choose(&engines);
        let role = self.rig.random.index(self.rig.engines[engine].stores.len());
        (engine, Role(role as u16))
    }

    /// Whether something may go wrong with a member now.
    fn may_harm(&mut self, engine: usize, role: Role) -> bool {
        if self.faults == Faults::Any {
            return true;
        }
        let state = &self.rig.engines[engine];
        let disk = |role: Role| &self.rig.disks[state.disk(role).expect("members are drives")];
        let imperfect =
            |other: &Role| *other == role || state.state(*other) != MemberState::InSync || !disk(*other).is_perfect();
        let geometry = state.array.geometry();
        match geometry.rows() {
            0 => !self.groups[engine].iter().any(|group| group.iter().all(imperfect)),
            _ => state.roles().filter(imperfect).count() <= geometry.redundancy(),
        }
    }

    pub(super) fn fail_by_command(&mut self) {
        let (engine, role) = self.choose_member();
        if self.rig.engines[engine].state(role) == MemberState::Missing || !self.may_harm(engine, role) {
            return;
        }
        let now = self.rig.now;
        self.rig.note(|| format!("engine {engine}: fail {role:?}"));
        let result = self.rig.engines[engine].array.fail_member(now, role);
        match self.faults {
            Faults::Survivable => assert_eq!(result, Ok(()), "{role:?} can be spared"),
            Faults::Any => assert!(matches!(result, Ok(()) | Err(CommandError::NoRedundancy)), "{result:?}"),
        }
        self.rig.drain(engine);
    }

    pub(super) fn fail_by_io(&mut self) {
        let (engine, role) = self.choose_member();
        if self.may_harm(engine, role) {
            let after = self.rig.random.within(0..40);
            let disk = self.rig.engines[engine].disk(role).expect("members are drives");
            self.rig.disks[disk].fails_after = Some(after);
        }
    }

    /// A drive that was gone answers again, without what it missed.
    pub(super) fn bring_back(&mut self) {
        let (engine, role) = self.choose_member();
        let disk = self.rig.engines[engine].disk(role).expect("members are drives");
        if self.drives_come_back && self.rig.disks[disk].is_gone {
            self.rig.disks[disk].is_gone = false;
            self.rig.note(|| format!("engine {engine}: {role:?} is back"));
        }
    }

    pub(super) fn make_unreadable(&mut self) {
        let (engine, role) = self.choose_member();
        if !self.may_harm(engine, role) {
            return;
        }
        let blocks = self.rig.engines[engine].array.geometry().used_bytes(role) / BLOCK;
        let disk = self.rig.engines[engine].disk(role).expect("members are drives");
        let first = self.rig.random.within(0..blocks);
        for block in first..(first + self.rig.random.within(1..12)).min(blocks) {
            self.rig.disks[disk].make_unreadable(block);
        }
        self.rig.note(|| format!("engine {engine}: {role:?} unreadable from block {first}"));
    }

    /// A fresh drive for a missing member.
    pub(super) fn replace_missing(&mut self) {
        let (engine, role) = self.choose_member();
        if self.rig.engines[engine].state(role) == MemberState::Missing {
            self.try_replace(engine, role);
        }
    }

    pub(super) fn try_replace(&mut self, engine: usize, role: Role) {
        // What is told of the drive before belongs to that one.
        self.look();
        let now = self.rig.now;
        let log = BadBlocks::new(self.rig.random.choose(&[0, 3, 512]));
        let array = &mut self.rig.engines[engine].array;
        let result = array.set_bad_blocks(role, log).and_then(|()| array.rebuild_member(now, role, 0, None));
        self.rig.note(|| format!("engine {engine}: rebuild {role:?}: {result:?}"));
        match result {
            Ok(()) => {
                let disk = self.rig.engines[engine].disk(role).expect("members are drives");
                self.rig.disks[disk].replace(&mut self.rig.random);
                self.rig.engines[engine].note_rebuild(role);
                self.rig.drain(engine);
            }
            Err(CommandError::Busy) => {}
            Err(CommandError::NoRedundancy) if self.faults == Faults::Any => {}
            Err(error) => panic!("{role:?} cannot be rebuilt: {error:?}"),
        }
    }

    /// Parity and copies are said to disagree perhaps, where they do not.
    pub(super) fn cast_doubt(&mut self) {
        let engine = self.rig.random.index(self.rig.engines.len());
        let now = self.rig.now;
        let array = &mut self.rig.engines[engine].array;
        let total = array.geometry().sync_bytes();
        let start = self.rig.random.within(0..total / BLOCK + 1) * BLOCK;
        let only = self.rig.random.one_in(2).then(|| {
            let mut regions = Regions::new(self.rig.random.choose(&[4096, 12288, 65536]), total);
            regions.insert(start..start + 8192);
            regions
        });
        let position = if only.is_some() { 0 } else { start };
        let result = array.resync(now, Resync { position, only });
        let is_fine = matches!(result, Ok(()) | Err(CommandError::Busy | CommandError::NoRedundancy));
        assert!(is_fine, "a resync is refused: {result:?}");
        self.rig.note(|| format!("engine {engine}: resync from {position}: {result:?}"));
        self.rig.drain(engine);
    }

    pub(super) fn start_scrub(&mut self) {
        let engine = self.rig.random.index(self.rig.engines.len());
        let mode = self.rig.random.choose(&[ScrubMode::Check, ScrubMode::Repair]);
        let result = self.scrub(engine, mode);
        let is_fine = matches!(result, Ok(()) | Err(CommandError::Busy | CommandError::NoRedundancy));
        assert!(is_fine, "a scrub is refused: {result:?}");
    }

    pub(super) fn scrub(&mut self, engine: usize, mode: ScrubMode) -> Result<(), CommandError> {
        // The end of the scrub before is counted with its own mismatches.
        self.look();
        let now = self.rig.now;
        let result = self.rig.engines[engine].array.scrub(now, mode);
        self.rig.note(|| format!("engine {engine}: scrub {mode:?}: {result:?}"));
        if result.is_ok() {
            self.scrubbing[engine] = true;
            self.mismatches[engine].clear();
        }
        self.rig.drain(engine);
        result
    }

    pub(super) fn stop_scrub(&mut self) {
        for engine in 0..self.rig.engines.len() {
            self.rig.engines[engine].array.stop_scrub(self.rig.now);
            self.rig.drain(engine);
        }
    }

    pub(super) fn change_background(&mut self) {
        let background = random_background(&mut self.rig.random);
        self.set_background(background);
    }

    pub(super) fn set_background(&mut self, background: Background) {
        for engine in 0..self.rig.engines.len() {
            self.rig.engines[engine].array.set_background(self.rig.now, background);
            self.rig.drain(engine);
        }
    }
}

/// Any pace.
pub(super) fn random_background(random: &mut Random) -> Background {
    let rate_min_bytes_per_s = random.choose(&[1, 1 << 20, 1 << 24, 1 << 30]);
    let rate_max_bytes_per_s = rate_min_bytes_per_s.max(random.choose(&[1 << 22, 1 << 28, 1 << 33]));
    Background { rate_min_bytes_per_s, rate_max_bytes_per_s, depth: random.within(1..5) as u32 }
}
