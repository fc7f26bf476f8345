//! When everything goes: flushes, rest and age; and what the members refuse.

use shoal_array::{Command, Completion, Instant, RequestError, RequestId};

use super::loads::{Kind, Load};
use super::rows::{Epoch, Rows};
use super::{Flush, Purpose, Step, WriteBack};

/// Nobody has written for so long: the drives have nothing better to do.
pub(super) const REST_NS: u64 = 1_000_000_000;

/// Nothing stays in the window for longer without being on its way: as Linux's
/// dirty_expire_centisecs.
const EXPIRY_NS: u64 = 30_000_000_000;

impl WriteBack {
    pub(super) fn flush(&mut self, id: RequestId) {
        let epoch = self.sweep();
        self.flushes.push_back(Flush { id, epoch });
        self.look_for_flushes();
    }

    fn sweep(&mut self) -> Epoch {
        self.dirty_since = None;
        self.rows.sweep()
    }

    /// Has everything go that is dirty: the window [is at rest](Self::is_at_rest) when the members
    /// have it.
    pub(crate) fn empty(&mut self) {
        self.sweep();
    }

    /// Has the engine flush for whoever waits for nothing else.
    pub(super) fn look_for_flushes(&mut self) {
        if !self.flushing.is_empty() {
            return;
        }
        while let Some(flush) = self.flushes.front().filter(|flush| self.rows.is_over(flush.epoch)) {
            self.flushing.push(*flush);
            self.flushes.pop_front();
        }
        if !self.flushing.is_empty() {
            self.steps.push_back(Step::Submit(Purpose::Flush, Command::Flush));
        }
    }

    /// The engine has flushed for those that waited. A flush that was asked for before the members
    /// last refused something fails: it may have covered that, which has not been tried again
    /// since.
    pub(super) fn flushed(&mut self, result: Result<(), RequestError>) {
        let flushing = std::mem::take(&mut self.flushing);
        let is_tried = |flush: &Flush| self.refused.is_none_or(|again| again <= flush.epoch);
        for flush in &flushing {
            let result = if is_tried(flush) { result } else { Err(RequestError::Failed) };
            self.steps.push_back(Step::Answer(Completion { id: flush.id, result }));
        }
        if flushing.iter().any(is_tried) {
            self.refused = None;
        }
        self.look_for_flushes();
    }

    /// A load is over: the members have it, or they have refused some of it.
    pub(super) fn landed(&mut self, load: &Load) {
        self.note_price(load);
        if load.is_taken {
            load.pages.iter().for_each(|&byte| self.pages.landed(byte));
            load.rows.iter().for_each(|&(row, epoch)| self.rows.landed(row, epoch));
            return;
        }
        for &(row, epoch) in &load.rows {
            let range = self.rows.layout().range_of(row);
            let of_row = load.pages.iter().filter(|byte| range.contains(byte));
            let dirty = of_row.map(|&byte| self.pages.refused(byte)).sum();
            self.refused = Some(self.rows.refused(row, epoch, dirty));
        }
    }

    /// Loads run side by side: the time between two landings is what the second one has cost.
    fn note_price(&mut self, load: &Load) {
        let since = std::mem::replace(&mut self.busy_since, self.now);
        match load.kind {
            Kind::Row => {}
            Kind::Runs(runs) => self.prices.runs_took(self.now, self.now.ns.saturating_sub(since.ns), runs),
            Kind::Stretch(bytes, begun) => {
                self.prices.stretch_took(self.now, self.now.ns.saturating_sub(begun.ns), bytes);
            }
        }
    }

    /// Forgets what the members have refused, once everything is [at rest](Self::is_at_rest).
    /// Returns how many bytes.
    pub(crate) fn forget_refused(&mut self) -> u64 {
        let bytes = self.rows.dirty_bytes();
        self.pages.clear();
        self.rows = Rows::new(*self.rows.layout());
        self.refused = None;
        bytes
    }

    /// When [`Self::look`] has something to do though nothing has happened.
    pub(crate) fn due(&self) -> Option<Instant> {
        let (first, last) = self.dirty_since.filter(|_| self.refused.is_none())?;
        Some(last.after_ns(REST_NS).min(first.after_ns(EXPIRY_NS)))
    }

    /// Has everything go if nobody has written for a while, or something has been dirty for long.
    pub(crate) fn look(&mut self, now: Instant) {
        if self.due().is_some_and(|due| due <= now) {
            self.sweep();
        }
    }
}
