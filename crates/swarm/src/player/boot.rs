//! Worlds begin: creation, and the start of each life; and end in order.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use rand_xoshiro::rand_core::Rng;
use shoal_md::Candidate;
use shoal_memory::{Doubt, Found};
use shoal_sim::Content;
use shoal_volume::{
    Arena, ArrayVolume, BufferPlan, ConsistencyPolicy, CreateOptions, DriveId, HostMemory, Incarnation, OpenError,
    OpenOptions, Stretches, Superblock, Trust, Unflushed, Volume, VolumeError, World,
};

use super::hangs::Hangs;
use super::journal::JournalDrive;
use super::power::{Stock, superblock};
use super::requests::BLOCK;
use super::stranded::Stranded;
use super::worlds::world;
use super::{Counts, Player};
use crate::books::Books;
use crate::checkers::{Answers, DEADLINE_NS, Failure, Promises, Silent};
use crate::chronicle::{Chronicle, Shared};
use crate::limits::{REQUEST_BLOCKS_MAX, WRITE_BACK_BYTES_MAX};
use crate::random::Random;
use crate::scenario::{Scenario, Step};
use crate::watched::Watched;

const CHECKER: &str = "opens";

/// How long a member may be silent: a quarter of what the user has patience for, as several may be.
const SILENCE: Duration = Duration::from_nanos(DEADLINE_NS / 4);

/// What is told apart in the chance that a seed gives.
const PURPOSE_PLAY: u64 = 2;

/// Memory for any scenario with so many drives.
pub(crate) fn arena(drives: usize) -> io::Result<Arena> {
    plan(drives, 16, 64 << 10).with_write_back(WRITE_BACK_BYTES_MAX).arena()
}

fn plan(drives: usize, depth: u32, scratch_bytes: u32) -> BufferPlan {
    let drives = u32::try_from(drives).expect("a handful");
    BufferPlan {
        request_count: depth,
        request_bytes: REQUEST_BLOCKS_MAX * BLOCK as u32,
        scratch_count: 16 * drives + 16,
        scratch_bytes,
        slot_count: 4 * drives + 2,
        write_back_bytes: 0,
        stretches: Stretches::Measured,
    }
}

impl<'a> Player<'a> {
    /// Makes the array of a scenario.
    pub(super) fn begin(scenario: &'a Scenario, arena: Arena, is_traced: bool) -> Result<Self, Failure> {
        let mut random = Random::new(scenario.seed, PURPOSE_PLAY);
        let (chronicle, books) = (Chronicle::begin(is_traced), Books::default());
        let array = created(scenario, first_contents(scenario, &mut random), &arena, &chronicle, &books)?;
        Ok(Self {
            scenario,
            members: scenario.members,
            arena,
            chronicle,
            promises: Promises::new((array.size_bytes() / BLOCK) as usize, scenario.assume_clean),
            answers: Answers::new(scenario.reordering.is_slow()),
            silent: Silent::default(),
            seats: array.content_map(),
            ids: (0..).map(|drive| Some(DriveId(drive))).take(scenario.drives()).collect(),
            array: Some(array),
            hangs: Hangs::default(),
            failing: BTreeSet::new(),
            rereading: BTreeSet::new(),
            refusals: 0,
            incarnations: vec![0; scenario.drives()],
            client: Unflushed::new(Incarnation::default()),
            books,
            trust: Trust::Known,
            returned: BTreeSet::new(),
            holes: BTreeSet::new(),
            has_lost_to_holes: false,
            armed: BTreeMap::new(),
            away: BTreeMap::new(),
            stranded: Stranded::default(),
            stock: Stock::default(),
            journal: JournalDrive::default(),
            growing: Vec::new(),
            flipped: BTreeSet::new(),
            buffers: (0..scenario.depth).collect(),
            next_id: 1,
            random,
            boots: 0,
            counts: Counts::default(),
        })
    }

    /// Closes the array in order: what all drives hold then.
    pub(super) fn close(&mut self) -> Result<Vec<Content>, Failure> {
        let mut array = self.array.take().expect("there is an array between steps");
        if let Err(VolumeError::NotWritten { .. }) = array.rest() {
            self.promises.not_written();
        }
        let mut world = array.close().map_err(|error| Failure::new("closes", error.to_string()))?;
        // A loop waits for what is still under way (steps of a rebuild) before its drives are
        // closed.
        while world.pending() > 0 {
            let mut finished = Vec::new();
            world.wait(1, Some(SILENCE), &mut finished).map_err(|error| Failure::new("closes", error.to_string()))?;
            match (finished.is_empty(), self.hangs.now.is_empty()) {
                (true, true) => return Err(Failure::new("closes", "I/O is under way that does not end")),
                (true, false) => break,
                (false, _) => {}
            }
        }
        world.placement.verdict()?;
        let mut contents = world.into_inner().contents();
        // What helps against a drive that hangs is another start of it.
        self.hangs.to_come.clear();
        for drive in std::mem::take(&mut self.hangs.now) {
            contents[drive].cut_power(self.random.generator());
            self.appear(drive);
        }
        Ok(contents)
    }

    pub(super) fn restart(&mut self) -> Result<(), Failure> {
        let contents = self.close_in_order()?;
        self.boot(contents)
    }

    /// Closes the array once all is answered; power may be cut in the midst of that.
    pub(super) fn close_in_order(&mut self) -> Result<Vec<Content>, Failure> {
        self.settle()?;
        self.note(format_args!("closed in order"));
        let holes = self.holes.clone();
        self.take_stock();
        // Closing makes everything durable that the members take.
        let contents = self.close()?;
        self.holes = holes;
        if self.answers.changes_may_fail {
            // Who closes asks for nothing that could be told.
            self.promises.not_told();
        }
        Ok(contents)
    }

    /// Brings the array in sync, flushes it and closes it in order, for who works on it at rest;
    /// none if it is not whole.
    pub(super) fn close_whole(&mut self) -> Result<Option<Vec<Content>>, Failure> {
        self.settle()?;
        self.recover()?;
        if !self.is_whole() {
            return Ok(None);
        }
        self.request(Step::Flush)?;
        self.close_in_order().map(Some)
    }

    /// Opens the array over what is on the drives that are there, by force if shoal says that it
    /// takes that.
    pub(super) fn boot(&mut self, mut contents: Vec<Content>) -> Result<(), Failure> {
        self.boots += 1;
        self.returned.clear();
        self.hangs.end_life();
        self.failing.clear();
        self.rereading.clear();
        self.send_away(&mut contents);
        contents = self.go_on_growing(contents)?;
        self.ids = Self::first_ids(&contents);
        self.try_apart(&contents)?;
        self.let_drives_hang(&contents);
        let (given, array) = self.open_insisting(contents);
        if self.is_dark() {
            self.counts.cut_short += 1;
        }
        self.array = Some(array.map_err(|error| Failure::new(CHECKER, format!("it does not open: {error}")))?);
        self.journal.alone.clear();
        self.adopt_shape();
        self.meet_client();
        let in_use = self.drives_in_use();
        // A fault that strikes while the array closes is found in the next life. A drive that stays
        // away from that life is looked up by where it was before.
        let armed = std::mem::take(&mut self.armed);
        let anew = |drive| (DriveId(drive as u32), self.array().content_map());
        let known = |(drive, before)| (drive, if in_use.contains(&drive) { anew(drive) } else { before });
        self.armed = armed.into_iter().map(known).collect();
        // What was left out asks to be taken in.
        self.flipped.retain(|drive| !in_use.contains(drive));
        self.returned = given.into_iter().filter(|drive| !in_use.contains(drive)).collect();
        self.come_up()
    }

    /// Opens the array over the drives that are there, as its owner does who is refused where that
    /// may be: which drives those are, and what came of it.
    fn open_insisting(&mut self, mut contents: Vec<Content>) -> (Vec<usize>, Result<ArrayVolume<Watched>, OpenError>) {
        let books = self.books.copied();
        let (mut given, opened) = self.open_answering(&contents);
        let array = match opened {
            Err(OpenError::DirtyDegraded { .. }) if self.may_be_refused(&contents) => {
                self.counts.forced += 1;
                // An array inside may have been written to by then. What is opened now are the
                // drives as they were.
                self.books = books;
                self.widen_holes();
                self.open_forced(contents, &mut given)
            }
            // A drive that cannot be done without has refused something, as it was let do: its
            // owner tries again, on the drives as they were.
            Err(OpenError::NotRecorded { .. } | OpenError::NotRenewed { .. }) if self.answers.changes_may_fail => {
                self.books = books;
                contents.iter_mut().for_each(Content::disarm);
                given = self.carriers(&contents);
                self.open_believing(&contents, &given, &options(self.scenario))
            }
            opened => opened,
        };
        (given, array)
    }

    /// Opens the array over the drives that are there and answer: which those are, and what came of
    /// it.
    fn open_answering(&mut self, contents: &[Content]) -> (Vec<usize>, Result<ArrayVolume<Watched>, OpenError>) {
        let mut given = self.carriers(contents);
        // A drive that does not answer at all is not found to carry anything.
        given.retain(|drive| !self.hangs.is_mute(*drive));
        let opened = self.open_believing(contents, &given, &options(self.scenario));
        if !matches!(opened, Err(OpenError::NoMember { .. })) || self.hangs.now.is_empty() {
            return (given, opened);
        }
        // It has hung while it was asked what it is: it is left out, as shoal says.
        given.retain(|drive| !self.hangs.now.contains(drive));
        let opened = self.open_believing(contents, &given, &options(self.scenario));
        (given, opened)
    }

    /// Opens the array. Where drives have lied about flushes, and too few are left that have not,
    /// somebody has to say that what is there is to be believed.
    pub(super) fn open_believing(
        &mut self,
        contents: &[Content],
        given: &[usize],
        options: &OpenOptions,
    ) -> Result<ArrayVolume<Watched>, OpenError> {
        let opened = self.open(contents.to_vec(), given, *options, self.memory());
        let Err(OpenError::Doubt { doubt, .. }) = &opened else { return opened };
        if self.counts.lies == 0 || !matches!(doubt, Doubt::LostUpdates { .. } | Doubt::Older { .. }) {
            return opened;
        }
        self.counts.doubted += 1;
        self.trust = Trust::Anything;
        self.open(contents.to_vec(), given, *options, self.memory())
    }

    /// Only parity without a log can be wrong about a lost member; or with one that cannot be
    /// replayed, as something that it needs cannot be read; or while a resync has not come to its
    /// end.
    fn may_be_refused(&self, contents: &[Content]) -> bool {
        let is_sound = |content: &Content| !content.is_armed() && content.unreadable_sectors().is_empty();
        let has_logs = self.scenario.consistency == ConsistencyPolicy::Ppl;
        let is_resynced = |own: Superblock| own.is_clean() || own.resync_offset_sectors == 0;
        let is_trusted = |content: &Content| is_sound(content) && superblock(content).is_none_or(is_resynced);
        self.has_parity()
            && (!has_logs || self.silent.is_any() || !self.flipped.is_empty() || !contents.iter().all(is_trusted))
    }

    pub(super) fn open(
        &self,
        contents: Vec<Content>,
        given: &[usize],
        options: OpenOptions,
        memory: Option<HostMemory>,
    ) -> Result<ArrayVolume<Watched>, OpenError> {
        let world = world(self.scenario, contents, &self.arena, self.boots, &self.chronicle);
        let mut world = world.expect("it is made as the first one was");
        world.plan_hangs(&self.hangs.to_come);
        let drives: Vec<_> = given.iter().map(|drive| DriveId(*drive as u32)).collect();
        drives.iter().for_each(|drive| world.placement.give(*drive));
        world.placement.is_read_only = !options.writable;
        self.note(format_args!("opened with drives {given:?}, {options:?}"));
        ArrayVolume::open_remembered(world, scenario_plan(self.scenario), &drives, &options, memory)
    }

    /// This host looks at the array after somebody else has written to its drives.
    pub(super) fn remember_found(&self, contents: &[Content]) {
        let found = |(drive, content): (usize, &Content)| {
            let candidate = Candidate { drive: format!("drive {drive}"), superblock: superblock(content)? };
            Some(Found { candidate, hardware: Some(format!("drive {drive}")) })
        };
        self.books.see(&contents.iter().enumerate().filter_map(found).collect::<Vec<_>>());
    }

    /// What this host remembers, for an array that it starts.
    pub(super) fn memory(&self) -> Option<HostMemory> {
        Some(self.books.memory(self.trust))
    }
}

/// What the drives hold before anything is made of them.
fn first_contents(scenario: &Scenario, random: &mut Random) -> Vec<Content> {
    // Drives that lie beside the array may hold anything; so may all, if the array is resynced
    // first.
    let is_blank = |drive: usize| scenario.assume_clean && drive < scenario.members;
    let mut bytes = vec![0; 1 << 16];
    // Of a vast drive, the beginning.
    let used_bytes = scenario.drive_bytes.min(16 << 20) >> 16 << 16;
    let mut used = vec![0; used_bytes as usize];
    random.generator().fill_bytes(&mut used);
    // Alike but for a part, so that copies and parity do not agree. Clones share what is alike.
    let mut alike = BTreeMap::new();
    (0..scenario.drives())
        .map(|drive| {
            let size_bytes = scenario.bytes_of(drive);
            if is_blank(drive) {
                return Content::new(size_bytes);
            }
            let alike = alike.entry(size_bytes).or_insert_with(|| {
                let mut content = Content::new(size_bytes);
                content.write(0, &used).expect("it fits");
                content.flush().expect("it is there");
                content
            });
            let mut content = alike.clone();
            let place = random.below(used_bytes >> 16);
            random.generator().fill_bytes(&mut bytes);
            content.write(place << 16, &bytes).expect("it fits");
            content.flush().expect("it is there");
            content
        })
        .collect()
}

/// The array, made of the first drives, and remembered.
fn created(
    scenario: &Scenario,
    contents: Vec<Content>,
    arena: &Arena,
    chronicle: &Shared,
    books: &Books,
) -> Result<ArrayVolume<Watched>, Failure> {
    let world = world(scenario, contents, arena, 0, chronicle)?;
    let drives: Vec<_> = (0..).map(DriveId).take(scenario.members + scenario.spares).collect();
    let (plan, creation, options) = (scenario_plan(scenario), creation(scenario), options(scenario));
    let array = ArrayVolume::create(world, plan, &drives, &creation, &options);
    let mut array = array.map_err(|error| Failure::new("creates", error.to_string()))?;
    array.remember_in(books.memory(Trust::Known));
    books.settle(); // who makes an array waits until it is remembered
    Ok(array)
}

fn creation(scenario: &Scenario) -> CreateOptions {
    CreateOptions {
        level: scenario.level,
        chunk_bytes: scenario.chunk_bytes,
        spare_count: scenario.spares,
        name: "swarm".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: scenario.assume_clean,
        metadata: scenario.metadata,
        consistency: scenario.consistency,
    }
}

pub(super) fn options(scenario: &Scenario) -> OpenOptions {
    let safe_mode_delay = Some(Duration::from_millis(scenario.safe_mode_delay_ms));
    OpenOptions { safe_mode_delay, silence: Some(SILENCE), ..OpenOptions::writable() }
}

fn scenario_plan(scenario: &Scenario) -> BufferPlan {
    // Drives of these worlds gain nothing by stretches: half of the windows write them all the
    // same.
    let stretches = if scenario.seed.is_multiple_of(2) { Stretches::Always } else { Stretches::Measured };
    let plan = plan(scenario.drives(), scenario.depth, scenario.scratch_bytes);
    plan.with_write_back(scenario.write_back_bytes).with_stretches(stretches)
}
