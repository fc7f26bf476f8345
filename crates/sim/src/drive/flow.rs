//! How data flow through a drive: between its medium, its buffers and its buses.

use crate::bus::{Load, Owner, Wiring};

use super::{Direction, Drive, Phase};

impl Drive {
    /// The next quantum of the present command begins its way, if it can.
    pub(super) fn source(&mut self, wiring: &mut Wiring) {
        if self.phase != Phase::Data || self.unsent_bytes == 0 || !self.pipeline.is_free(0) {
            return;
        }
        let most = match self.direction {
            Direction::Read => u32::try_from(self.buffered_bytes).map_or(self.page_bytes, |it| it.min(self.page_bytes)),
            Direction::Write => {
                let position = self.work.offset + u64::from(self.work.length - self.unsent_bytes);
                self.mechanism.quantum_bytes(position, self.page_bytes)
            }
        };
        let bytes = most.min(self.unsent_bytes);
        if bytes > 0 && self.may_enter(0) {
            self.unsent_bytes -= bytes;
            self.enter(0, bytes, wiring);
        }
    }

    /// Whether a quantum may begin a stage: into the buffers only if there is room for a page.
    fn may_enter(&self, stage: usize) -> bool {
        self.direction == Direction::Read || !self.pipeline.is_last(stage) || self.has_room()
    }

    fn has_room(&self) -> bool {
        self.buffered_bytes + u64::from(self.page_bytes) <= self.buffer_bytes
    }

    fn enter(&mut self, stage: usize, bytes: u32, wiring: &mut Wiring) {
        self.pipeline.enter(stage, bytes);
        let channel = self.direction.of(&self.routes)[stage];
        let owner = Owner::Drive { drive: self.number, stage: stage as u32 };
        wiring.offer(channel, Load { owner, bytes });
    }

    /// A quantum has crossed the channel of a stage.
    pub(crate) fn arrived(&mut self, stage: usize, wiring: &mut Wiring) {
        let bytes = self.pipeline.cross(stage);
        if stage == 0 && self.direction == Direction::Read {
            self.buffered_bytes -= u64::from(bytes);
            self.read_ahead(wiring);
        }
        if !self.pipeline.is_last(stage) {
            self.hand_on(stage, wiring);
            return;
        }
        self.pipeline.leave(stage);
        self.deliver(bytes, wiring);
        self.fill(stage, wiring);
    }

    /// A stage has become free.
    fn fill(&mut self, stage: usize, wiring: &mut Wiring) {
        match stage.checked_sub(1) {
            Some(before) => self.hand_on(before, wiring),
            None => self.source(wiring),
        }
    }

    /// The quantum across a stage goes on to the next, if there is one and it can.
    fn hand_on(&mut self, stage: usize, wiring: &mut Wiring) {
        let Some(bytes) = self.pipeline.across(stage) else { return };
        if self.pipeline.is_free(stage + 1) && self.may_enter(stage + 1) {
            self.pipeline.leave(stage);
            self.enter(stage + 1, bytes, wiring);
            self.fill(stage, wiring);
        }
    }

    /// A quantum is where it belongs.
    fn deliver(&mut self, bytes: u32, wiring: &mut Wiring) {
        self.left_bytes -= bytes;
        if self.direction == Direction::Write {
            self.buffered_bytes += u64::from(bytes);
            self.program(wiring);
        }
        self.end_data_phase(wiring);
    }

    /// Ends the data phase if nothing is left, and, where writes go through, everything is on the
    /// medium.
    fn end_data_phase(&mut self, wiring: &mut Wiring) {
        let waits_for_medium = self.writes_through && self.direction == Direction::Write && self.buffered_bytes > 0;
        if self.left_bytes == 0 && !waits_for_medium {
            self.begin_status(wiring);
        }
    }

    /// The medium has finished a step.
    pub(crate) fn medium_turn(&mut self, wiring: &mut Wiring) {
        self.active_ns = wiring.now_ns;
        let bytes = u64::from(std::mem::take(&mut self.medium_step_bytes));
        match self.direction {
            Direction::Read => {
                let passed_bytes = self.gap_bytes.min(bytes);
                self.gap_bytes -= passed_bytes;
                self.buffered_bytes += bytes - passed_bytes;
                self.read_ahead(wiring);
                self.source(wiring);
            }
            Direction::Write => {
                self.buffered_bytes -= bytes;
                self.program(wiring);
                if self.phase == Phase::Data {
                    self.end_data_phase(wiring);
                    self.fill(self.pipeline.last(), wiring);
                }
            }
        }
        if self.medium_step_bytes == 0 {
            wiring.timers.clear(self.medium_timer());
        }
    }

    /// The medium reads on if there is room.
    pub(super) fn read_ahead(&mut self, wiring: &mut Wiring) {
        if self.medium_step_bytes > 0 || self.medium_position >= self.size_bytes {
            return;
        }
        if !self.has_room() {
            self.rests_from_reading = self.mechanism.reads_in_bursts();
            return;
        }
        if self.rests_from_reading && self.buffered_bytes > self.buffer_bytes / 2 {
            return;
        }
        self.rests_from_reading = false;
        let wanted = if self.phase == Phase::Data { u64::from(self.unsent_bytes) } else { 0 };
        let wanted = (wanted + self.gap_bytes).saturating_sub(self.buffered_bytes);
        let (bytes, step_ns) = self.mechanism.read_step(wiring.now_ns, self.medium_position, wanted);
        self.medium_step_bytes = bytes;
        self.medium_position += u64::from(bytes);
        wiring.timers.set(self.medium_timer(), wiring.after_ns(step_ns));
    }

    /// The medium programs what waits, if it is free.
    fn program(&mut self, wiring: &mut Wiring) {
        if self.medium_step_bytes == 0 && self.buffered_bytes > 0 {
            let (bytes, step_ns) = self.write_step(wiring.now_ns);
            self.medium_step_bytes = bytes;
            wiring.timers.set(self.medium_timer(), wiring.after_ns(step_ns));
        }
    }

    fn write_step(&mut self, now_ns: u64) -> (u32, u64) {
        let (bytes, step_ns) = self.mechanism.write_step(now_ns, self.medium_position, self.buffered_bytes);
        self.medium_position += u64::from(bytes);
        (bytes, step_ns)
    }

    /// Forgets what was read ahead.
    pub(super) fn drop_read_ahead(&mut self, wiring: &mut Wiring) {
        self.stop_medium(wiring);
        self.buffered_bytes = 0;
        self.gap_bytes = 0;
        self.rests_from_reading = false;
    }

    /// Whether a command, that begins a little further on than the last one ended, is served by
    /// reading on: the place is in the buffers, or the head is about to come over it.
    pub(super) fn passes_over_gap(&mut self, direction: Direction, offset: u64) -> bool {
        let Some((Direction::Read, end)) = self.last.filter(|_| direction == Direction::Read) else { return false };
        let Some(gap_bytes) = offset.checked_sub(end) else { return false };
        let ahead_bytes = gap_bytes.saturating_sub(self.buffered_bytes);
        let reach_bytes = self.mechanism.reach_bytes(offset) + u64::from(self.medium_step_bytes);
        let is_in_reach = ahead_bytes == 0 || self.medium_step_bytes > 0 && ahead_bytes <= reach_bytes;
        if self.mechanism.reads_in_bursts() && is_in_reach {
            self.buffered_bytes -= gap_bytes - ahead_bytes;
            self.gap_bytes = ahead_bytes;
            return true;
        }
        false
    }

    /// Programs what waits, now, and returns how long that takes.
    pub(super) fn program_all_ns(&mut self, wiring: &mut Wiring) -> u64 {
        let mut end_ns = wiring.timers.due_ns(self.medium_timer()).unwrap_or(wiring.now_ns);
        self.buffered_bytes -= u64::from(self.stop_medium(wiring));
        while self.buffered_bytes > 0 {
            let (bytes, step_ns) = self.write_step(end_ns);
            self.buffered_bytes -= u64::from(bytes);
            end_ns = end_ns.saturating_add(step_ns);
        }
        end_ns - wiring.now_ns
    }

    /// The medium is at nothing any more. Returns what it was at.
    fn stop_medium(&mut self, wiring: &mut Wiring) -> u32 {
        if self.medium_step_bytes > 0 {
            wiring.timers.clear(self.medium_timer());
        }
        std::mem::take(&mut self.medium_step_bytes)
    }
}
