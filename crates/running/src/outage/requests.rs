//! Requests on their way into an array that outlives outages, and answers on their way out.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use shoal_volume::{Arena, Completion, Instant, LiveVolume, Memory, Request, RequestError, Volume, VolumeError, World};

use super::resumable::{Below, Course, GLANCE, Resumable};

impl Volume for Resumable {
    fn size_bytes(&self) -> u64 {
        match self.below() {
            Below::Array(array) => array.size_bytes(),
            Below::Frame(_) => self.last.size_bytes,
        }
    }

    fn logical_block_bytes(&self) -> u32 {
        match self.below() {
            Below::Array(array) => array.logical_block_bytes(),
            Below::Frame(_) => self.last.logical_block_bytes,
        }
    }

    fn arena(&self) -> &Arena {
        match self.below() {
            Below::Array(array) => array.arena(),
            Below::Frame(frame) => frame.arena(),
        }
    }

    fn request_buffers(&self) -> u32 {
        match self.below() {
            Below::Array(array) => array.request_buffers(),
            Below::Frame(frame) => frame.plan().request_count,
        }
    }

    fn request_buffer_bytes(&self) -> u32 {
        match self.below() {
            Below::Array(array) => array.request_buffer_bytes(),
            Below::Frame(frame) => frame.plan().request_bytes,
        }
    }

    fn request_memory(&self, buffer: u32) -> Memory {
        match self.below() {
            Below::Array(array) => array.request_memory(buffer),
            Below::Frame(frame) => frame.request_memory(buffer),
        }
    }

    fn submit(&mut self, request: Request) {
        let is_paused = matches!(self.course, Course::Paused(_));
        match self.below_mut() {
            Below::Array(array) if !is_paused => {
                array.submit(request);
                self.held.submitted(request);
            }
            _ if is_paused => self.held.hold_new(request),
            _ => self.answers.push(Completion { id: request.id, result: Err(RequestError::Failed) }),
        }
    }

    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        match self.below_mut() {
            Below::Array(array) => {
                array.poll(at_least, timeout, completions)?;
                completions.iter().for_each(|completion| self.held.answered(completion));
                Ok(())
            }
            Below::Frame(_) => self.turn(Duration::ZERO, completions),
        }
    }

    fn now(&self) -> Instant {
        match self.below() {
            Below::Array(array) => array.now(),
            Below::Frame(frame) => frame.world().now(),
        }
    }

    fn is_degraded(&self) -> bool {
        matches!(self.below(), Below::Array(array) if array.is_degraded())
    }
}

impl LiveVolume for Resumable {
    fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        let known = completions.len();
        let patience = match self.course {
            _ if !self.answers.is_empty() => Duration::ZERO,
            Course::Running | Course::Over { .. } => patience,
            Course::InDoubt | Course::Paused(_) => patience.min(GLANCE),
        };
        match self.below_mut() {
            Below::Array(array) => array.turn(patience, completions)?,
            Below::Frame(frame) => frame.turn(patience)?,
        }
        self.sift(completions, known);
        self.go_on();
        completions.append(&mut self.answers);
        Ok(())
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), VolumeError> {
        match self.below_mut() {
            Below::Array(array) => array.watch(file),
            Below::Frame(_) => Ok(()),
        }
    }
}
