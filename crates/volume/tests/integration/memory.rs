//! What a host remembers is written before the array's superblocks, and the array does not stand
//! still for it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shoal_array::{BufferId, Health};
use shoal_drive::Access;
use shoal_md::Uuid;
use shoal_memory::{Book, Keeper};
use shoal_volume::{
    ArrayVolume, Command, HostMemory, LiveVolume, OpenError, OpenOptions, RealWorld, Request, RequestId, Span, Trust,
    Volume, World as _,
};

use crate::support::Bench;

/// What a keeper was given, and how slow it is.
#[derive(Default)]
struct Seen {
    kept: Vec<Book>,
    /// As long as this is set nothing is durable.
    is_slow: bool,
    /// The highest count on the members when the last book was given.
    events_on_members: u64,
    /// Somebody has heard that the last book is.
    is_known_durable: bool,
}

/// A keeper that looks at the members.
struct Witness {
    seen: Arc<Mutex<Seen>>,
    bench: Arc<Bench>,
}

impl Witness {
    /// The highest count on the members that a book is about.
    fn events_on(&self, book: &Book) -> u64 {
        let is_meant = |path: String| book.members().iter().any(|member| member.drive == path);
        let meant = (0..2).filter(|&drive| is_meant(self.bench.path(drive).display().to_string()));
        meant.map(|drive| self.bench.superblock(drive).events).max().unwrap()
    }
}

impl Keeper for Witness {
    fn recall(&mut self, _array: Uuid) -> Option<Book> {
        self.seen.lock().unwrap().kept.last().cloned()
    }

    fn keep(&mut self, book: Book) {
        let on_members = self.events_on(&book);
        assert!(book.events() >= on_members, "superblocks were written before");
        let mut seen = self.seen.lock().unwrap();
        seen.events_on_members = on_members;
        seen.is_known_durable = false;
        seen.kept.push(book);
    }

    fn is_settled(&mut self) -> bool {
        let mut seen = self.seen.lock().unwrap();
        let on_members = self.events_on(seen.kept.last().unwrap());
        assert!(!seen.is_slow || on_members == seen.events_on_members, "superblocks have not waited");
        seen.is_known_durable = !seen.is_slow;
        !seen.is_slow
    }

    fn trouble(&mut self) -> Option<String> {
        None
    }

    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
}

struct Rig {
    bench: Arc<Bench>,
    seen: Arc<Mutex<Seen>>,
}

impl Rig {
    fn new() -> Self {
        let bench = Arc::new(Bench::new(2));
        bench.create("1", None).close().unwrap();
        Self { bench, seen: Arc::default() }
    }

    fn open(&self, drives: std::ops::Range<usize>, trust: Trust) -> Result<ArrayVolume<RealWorld>, OpenError> {
        let (world, plan, ids) = self.bench.world(drives, Access::Write);
        let witness = Witness { seen: self.seen.clone(), bench: self.bench.clone() };
        let memory = Some(HostMemory::new(Box::new(witness), trust));
        ArrayVolume::open_remembered(world, plan, &ids, &OpenOptions::writable(), memory)
    }

    fn last(&self) -> Book {
        self.seen.lock().unwrap().kept.last().unwrap().clone()
    }

    fn set_slow(&self, is_slow: bool) {
        self.seen.lock().unwrap().is_slow = is_slow;
    }
}

fn request(number: u64, write: bool) -> Request {
    let span = Span { buffer: BufferId(number as u32), offset: 0, length: 4096 };
    let command = if write { Command::Write { offset: 0, span } } else { Command::Read { offset: 1 << 20, span } };
    Request { id: RequestId::client(number), command }
}

/// Answers until one has this number.
fn until(array: &mut ArrayVolume<RealWorld>, number: u64) -> Vec<u64> {
    let (mut answers, mut numbers) = (Vec::new(), Vec::new());
    while !numbers.contains(&number) {
        array.turn(Duration::from_secs(60), &mut answers).unwrap();
        for answer in answers.drain(..) {
            answer.result.unwrap();
            numbers.push(answer.id.number);
        }
    }
    numbers
}

#[test]
fn superblocks_wait_for_what_is_remembered_and_reads_do_not() {
    let rig = Rig::new();
    let mut array = rig.open(0..2, Trust::Known).unwrap();
    assert_eq!(rig.last().members().len(), 2, "it is remembered from the first start on");
    rig.set_slow(true);
    array.submit(request(1, false));
    array.submit(request(0, true));
    assert_eq!(until(&mut array, 1), [1], "the write waits for its array to be marked active");
    assert_eq!(rig.last().events(), rig.bench.superblock(0).events + 1, "that is announced");
    rig.set_slow(false);
    assert_eq!(until(&mut array, 0), [0]);
    array.close().unwrap();
    assert_eq!(rig.last().events(), rig.bench.superblock(0).events);
    assert!(rig.bench.are_clean());
}

/// Seed 2608 of the fault hunt: after a power cut the members were ahead of what was durable, and
/// without one of them the array was taken for one that another host had run.
#[test]
fn what_an_array_has_become_elsewhere_is_durable_before_it_is_open() {
    let rig = Rig::new();
    rig.open(0..2, Trust::Known).unwrap().close().unwrap();
    let known = rig.last().events();
    let (world, plan, ids) = rig.bench.world(0..2, Access::Write);
    let mut elsewhere = ArrayVolume::open(world, plan, &ids, &OpenOptions::writable()).unwrap();
    elsewhere.submit(request(0, true));
    until(&mut elsewhere, 0);
    elsewhere.close().unwrap();
    let array = rig.open(0..2, Trust::Known).unwrap();
    assert!(rig.last().events() > known);
    assert!(rig.seen.lock().unwrap().is_known_durable);
    array.close().unwrap();
}

#[test]
fn a_member_that_leaves_is_remembered_with_its_last_update() {
    let rig = Rig::new();
    let mut array = rig.open(0..2, Trust::Known).unwrap();
    let going = array.world().drives()[0];
    array.fail_drive(going).unwrap();
    array.close().unwrap();
    let book = rig.last();
    let names = |path: &PathBuf| path.display().to_string();
    assert_eq!(book.left()[0].member.drive, names(&rig.bench.path(0).to_owned()));
    assert_eq!(book.left()[0].events, rig.bench.superblock(0).events);
    assert_eq!((book.members().len(), book.events()), (1, rig.bench.superblock(1).events));
    // Alone it is refused, and overruled by a word, from which on it is what is known.
    let refused = rig.open(0..1, Trust::Known).err().unwrap();
    assert!(matches!(refused, OpenError::Doubt { .. }), "{refused}");
    assert!(matches!(rig.open(0..1, Trust::Degraded), Err(OpenError::Doubt { .. })));
    let mut forced = rig.open(0..1, Trust::Anything).unwrap();
    assert_eq!(forced.take_remarks().len(), 1);
    forced.close().unwrap();
    rig.open(0..1, Trust::Known).unwrap().close().unwrap();
    assert!(rig.open(1..2, Trust::Known).is_err());
}

/// One that is a single update behind is taken by md for a member that a power cut left so.
#[test]
fn a_member_that_was_set_back_by_one_update_is_not_believed() {
    let rig = Rig::new();
    let mut array = rig.open(0..2, Trust::Known).unwrap();
    array.submit(request(0, true));
    until(&mut array, 0);
    let in_use = std::fs::read(rig.bench.path(1)).unwrap();
    array.close().unwrap();
    assert_eq!(
        (rig.last().events(), rig.last().flushed_events()),
        (rig.bench.superblock(1).events, rig.last().events())
    );
    std::fs::write(rig.bench.path(1), in_use).unwrap();
    assert_eq!(rig.bench.superblock(1).events + 1, rig.bench.superblock(0).events);
    let mut array = rig.open(0..2, Trust::Known).unwrap();
    assert_eq!(array.status().health, Health::Degraded);
    let remarks = array.take_remarks();
    assert!(remarks.iter().any(|remark| remark.contains("though it had flushed update")), "{remarks:?}");
    array.close().unwrap();
}

/// Between two updates that follow each other quickly no book is kept for the flush of the first
/// alone.
#[test]
fn what_is_flushed_is_remembered_with_the_next_update_or_after_a_while() {
    let rig = Rig::new();
    let mut array = rig.open(0..2, Trust::Known).unwrap();
    let known = rig.last().flushed_events();
    array.submit(request(0, true));
    until(&mut array, 0);
    assert!(rig.last().flushed_events() <= rig.last().events() && rig.last().flushed_events() == known);
    let mut answers = Vec::new();
    while rig.last().flushed_events() != rig.bench.superblock(0).events {
        array.turn(Duration::from_secs(60), &mut answers).unwrap();
    }
    array.close().unwrap();
}
