//! Arrays of simulated sticks, of which some can be made to stand still.

use std::time::Duration;

use shoal_sim::{Bus, BusKind, HostModel, Topology};
use shoal_volume::{
    ArrayVolume, BufferPlan, Command, Completion, ConsistencyPolicy, Contents, CreateOptions, DriveId, LiveVolume,
    OpenOptions, Request, RequestId, SimulatedWorld, Volume, World,
};

use crate::support::{create_options, usb_stick};

pub(crate) const DRIVE_BYTES: u64 = 8 << 20;
/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(3600);
/// Size of a request buffer.
pub(crate) const REQUEST_BYTES: u32 = 64 << 10;

/// An array, and the answers that nobody has asked for yet.
pub(crate) struct Rig {
    pub(crate) array: ArrayVolume<SimulatedWorld>,
    pub(crate) drives: Vec<DriveId>,
    answers: Vec<Completion>,
}

impl Rig {
    /// An array of so many sticks, each on a bus of its own, that is in sync and clean.
    pub(crate) fn new(level: &str, drives: usize) -> Self {
        Self::with(level, drives, ConsistencyPolicy::Resync, &OpenOptions::writable())
    }

    pub(crate) fn with(level: &str, drives: usize, consistency: ConsistencyPolicy, options: &OpenOptions) -> Self {
        Self::with_spares(level, drives, 0, consistency, options)
    }

    /// The last drives are spares.
    pub(crate) fn with_spares(
        level: &str,
        drives: usize,
        spare_count: usize,
        consistency: ConsistencyPolicy,
        options: &OpenOptions,
    ) -> Self {
        Self::beside((level, drives, spare_count), drives, consistency, options)
    }

    /// There is one more drive, which is none of the array's.
    pub(crate) fn with_bystander(
        level: &str,
        members: usize,
        consistency: ConsistencyPolicy,
        options: &OpenOptions,
    ) -> Self {
        Self::beside((level, members, 0), members + 1, consistency, options)
    }

    fn beside(
        (level, members, spare_count): (&str, usize, usize),
        drives: usize,
        consistency: ConsistencyPolicy,
        options: &OpenOptions,
    ) -> Self {
        let plan = BufferPlan::for_drives(drives, 8, REQUEST_BYTES);
        let buses = vec![Bus { kind: BusKind::Usb2, upstream: None }; drives];
        let topology = Topology { buses, drives: (0..drives).map(|bus| (usb_stick(DRIVE_BYTES), bus)).collect() };
        let world = SimulatedWorld::new(&topology, &HostModel::default(), Contents::Kept, plan, 7).unwrap();
        let drives = world.drives();
        let create = CreateOptions { spare_count, consistency, ..create_options(level, None, 16 << 10) };
        let array = ArrayVolume::create(world, plan, &drives[..members], &create, options).unwrap();
        Self { array, drives, answers: Vec::new() }
    }

    /// The last drive is made a copy of a member.
    pub(crate) fn copy_to_bystander(&mut self, member: usize) -> DriveId {
        self.array.rest().unwrap();
        let bystander = self.drives.len() - 1;
        let content = self.array.world_mut().content_mut(member).clone();
        *self.array.world_mut().content_mut(bystander) = content;
        self.drives[bystander]
    }

    /// From now on clients wait for the owner, too.
    pub(crate) fn have_clients(&mut self) {
        let file = std::os::fd::OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        self.array.watch(std::sync::Arc::new(file)).unwrap();
    }

    /// From now on a member answers nothing for so long.
    pub(crate) fn stall(&mut self, member: usize, duration: Duration) {
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap();
        self.array.world_mut().simulation_mut().stall(member, duration_ns);
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, duration: Duration) {
        let end = self.array.now().after_ns(u64::try_from(duration.as_nanos()).unwrap());
        while self.array.now() < end {
            let left = Duration::from_nanos(end.since_ns(self.array.now()));
            self.array.turn(left, &mut self.answers).unwrap();
        }
    }

    /// Submits a read into buffer `id`.
    pub(crate) fn read(&mut self, id: u32, offset: u64, length: u32) {
        let span = self.array.request_span(id, length);
        self.array.submit(Request { id: RequestId::client(u64::from(id)), command: Command::Read { offset, span } });
    }

    /// Submits a write of these bytes out of buffer `id`.
    pub(crate) fn write(&mut self, id: u32, offset: u64, bytes: &[u8]) {
        let span = self.array.request_span(id, u32::try_from(bytes.len()).unwrap());
        self.array.arena().write(self.array.request_memory(id), bytes);
        self.array.submit(Request { id: RequestId::client(u64::from(id)), command: Command::Write { offset, span } });
    }

    /// Waits until a request is answered; nothing if it is not in time.
    pub(crate) fn answer(&mut self, id: u32, within: Duration) -> Option<Completion> {
        let end = self.array.now().after_ns(u64::try_from(within.as_nanos()).unwrap());
        loop {
            let place = self.answers.iter().position(|answer| answer.id == RequestId::client(u64::from(id)));
            if let Some(place) = place {
                return Some(self.answers.swap_remove(place));
            }
            let left = end.since_ns(self.array.now());
            if left == 0 {
                return None;
            }
            let known = self.answers.len();
            self.array.poll(1, Some(Duration::from_nanos(left)), &mut self.answers).unwrap();
            assert!(self.answers.len() > known || self.array.now() >= end, "{id} is not on its way");
        }
    }

    /// Waits until any request is answered.
    pub(crate) fn any_answer(&mut self) -> Completion {
        while self.answers.is_empty() {
            self.array.poll(1, Some(LONG), &mut self.answers).unwrap();
        }
        self.answers.swap_remove(0)
    }

    /// What a request that was answered has read.
    pub(crate) fn bytes(&self, id: u32, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.array.arena().read(self.array.request_memory(id), &mut bytes);
        bytes
    }
}

/// Bytes that differ from place to place.
pub(crate) fn pattern(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32).map(|place| ((place ^ seed << 20).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
