//! What can be done to an array that outlives outages: all that can be done to any, while it is not
//! paused.

use std::path::Path;
use std::time::Duration;

use shoal_documents::PauseDocument;
use shoal_drive::Drive;
use shoal_inventory::WipeError;
use shoal_md::Candidate;
use shoal_volume::{ArrayStatus, Background, News, Progress, ScrubMode};

use super::resumable::{Below, Course, Resumable};
use crate::engine::{Engine, EngineError, Resumption};

impl Engine for Resumable {
    fn status(&self) -> ArrayStatus {
        match self.below() {
            Below::Array(array) => array.status(),
            Below::Frame(_) => self.last.status.clone(),
        }
    }

    fn pause(&self) -> Option<PauseDocument> {
        let Course::Paused(pause) = &self.course else { return None };
        let left = pause.outage.left(shoal_volume::Volume::now(self));
        Some(PauseDocument {
            since_unix_s: pause.since_unix_s,
            waits_for: pause.absent.clone(),
            fails_in_s: left.map(|left| left.as_secs()),
        })
    }

    fn stop_waiting(&mut self) {
        self.end();
    }

    fn take_resumption(&mut self) -> Option<Resumption> {
        self.resumption.take()
    }

    fn progress(&self) -> Option<Progress> {
        match self.below() {
            Below::Array(array) => array.progress(),
            Below::Frame(_) => None,
        }
    }

    fn take_news(&mut self) -> Vec<News> {
        self.take_all_news()
    }

    fn take_remarks(&mut self) -> Vec<String> {
        let mut remarks = std::mem::take(&mut self.remarks);
        if let Below::Array(array) = self.below_mut() {
            remarks.extend(Engine::take_remarks(array.as_mut()));
        }
        remarks
    }

    fn refuse_active(&self, newcomer: &Candidate) -> Result<(), EngineError> {
        match (self.below(), &self.course) {
            (Below::Array(array), Course::Running | Course::InDoubt | Course::Over { .. }) => {
                Engine::refuse_active(array.as_ref(), newcomer)
            }
            _ => Err(self.absent()),
        }
    }

    fn left_behind(&self) -> usize {
        match self.below() {
            Below::Array(array) => array.left_behind(),
            Below::Frame(_) => 0,
        }
    }

    fn fail(&mut self, member: &Path) -> Result<(), EngineError> {
        Engine::fail(self.array()?, member)
    }

    fn add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError> {
        Engine::add(self.array()?, path, opened)
    }

    fn remove(&mut self, drive: &Path) -> Result<(), EngineError> {
        Engine::remove(self.array()?, drive)
    }

    fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), EngineError> {
        Engine::replace(self.array()?, member, spare, opened)
    }

    fn re_add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError> {
        Engine::re_add(self.array()?, path, opened)
    }

    fn scrub(&mut self, mode: ScrubMode) -> Result<(), EngineError> {
        Engine::scrub(self.array()?, mode)
    }

    fn is_scrubbing(&self) -> bool {
        matches!(self.below(), Below::Array(array) if array.is_scrubbing())
    }

    fn stop_scrub(&mut self) -> Result<(), EngineError> {
        match self.below_mut() {
            // What ends with it is answered in the next turn.
            Below::Array(array) => {
                array.stop_scrub();
                Ok(())
            }
            Below::Frame(_) => Ok(()),
        }
    }

    fn set_background(&mut self, background: Background) -> Result<(), EngineError> {
        self.terms.options.background = background;
        match self.below_mut() {
            Below::Array(array) => Engine::set_background(array.as_mut(), background),
            Below::Frame(_) => Ok(()),
        }
    }

    fn run_background(&mut self, patience: Duration) -> Result<(), EngineError> {
        Engine::run_background(self.array()?, patience)
    }

    fn rest(&mut self) -> Result<(), EngineError> {
        match self.below_mut() {
            Below::Array(array) => Engine::rest(array.as_mut()),
            // There is nothing that could be brought to rest.
            Below::Frame(_) => Ok(()),
        }
    }
}
