//! Several drives of one world that are used at the same time, each as a volume of its own: what
//! they do to each other, on the buses that they share, is what this is for. Nothing on the drives
//! is interpreted.
//!
//! The request buffers are divided: every drive has as many. Whoever submits to several drives
//! waits for any of them with [`DriveSet::wait`], and takes each one's answers with
//! [`DriveSet::take`].

use std::time::Duration;

use shoal_array::{BufferId, Completion, Instant, Request, RequestId, Span};
use shoal_drive::{Arena, DriveId, Finished, Io, Memory};

use crate::slab::Slab;
use crate::world::{DriveFacts, World};
use crate::{BufferPlan, Volume, VolumeError, drive_volume, fault};

/// Drives of one world as volumes that are used side by side, with equal shares of the request
/// buffers.
#[derive(Debug)]
pub struct DriveSet<W> {
    world: W,
    plan: BufferPlan,
    lanes: Vec<Lane>,
    /// Who asked, of what the world has: the lane, and its name for the request.
    asked: Slab<(usize, RequestId)>,
    finished: Vec<Finished>,
}

/// One drive of a set.
#[derive(Debug)]
struct Lane {
    drive: DriveId,
    facts: DriveFacts,
    in_flight: usize,
    /// Answers that nobody has taken yet.
    answers: Vec<Completion>,
}

/// One drive of a [`DriveSet`], as a volume.
#[derive(Debug)]
pub struct DriveOfSet<'a, W> {
    set: &'a mut DriveSet<W>,
    lane: usize,
}

impl<W: World> DriveSet<W> {
    /// Volumes over `drives`; `plan` says how the world's arena is cut. Each gets an equal share of
    /// the request buffers.
    ///
    /// # Panics
    /// If there are fewer request buffers than drives.
    pub fn new(world: W, drives: &[DriveId], plan: BufferPlan) -> Self {
        assert!(plan.request_count as usize >= drives.len(), "a request buffer for each drive");
        let lane = |&drive: &DriveId| Lane { drive, facts: world.facts(drive), in_flight: 0, answers: Vec::new() };
        let lanes = drives.iter().map(lane).collect();
        Self { world, plan, lanes, asked: Slab::new(), finished: Vec::new() }
    }

    /// How many drives there are.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// What is known of a drive.
    pub fn facts(&self, index: usize) -> &DriveFacts {
        &self.lanes[index].facts
    }

    /// A drive as a volume.
    pub fn drive(&mut self, index: usize) -> DriveOfSet<'_, W> {
        assert!(index < self.lanes.len(), "drive {index} of {}", self.lanes.len());
        DriveOfSet { set: self, lane: index }
    }

    /// The world's time.
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// Starts what is queued, and waits until any drive has an answer that was not taken yet, or
    /// `timeout` is over. With nothing in flight it returns at once.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<(), VolumeError> {
        let has_answer = self.lanes.iter().any(|lane| !lane.answers.is_empty());
        let wanted = usize::from(!has_answer && self.world.pending() > 0);
        self.pass(wanted, timeout)
    }

    /// Moves a drive's answers to `completions`.
    pub fn take(&mut self, index: usize, completions: &mut Vec<Completion>) {
        completions.append(&mut self.lanes[index].answers);
    }

    /// Lets the world go on until so many I/Os are finished, and hands them to those who asked.
    fn pass(&mut self, at_least: usize, timeout: Option<Duration>) -> Result<(), VolumeError> {
        self.world.wait(at_least, timeout, &mut self.finished)?;
        for finished in self.finished.drain(..) {
            let (lane, id) = self.asked.take(finished.token);
            let lane = &mut self.lanes[lane];
            lane.in_flight -= 1;
            let result = finished.result.map_err(|error| fault::request_error(&error));
            lane.answers.push(Completion { id, result });
        }
        Ok(())
    }

    fn request_buffers(&self) -> u32 {
        self.plan.request_count / u32::try_from(self.lanes.len().max(1)).expect("drives are counted in tens")
    }
}

impl<W: World> DriveOfSet<'_, W> {
    fn lane(&self) -> &Lane {
        &self.set.lanes[self.lane]
    }

    /// The number of this drive's first buffer, as the plan counts.
    fn first_buffer(&self) -> u32 {
        u32::try_from(self.lane).expect("drives are counted in tens") * self.set.request_buffers()
    }
}

impl<W: World> Volume for DriveOfSet<'_, W> {
    fn size_bytes(&self) -> u64 {
        drive_volume::whole_blocks(&self.lane().facts)
    }

    fn logical_block_bytes(&self) -> u32 {
        self.lane().facts.logical_block_bytes
    }

    fn arena(&self) -> &Arena {
        self.set.world.arena()
    }

    fn request_buffers(&self) -> u32 {
        self.set.request_buffers()
    }

    fn request_buffer_bytes(&self) -> u32 {
        self.set.plan.request_bytes
    }

    fn submit(&mut self, request: Request) {
        let (id, index, plan) = (request.id, self.lane, self.set.plan);
        let lane = &mut self.set.lanes[index];
        match drive_volume::io_of(&request, &lane.facts, &plan) {
            Ok((kind, offset)) => {
                lane.in_flight += 1;
                let token = self.set.asked.insert((index, id));
                self.set.world.submit(Io { token, drive: lane.drive, kind, offset });
            }
            Err(error) => lane.answers.push(Completion { id, result: Err(error) }),
        }
    }

    /// Answers of other drives that come meanwhile are kept for them.
    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        let deadline =
            timeout.map(|timeout| self.now().after_ns(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)));
        loop {
            let lane = self.lane();
            let wanted = lane.in_flight > 0 && lane.answers.len() < at_least;
            let left = deadline.map(|deadline| Duration::from_nanos(deadline.since_ns(self.now())));
            self.set.pass(usize::from(wanted), left)?;
            let is_over = deadline.is_some_and(|deadline| self.now() >= deadline);
            if !wanted || is_over {
                break;
            }
        }
        self.set.take(self.lane, completions);
        Ok(())
    }

    fn now(&self) -> Instant {
        self.set.now()
    }

    fn request_span(&self, buffer: u32, length: u32) -> Span {
        assert!(buffer < self.request_buffers() && length <= self.request_buffer_bytes());
        Span { buffer: BufferId(self.first_buffer() + buffer), offset: 0, length }
    }

    fn request_memory(&self, buffer: u32) -> Memory {
        let bytes = self.request_buffer_bytes();
        Memory { offset: (self.first_buffer() + buffer) as usize * bytes as usize, length: bytes }
    }
}
