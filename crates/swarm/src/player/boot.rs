//! Worlds begin and end: creation, power cuts, orderly restarts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand_xoshiro::rand_core::Rng;
use shoal_sim::{Content, HostModel};
use shoal_volume::{
    Arena, ArrayVolume, BufferPlan, ConsistencyPolicy, Contents, CreateOptions, DriveId, OpenError, OpenOptions,
    SimulatedWorld, Volume, World, read_superblock,
};

use super::requests::BLOCK;
use super::{Counts, Player};
use crate::checkers::{Answers, Failure, Promises, Silent};
use crate::fleet::topology;
use crate::random::Random;
use crate::scenario::Scenario;
use crate::watched::{TraceHash, Watched};

/// Blocks that a request has at most.
pub(crate) const REQUEST_BLOCKS_MAX: u32 = 64;

const CHECKER: &str = "opens";

/// What is told apart in the chance that a seed gives.
const PURPOSE_PLAY: u64 = 2;

/// Memory for any scenario with so many drives.
pub(crate) fn arena_bytes(drives: usize) -> usize {
    plan(drives, 16, 64 << 10).arena_bytes()
}

fn plan(drives: usize, depth: u32, scratch_bytes: u32) -> BufferPlan {
    let drives = u32::try_from(drives).expect("a handful");
    BufferPlan {
        request_count: depth,
        request_bytes: REQUEST_BLOCKS_MAX * BLOCK as u32,
        scratch_count: 16 * drives + 16,
        scratch_bytes,
        slot_count: 4 * drives + 2,
    }
}

impl<'a> Player<'a> {
    /// Makes the array of a scenario.
    pub(super) fn begin(scenario: &'a Scenario, arena: Arena, is_traced: bool) -> Result<Self, Failure> {
        let mut random = Random::new(scenario.seed, PURPOSE_PLAY);
        let contents = first_contents(scenario, &mut random);
        let world = world(scenario, contents, &arena, 0, 0, is_traced)?;
        let used = scenario.members + scenario.spares;
        let drives: Vec<_> = (0..).map(DriveId).take(used).collect();
        let array =
            ArrayVolume::create(world, scenario_plan(scenario), &drives, &creation(scenario), &options(scenario));
        let array = array.map_err(|error| Failure::new("creates", error.to_string()))?;
        let blocks = usize::try_from(array.size_bytes() / BLOCK).expect("worlds are small");
        Ok(Self {
            scenario,
            arena,
            is_traced,
            promises: Promises::new(blocks, scenario.assume_clean),
            answers: Answers::new(),
            silent: Silent::default(),
            seats: array.content_map(),
            ids: (0..).map(|drive| Some(DriveId(drive))).take(scenario.drives()).collect(),
            array: Some(array),
            returned: BTreeSet::new(),
            holes: BTreeSet::new(),
            has_lost_to_holes: false,
            armed: BTreeMap::new(),
            buffers: (0..scenario.depth).collect(),
            next_id: 1,
            random,
            boots: 0,
            total_ns: 0,
            hash: TraceHash::new(),
            lines: String::new(),
            counts: Counts::default(),
        })
    }

    /// Ends a world: what all drives hold, with everything that is in flight left as it is.
    pub(super) fn put_down(&mut self) -> Vec<Content> {
        let Some(mut array) = self.array.take() else { return Vec::new() };
        let drives = self.scenario.drives();
        let world = array.world_mut();
        // A clone is cheap; a world under an array that is in the middle of something can only be dropped with it.
        let contents = (0..drives).map(|drive| world.inner_mut().content_mut(drive).clone()).collect();
        self.take_notes(world);
        contents
    }

    fn take_notes(&mut self, world: &mut Watched) {
        self.total_ns = world.total_ns();
        self.hash.add(world.hash.value());
        self.counts.member_ios += world.io_count;
        self.lines.push_str(&world.lines.take().unwrap_or_default());
    }

    /// Closes the array in order: what all drives hold then.
    pub(super) fn close(&mut self) -> Result<Vec<Content>, Failure> {
        let array = self.array.take().expect("there is an array between steps");
        let mut world = array.close().map_err(|error| Failure::new("closes", error.to_string()))?;
        // A loop waits for what is still under way (steps of a rebuild) before its drives are closed.
        while world.pending() > 0 {
            let waited = world.wait(1, None, &mut Vec::new());
            waited.map_err(|error| Failure::new("closes", error.to_string()))?;
        }
        world.placement.verdict()?;
        self.take_notes(&mut world);
        Ok(world.into_inner().contents())
    }

    pub(super) fn restart(&mut self) -> Result<(), Failure> {
        self.settle()?;
        self.note(format_args!("closed in order"));
        self.note_silent_faults();
        // Closing makes everything durable that the members take.
        let contents = self.close()?;
        self.boot(contents)
    }

    /// Cuts power for all drives, and lets it come back.
    pub(super) fn cut_power(&mut self) -> Result<(), Failure> {
        self.note(format_args!("power is cut"));
        self.note_silent_faults();
        self.find_holes();
        // What is armed may strike while the array is opened.
        let were_weak = self.weak_seats();
        let mut contents = self.put_down();
        for content in contents.iter_mut().filter(|content| !content.is_gone()) {
            content.cut_power(self.random.generator());
        }
        self.promises.power_cut();
        self.answers.forget_all();
        self.buffers = (0..self.scenario.depth).collect();
        self.counts.power_cuts += 1;
        self.boot(contents)?;
        self.find_lost_to_holes(&were_weak);
        self.forget_closed_holes();
        Ok(())
    }

    /// Opens the array over what is on the drives, by force if shoal says that it takes that.
    fn boot(&mut self, contents: Vec<Content>) -> Result<(), Failure> {
        self.boots += 1;
        self.returned.clear();
        self.ids = (0..).zip(&contents).map(|(drive, it)| (!it.is_gone()).then_some(DriveId(drive))).collect();
        let given = self.carriers(&contents);
        let opened = self.open(contents.clone(), &given, options(self.scenario));
        let array = match opened {
            Err(OpenError::DirtyDegraded { .. }) if self.may_be_refused() => {
                self.counts.forced += 1;
                self.open(contents, &given, OpenOptions { force: true, ..options(self.scenario) })
            }
            opened => opened,
        };
        self.array = Some(array.map_err(|error| Failure::new(CHECKER, format!("it does not open: {error}")))?);
        let armed = std::mem::take(&mut self.armed);
        let anew = |drive| (drive, (DriveId(drive as u32), self.array().content_map()));
        self.armed = armed.into_keys().map(anew).collect();
        // What was left out asks to be taken in.
        let in_use = self.drives_in_use();
        self.returned = given.into_iter().filter(|drive| !in_use.contains(drive)).collect();
        Ok(())
    }

    /// Only parity without a log can be wrong about a lost member.
    fn may_be_refused(&self) -> bool {
        self.has_parity() && self.scenario.consistency != ConsistencyPolicy::Ppl
    }

    /// The drives that are there and carry a superblock.
    pub(super) fn carriers(&self, contents: &[Content]) -> Vec<usize> {
        let carries = |content: &Content| {
            let mut content = content.clone();
            let size_bytes = content.size_bytes();
            read_superblock(size_bytes, |offset, bytes| content.read(offset, bytes)).is_ok()
        };
        (0..contents.len()).filter(|drive| !contents[*drive].is_gone() && carries(&contents[*drive])).collect()
    }

    pub(super) fn open(
        &self,
        contents: Vec<Content>,
        given: &[usize],
        options: OpenOptions,
    ) -> Result<ArrayVolume<Watched>, OpenError> {
        let world = world(self.scenario, contents, &self.arena, self.boots, self.total_ns, self.is_traced);
        let mut world = world.expect("it is made as the first one was");
        let drives: Vec<_> = given.iter().map(|drive| DriveId(*drive as u32)).collect();
        drives.iter().for_each(|drive| world.placement.give(*drive));
        world.placement.is_read_only = !options.writable;
        world.note(format_args!("opened with drives {given:?}, {options:?}"));
        ArrayVolume::open(world, scenario_plan(self.scenario), &drives, &options)
    }
}

/// What the drives hold before anything is made of them.
fn first_contents(scenario: &Scenario, random: &mut Random) -> Vec<Content> {
    // Drives that lie beside the array may hold anything; so may all, if the array is resynced first.
    let is_blank = |drive: usize| scenario.assume_clean && drive < scenario.members;
    let mut used = Content::new(scenario.drive_bytes);
    let mut bytes = vec![0; 1 << 16];
    for place in 0..scenario.drive_bytes >> 16 {
        random.generator().fill_bytes(&mut bytes);
        used.write(place << 16, &bytes).expect("it fits");
    }
    used.flush().expect("it is there");
    (0..scenario.drives())
        .map(|drive| {
            if is_blank(drive) {
                return Content::new(scenario.drive_bytes);
            }
            // Alike but for a part, so that copies and parity do not agree.
            let mut content = used.clone();
            let place = random.below(scenario.drive_bytes >> 16);
            random.generator().fill_bytes(&mut bytes);
            content.write(place << 16, &bytes).expect("it fits");
            content.flush().expect("it is there");
            content
        })
        .collect()
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
    OpenOptions { safe_mode_delay: Some(Duration::from_millis(scenario.safe_mode_delay_ms)), ..OpenOptions::writable() }
}

fn scenario_plan(scenario: &Scenario) -> BufferPlan {
    plan(scenario.drives(), scenario.depth, scenario.scratch_bytes)
}

fn world(
    scenario: &Scenario,
    contents: Vec<Content>,
    arena: &Arena,
    boot: u64,
    began_ns: u64,
    is_traced: bool,
) -> Result<Watched, Failure> {
    let topology = topology(&scenario.makes, scenario.drive_bytes);
    let host = HostModel::default();
    let seed = scenario.seed.wrapping_mul(1000).wrapping_add(boot);
    let world = SimulatedWorld::with_arena(&topology, &host, Contents::Given(contents), arena.clone(), seed);
    let world = world.map_err(|error| Failure::new("creates", error.to_string()))?;
    let given =
        if boot == 0 { (0..).map(DriveId).take(scenario.members + scenario.spares).collect() } else { [].into() };
    Ok(Watched::new(world, given, is_traced, began_ns))
}
