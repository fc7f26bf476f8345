//! Where a drive's quanta are between it and the host: at most one on each of its buses.

/// What is at one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Free,
    /// So many bytes on the channel, or waiting for it.
    Moving(u32),
    /// So many bytes across, and not on the next channel.
    Across(u32),
}

/// The stages, in the order in which quanta pass them.
#[derive(Debug)]
pub(super) struct Pipeline {
    stages: Box<[Stage]>,
}

impl Pipeline {
    pub(super) fn new(stages: usize) -> Self {
        Self { stages: vec![Stage::Free; stages].into() }
    }

    pub(super) fn is_last(&self, stage: usize) -> bool {
        stage + 1 == self.stages.len()
    }

    pub(super) fn last(&self) -> usize {
        self.stages.len() - 1
    }

    pub(super) fn is_free(&self, stage: usize) -> bool {
        self.stages[stage] == Stage::Free
    }

    pub(super) fn enter(&mut self, stage: usize, bytes: u32) {
        debug_assert!(self.is_free(stage));
        self.stages[stage] = Stage::Moving(bytes);
    }

    /// A quantum has crossed a stage's channel, and stays until it is taken on.
    pub(super) fn cross(&mut self, stage: usize) -> u32 {
        let Stage::Moving(bytes) = self.stages[stage] else { unreachable!("a channel carries what it was given") };
        self.stages[stage] = Stage::Across(bytes);
        bytes
    }

    /// The quantum that has crossed a stage and could be taken on.
    pub(super) fn across(&self, stage: usize) -> Option<u32> {
        match self.stages[stage] {
            Stage::Across(bytes) => Some(bytes),
            Stage::Free | Stage::Moving(_) => None,
        }
    }

    pub(super) fn leave(&mut self, stage: usize) {
        self.stages[stage] = Stage::Free;
    }

    pub(super) fn clear(&mut self) {
        self.stages.fill(Stage::Free);
    }
}
