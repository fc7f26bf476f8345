//! Drives that fail while an array over them is being read and written: real files behind a world
//! that breaks on command.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use crate::support;
use crate::support::{Bench, create_options, pattern};
use shoal_array::Instant;
use shoal_drive::{Access, Arena, DriveId, Finished, Io, IoKind, LoopError};
use shoal_volume::transfer::{TransferError, read_to, write_from};
use shoal_volume::{
    ArrayVolume, Background, CreateOptions, DriveFacts, Event, Health, OpenOptions, RealWorld, RequestError, Volume,
    World,
};

/// What is wrong with the drives, shared with the test.
type Faults = Rc<RefCell<HashMap<DriveId, Fault>>>;

#[derive(Clone)]
enum Fault {
    /// Every I/O fails from now on, as on a drive that fell off its bus.
    Gone,
    /// The drive goes after so many more writes.
    GoneAfterWrites(u32),
    /// Reads of these bytes fail until they are written.
    Unreadable(Range<u64>),
    /// The superblock cannot be written; everything else works.
    SuperblockStuck,
}

/// Where arrays of version 1.2 have their superblocks.
const SUPERBLOCK_OFFSET: u64 = 4096;

/// Every I/O that was submitted.
type Log = Rc<RefCell<Vec<Io>>>;

/// The real world with faults.
struct FaultyWorld {
    inner: RealWorld,
    faults: Faults,
    log: Log,
    failed: Vec<Finished>,
}

impl FaultyWorld {
    fn error_for(&self, io: &Io) -> Option<rustix::io::Errno> {
        let mut faults = self.faults.borrow_mut();
        let fault = faults.get_mut(&io.drive)?;
        match (fault.clone(), io.kind) {
            (Fault::Gone, _) => Some(rustix::io::Errno::NODEV),
            (Fault::GoneAfterWrites(0), _) => {
                *fault = Fault::Gone;
                Some(rustix::io::Errno::NODEV)
            }
            (Fault::GoneAfterWrites(left), IoKind::Write(_)) => {
                *fault = Fault::GoneAfterWrites(left - 1);
                None
            }
            (Fault::SuperblockStuck, IoKind::Write(_)) if io.offset == SUPERBLOCK_OFFSET => Some(rustix::io::Errno::IO),
            (Fault::Unreadable(bad), IoKind::Read(memory)) => {
                let end = io.offset + u64::from(memory.length);
                (io.offset < bad.end && bad.start < end).then_some(rustix::io::Errno::IO)
            }
            (Fault::Unreadable(bad), IoKind::Write(memory)) => {
                let end = io.offset + u64::from(memory.length);
                if io.offset <= bad.start && bad.end <= end {
                    faults.remove(&io.drive);
                }
                None
            }
            _ => None,
        }
    }
}

impl World for FaultyWorld {
    fn arena(&self) -> &Arena {
        self.inner.arena()
    }

    fn drives(&self) -> Vec<DriveId> {
        self.inner.drives()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        self.inner.facts(drive)
    }

    fn submit(&mut self, io: Io) {
        self.log.borrow_mut().push(io);
        match self.error_for(&io) {
            Some(errno) => self.failed.push(Finished { token: io.token, result: Err(io::Error::from(errno)) }),
            None => self.inner.submit(io),
        }
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        let at_least = at_least.saturating_sub(self.failed.len()).min(self.inner.pending());
        finished.append(&mut self.failed);
        self.inner.wait(at_least, timeout, finished)
    }

    fn pending(&self) -> usize {
        self.inner.pending() + self.failed.len()
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn unix_time_s(&self) -> u64 {
        self.inner.unix_time_s()
    }

    fn sleep(&mut self, duration: Duration) {
        self.inner.sleep(duration);
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.inner.random_bytes()
    }
}

struct Rig {
    bench: Bench,
    array: ArrayVolume<FaultyWorld>,
    drives: Vec<DriveId>,
    faults: Faults,
    log: Log,
}

fn rig(level: &str, drives: usize) -> Rig {
    rig_with_spares(level, drives, 0)
}

fn rig_with_spares(level: &str, drives: usize, spare_count: usize) -> Rig {
    let bench = Bench::new(drives);
    let (inner, plan, ids) = bench.world(0..drives, Access::Write);
    let (faults, log) = (Faults::default(), Log::default());
    let world = FaultyWorld { inner, faults: Rc::clone(&faults), log: Rc::clone(&log), failed: Vec::new() };
    let create = CreateOptions { spare_count, ..create_options(level, None, 16 << 10) };
    let array = ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable()).unwrap();
    Rig { bench, array, drives: ids, faults, log }
}

fn content(array: &mut ArrayVolume<FaultyWorld>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let size_bytes = array.size_bytes();
    read_to(array, 0, size_bytes, &mut bytes).unwrap();
    bytes
}

/// As many drives as the level survives go in the middle of a long write, one after the other.
/// Nothing is lost, and whoever opens the members later knows which of them are stale.
#[test]
fn drives_go_in_the_middle_of_writing() {
    for (level, drives, going) in
        [("1", 3, &[0_usize, 2][..]), ("4", 4, &[3]), ("5", 4, &[1]), ("6", 5, &[4, 2]), ("10", 4, &[0, 2])]
    {
        for writes in [0, 1, 5, 9] {
            let mut rig = rig(level, drives);
            for (turn, &drive) in (0..).zip(going) {
                let fault = Fault::GoneAfterWrites(writes * (turn + 1));
                rig.faults.borrow_mut().insert(rig.drives[drive], fault);
            }
            let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), u64::from(writes) + 1);
            write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
            assert_eq!(rig.array.status().health, Health::Degraded, "raid{level} after {writes}");
            assert!(content(&mut rig.array) == data, "raid{level} after {writes}: content differs");
            drop(rig.array.close().unwrap());

            let mut again = rig.bench.open(0..drives, true);
            assert_eq!(again.status().left_out.len(), going.len(), "raid{level} after {writes}: stale members");
            assert!(support::read(&mut again, 0, data.len()) == data, "raid{level} after {writes}: reopened");
            again.close().unwrap();
        }
    }
}

/// More drives go than the level survives: errors, no panic, no hang, and never a wrong byte.
#[test]
fn too_many_drives_go() {
    for (level, drives) in [("0", 3), ("5", 4), ("6", 5), ("50", 6)] {
        let mut rig = rig(level, drives);
        let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
        write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
        for &drive in &rig.drives[..3] {
            rig.faults.borrow_mut().insert(drive, Fault::Gone);
        }
        let failed = write_from(&mut rig.array, 0, &mut &pattern(1 << 20, 2)[..]).unwrap_err();
        assert!(matches!(failed, TransferError::Content { .. }), "raid{level}: {failed}");
        let mut wrong = 0;
        for offset in (0..data.len()).step_by(16 << 10) {
            let mut bytes = Vec::new();
            let length = (16 << 10).min(data.len() - offset);
            match read_to(&mut rig.array, offset as u64, length as u64, &mut bytes) {
                // What was written before is there, or what could be written of the rest.
                Ok(()) if offset >= 1 << 20 => wrong += usize::from(bytes != data[offset..offset + length]),
                Ok(()) => {}
                Err(TransferError::Content { error, .. }) => {
                    let lost = matches!(error, RequestError::Lost { .. } | RequestError::Unreadable { .. });
                    assert!(lost, "raid{level}: {error}");
                }
                Err(error) => panic!("raid{level}: {error}"),
            }
        }
        assert_eq!(wrong, 0, "raid{level}: blocks were read wrong");
    }
}

/// A sector that cannot be read is had from the others and written anew.
#[test]
fn unreadable_sectors_are_healed() {
    for (level, drives) in [("1", 2), ("5", 4), ("6", 5), ("10", 4)] {
        let mut rig = rig(level, drives);
        let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
        write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
        for &drive in &rig.drives[..1] {
            rig.faults.borrow_mut().insert(drive, Fault::Unreadable((2 << 20)..(2 << 20) + 512));
        }
        rig.array.scrub(shoal_volume::ScrubMode::Check).unwrap();
        while rig.array.run_background(Duration::from_secs(10)).unwrap() {}
        let news = rig.array.take_news();
        assert!(news.iter().any(|news| matches!(news.event, Event::Healed { .. })), "raid{level}: {news:?}");
        assert!(rig.faults.borrow().is_empty(), "raid{level}: the sector was not written anew");
        assert_eq!(rig.array.status().health, Health::Optimal, "raid{level}");
        assert!(content(&mut rig.array) == data, "raid{level}");
    }
}

/// A superblock claims nothing that a power cut could take back: when it says that a member is
/// rebuilt, what the rebuild wrote has been flushed.
#[test]
fn rebuilt_data_is_flushed_before_it_is_vouched_for() {
    for (level, drives) in [("1", 3), ("5", 4), ("6", 6), ("10", 5)] {
        let mut rig = rig_with_spares(level, drives, 1);
        let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
        write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
        rig.array.fail_drive(rig.drives[0]).unwrap();
        while rig.array.run_background(Duration::from_secs(10)).unwrap() {}
        assert_eq!(rig.array.status().health, Health::Optimal, "raid{level}");
        let spare = *rig.drives.last().unwrap();
        let log = rig.log.borrow();
        let of_spare: Vec<&Io> = log.iter().filter(|io| io.drive == spare).collect();
        let is_write = |io: &Io| matches!(io.kind, IoKind::Write(_));
        let last_data = of_spare.iter().rposition(|io| is_write(io) && io.offset != SUPERBLOCK_OFFSET).unwrap();
        let after = &of_spare[last_data + 1..];
        // Earlier ones are checkpoints, which claim less.
        let superblock = after.iter().rposition(|io| is_write(io)).unwrap();
        let flushed = after[..superblock].iter().any(|io| matches!(io.kind, IoKind::Flush));
        assert!(flushed, "raid{level}: {after:?}");
    }
}

/// A write that a failed mirror missed is not answered as done if nothing remembers the failure.
#[test]
fn what_cannot_be_recorded_is_not_acknowledged() {
    let mut rig = rig("1", 2);
    let data = pattern(1 << 20, 1);
    write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
    rig.faults.borrow_mut().insert(rig.drives[0], Fault::Gone);
    rig.faults.borrow_mut().insert(rig.drives[1], Fault::SuperblockStuck);
    let failed = write_from(&mut rig.array, 0, &mut &pattern(1 << 20, 2)[..]).unwrap_err();
    assert!(matches!(failed, TransferError::Content { error: RequestError::Failed, .. }), "{failed}");
}

/// A spare that takes its superblock remembers no failure of a member; it does once it is filled.
#[test]
fn what_only_a_spare_has_recorded_is_not_acknowledged() {
    let mut rig = rig_with_spares("1", 3, 1);
    write_from(&mut rig.array, 0, &mut &pattern(1 << 20, 1)[..]).unwrap();
    rig.array.set_background(Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1, depth: 1 });
    for member in 0..2 {
        rig.faults.borrow_mut().insert(rig.drives[member], Fault::SuperblockStuck);
    }
    // It comes to rest, which is to be recorded: one member fails by that, the other stays.
    rig.array.rest().unwrap();
    let failed = write_from(&mut rig.array, 0, &mut &pattern(1 << 20, 2)[..]).expect_err("nobody remembers");
    assert!(matches!(failed, TransferError::Content { error: RequestError::Failed, .. }), "{failed}");
}

/// A drive that cannot read some of its sectors is replaced: the array makes these good, data and
/// parity alike, and nothing is missing on the replacement.
#[test]
fn what_a_replaced_drive_cannot_read_is_had_from_the_others() {
    const DATA_OFFSET: u64 = 1 << 20;
    for (level, drives) in [("1", 3), ("5", 4), ("6", 5), ("10", 5)] {
        // The first member has data in some of these rows, and P or Q in others.
        for row in 0..4 {
            let mut rig = rig_with_spares(level, drives, 1);
            let what = format!("raid{level}, row {row}");
            let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
            write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
            let (old, new) = (rig.drives[0], *rig.drives.last().unwrap());
            let start = DATA_OFFSET + row * (16 << 10) + 4096;
            rig.faults.borrow_mut().insert(old, Fault::Unreadable(start..start + 512));
            rig.array.replace_drive(old, new).unwrap();
            while rig.array.run_background(Duration::from_secs(10)).unwrap() {}
            let news = rig.array.take_news();
            assert!(!news.iter().any(|news| matches!(news.event, Event::Lost { .. })), "{what}: {news:?}");
            assert!(news.iter().any(|news| matches!(news.event, Event::RebuildFinished(_))), "{what}: {news:?}");
            let status = rig.array.status();
            assert_eq!((status.health, status.needs_resync), (Health::Optimal, false), "{what}: {news:?}");
            rig.faults.borrow_mut().insert(old, Fault::Gone);
            rig.array.rest().unwrap();
            let features = rig.bench.superblock(drives - 1).features.names();
            assert!(!features.contains(&"bad blocks"), "{what}: {features:?}");
            assert!(content(&mut rig.array) == data, "{what}");
            assert_eq!(mismatches(&mut rig.array), 0, "{what}");
        }
    }
}

/// A replacement meets a sector that its original cannot read while a scrub is under way, which has
/// been there: the sector waits for the end of the scrub, and is not lost.
#[test]
fn what_a_replaced_drive_cannot_read_waits_for_a_scrub() {
    const SECTOR: u64 = (1 << 20) + 4096;
    for (level, drives) in [("1", 3), ("5", 4), ("6", 5)] {
        let mut rig = rig_with_spares(level, drives, 1);
        let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
        write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
        let rate = 4 << 20;
        rig.array.set_background(Background { rate_min_bytes_per_s: rate, rate_max_bytes_per_s: rate, depth: 4 });
        rig.array.scrub(shoal_volume::ScrubMode::Check).unwrap();
        while rig.array.progress().is_none_or(|progress| progress.done_bytes < 1 << 20) {
            rig.array.run_background(Duration::from_millis(10)).unwrap();
        }
        let (old, new) = (rig.drives[0], *rig.drives.last().unwrap());
        rig.faults.borrow_mut().insert(old, Fault::Unreadable(SECTOR..SECTOR + 512));
        rig.array.replace_drive(old, new).unwrap();
        while rig.array.run_background(Duration::from_secs(10)).unwrap() {}
        let news = rig.array.take_news();
        assert!(!news.iter().any(|news| matches!(news.event, Event::Lost { .. })), "raid{level}: {news:?}");
        rig.faults.borrow_mut().insert(old, Fault::Gone);
        rig.array.rest().unwrap();
        assert!(!rig.bench.superblock(drives - 1).features.names().contains(&"bad blocks"), "raid{level}");
        assert!(content(&mut rig.array) == data, "raid{level}");
        assert_eq!(mismatches(&mut rig.array), 0, "raid{level}");
    }
}

/// Scrubs everything; bytes that disagree.
fn mismatches(array: &mut ArrayVolume<FaultyWorld>) -> u64 {
    array.take_news();
    array.scrub(shoal_volume::ScrubMode::Check).unwrap();
    while array.run_background(Duration::from_secs(10)).unwrap() {}
    let finished = array.take_news().into_iter().find_map(|news| match news.event {
        Event::ScrubFinished { mismatched_bytes, completed: true } => Some(mismatched_bytes),
        _ => None,
    });
    finished.expect("the scrub was over")
}

/// A drive goes in the middle of writing, when most of it has been copied: its replacement takes
/// over with that, and lacks nothing of what was written before, then and after.
#[test]
fn a_drive_goes_while_it_is_being_replaced() {
    for (level, drives) in [("1", 3), ("5", 4), ("6", 5), ("10", 5)] {
        for writes in [0, 3, 10, 31] {
            let mut rig = rig_with_spares(level, drives, 1);
            let what = format!("raid{level} after {writes} writes");
            let size_bytes = usize::try_from(rig.array.size_bytes()).unwrap();
            write_from(&mut rig.array, 0, &mut &pattern(size_bytes, 1)[..]).unwrap();
            let (old, new) = (rig.drives[0], *rig.drives.last().unwrap());
            let slow = Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 4 << 20, depth: 1 };
            rig.array.set_background(slow);
            rig.array.replace_drive(old, new).unwrap();
            let copied =
                |array: &ArrayVolume<FaultyWorld>| array.status().members[0].replacement.clone().map(|it| it.position);
            while copied(&rig.array).expect("it goes on") <= 1 << 20 {
                rig.array.run_background(Duration::from_millis(20)).unwrap();
            }
            rig.faults.borrow_mut().insert(old, Fault::GoneAfterWrites(writes));
            let data = pattern(size_bytes, u64::from(writes) + 2);
            write_from(&mut rig.array, 0, &mut &data[..]).unwrap();
            rig.array.set_background(OpenOptions::writable().background);
            while rig.array.run_background(Duration::from_secs(10)).unwrap() {}
            let (status, news) = (rig.array.status(), rig.array.take_news());
            assert_eq!(status.health, Health::Optimal, "{what}: {news:?} {status:?}");
            assert!(content(&mut rig.array) == data, "{what}");
            assert_eq!(mismatches(&mut rig.array), 0, "{what}");
            drop(rig.array.close().unwrap());
            let mut again = rig.bench.open(1..drives, true);
            assert_eq!(again.status().health, Health::Optimal, "{what}: reopened without the old drive");
            assert!(support::read(&mut again, 0, data.len()) == data, "{what}: reopened");
            again.close().unwrap();
        }
    }
}
