//! What can be done to an array that outlives outages: all that can be done to any, while it is not
//! paused.

use std::path::Path;
use std::time::Duration;

use shoal_documents::PauseDocument;
use shoal_drive::Drive;
use shoal_inventory::WipeError;
use shoal_md::Candidate;
use shoal_volume::{ArrayStatus, Background, JobProgress, News, ScrubMode};

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
        if matches!(self.course, Course::Running) {
            // Nobody would tell clients that it has gone on after another outage: their requests
            // fail.
            self.course = Course::Over { why: "it is being stopped".to_owned() };
        }
    }

    fn take_resumption(&mut self) -> Option<Resumption> {
        self.resumption.take()
    }

    fn progress(&self) -> Option<JobProgress> {
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

    fn refuse_active(&mut self, newcomer: &Candidate) -> Result<(), EngineError> {
        let is_there = matches!(self.course, Course::Running | Course::InDoubt | Course::Over { .. });
        match self.below_mut() {
            Below::Array(array) if is_there => Engine::refuse_active(array.as_mut(), newcomer),
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

    fn rename(&mut self, name: &str, homehost: Option<&str>) -> Result<(), EngineError> {
        Engine::rename(self.array()?, name, homehost)
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
            Below::Frame(frame) => Ok(frame.rest()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use shoal_memory::{FileKeeper, Store};
    use shoal_volume::{
        Command, Completion, HostMemory, LiveVolume, OpenOptions, Request, RequestError, RequestId, Trust, Volume,
    };

    use super::*;
    use crate::outage::Terms;
    use crate::rig::array_on_files;

    /// An array without redundancy on two files, known to its host.
    fn array(directory: &Path) -> Resumable {
        let options = OpenOptions::writable();
        let mut array = array_on_files(directory, &options);
        let keeper = FileKeeper::new(Store::new(directory.join("state")));
        array.remember_in(HostMemory::new(Box::new(keeper), Trust::Anything));
        let terms = Terms { options, deadline: Duration::from_secs(3600), scan: None };
        Resumable::new(array, terms).unwrap()
    }

    #[test]
    fn an_outage_that_begins_while_the_array_is_being_stopped_is_not_slept_over() {
        let directory = tempfile::tempdir().unwrap();
        let mut array = array(directory.path());
        array.stop_waiting();
        for name in ["a", "b"] {
            File::options().write(true).open(directory.path().join(name)).unwrap().set_len(0).unwrap();
        }
        let command = Command::Read { offset: 0, span: array.request_span(0, 4096) };
        array.submit(Request { id: RequestId::client(1), command });
        let mut completions = Vec::new();
        while completions.is_empty() {
            array.turn(Duration::from_millis(10), &mut completions).unwrap();
            assert_eq!(array.pause(), None, "who waits for the end is not told that it goes on afterwards");
        }
        let error = completions[0].result.unwrap_err();
        assert!(!matches!(error, RequestError::OutOfRange | RequestError::Misaligned), "{error}");
    }

    #[test]
    fn a_flush_that_ends_beside_one_that_failed_is_answered_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut array = array(directory.path());
        let ends = |id, result| Completion { id: RequestId::client(id), result };
        for id in 1..=3 {
            array.held.submitted(Request { id: RequestId::client(id), command: Command::Flush });
        }
        let known = ends(9, Ok(()));
        let mut completions = vec![known, ends(1, Ok(())), ends(2, Err(RequestError::Failed))];
        array.sift(&mut completions, 1);
        assert_eq!(completions, [known]);
        completions.push(ends(3, Ok(())));
        array.sift(&mut completions, 1);
        assert_eq!(completions, [known]);
        let failed = Err(RequestError::Failed);
        assert_eq!(array.held.take_failed(), [1, 2, 3].map(|id| ends(id, failed)));
    }
}
