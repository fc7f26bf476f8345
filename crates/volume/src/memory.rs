//! What a host remembers of arrays, as they are put together and run: who is admitted, and when the
//! book is written.
//!
//! [`shoal_memory`] says by which rules. An array is judged before anything is written to it. Each
//! [record run](crate::tree::Recorder) then begins with what it is about to write being remembered,
//! while the members settle; the superblocks wait for it, for no longer than the keeper has
//! patience. A tree without a memory admits everybody and remembers nothing: simulated arrays,
//! temporary ones, and those that others run.

mod doubts;
mod flushes;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use shoal_array::{Instant, Role};
use shoal_md::{Candidate, MemberUse, SinceItLeft, Superblock, Timestamp, Uuid};
use shoal_memory::{Book, Doubt, Found, GivenUp, Keeper, Left, Member, Refusal, Sight, Standing, hardware_of_array};

use crate::assemble::{Cause, UPDATES_APART, candidates};
use crate::tree::{Duty, Node, NodeId, Target, Tree};
use crate::world::World;
use crate::{ArrayVolume, CountedOn, LeftOut, OpenError, OpenOptions};

use flushes::Flushed;

/// How often it is looked whether a keeper has done what it was given.
pub(crate) const GLANCE: Duration = Duration::from_millis(1);

/// How much is believed beyond what is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: what is in doubt is refused.
    Known,
    /// That members are missing for good, of an array that is not known.
    Degraded,
    /// Whatever is there: doubts are told, and the array is known by what is there from now on, if
    /// it is written to.
    Anything,
}

/// What a host remembers of its arrays.
pub struct HostMemory {
    keeper: Box<dyn Keeper>,
    trust: Trust,
    remarks: Vec<String>,
    /// The first doubt that was overruled and that says more than that members are missing.
    doubt: Option<Doubt>,
    /// Arrays whose books are begun anew, as somebody said that what is there is right.
    anew: BTreeSet<Uuid>,
    /// Who carried the superblock of an array when it was put together.
    found: BTreeMap<Uuid, Vec<Left>>,
    /// What was known of an array before its last update was announced.
    before: BTreeMap<Uuid, Book>,
    /// The highest count of updates that was announced of each array: no member has a higher one by
    /// what is done here.
    announced: BTreeMap<Uuid, u64>,
    /// How those that were put together stand to what is remembered.
    standings: BTreeMap<Uuid, Standing>,
    /// The last update of an array that all members have flushed.
    flushed: BTreeMap<Uuid, Flushed>,
}

impl std::fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostMemory").field("trust", &self.trust).finish_non_exhaustive()
    }
}

/// Members that may take part, and those that may not.
pub(crate) struct Admitted {
    pub(crate) members: Vec<(Target, Superblock)>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl HostMemory {
    /// What `keeper` remembers.
    pub fn new(keeper: Box<dyn Keeper>, trust: Trust) -> Self {
        Self {
            keeper,
            trust,
            remarks: Vec::new(),
            doubt: None,
            anew: BTreeSet::new(),
            found: BTreeMap::new(),
            before: BTreeMap::new(),
            announced: BTreeMap::new(),
            standings: BTreeMap::new(),
            flushed: BTreeMap::new(),
        }
    }

    /// What `keeper` remembers, and will as soon as [`Tree::remember_all`] is called: what there
    /// is, and nothing else.
    pub(crate) fn begun_anew(keeper: Box<dyn Keeper>, found: &[Found]) -> Self {
        let mut memory = Self::new(keeper, Trust::Anything);
        for found in found {
            memory.found.entry(found.candidate.superblock.array_uuid).or_default().push(left(found));
        }
        memory
    }

    /// Begins anew with what was kept, for an array that is put together once more: what somebody
    /// said before counts no more.
    pub(crate) fn start_over(&mut self) {
        self.tell_flushed(|_| true);
        self.trust = Trust::Known;
        self.anew.clear();
        self.found.clear();
        self.before.clear();
        self.standings.clear();
        self.flushed.clear();
    }

    /// Whom this host has seen in the last update of an array.
    pub(crate) fn counted_on(&mut self, array: Uuid) -> Vec<CountedOn> {
        let announced = self.announced(array);
        let Some(book) = self.keeper.recall(array) else { return Vec::new() };
        let events = announced.max(book.events());
        let counted_on = |member: &Member| {
            let Member { uuid: device, hardware, drive, .. } = member.clone();
            CountedOn { array, events, device, hardware, drive }
        };
        book.members().iter().map(counted_on).collect()
    }

    /// The highest count of updates that was announced of an array.
    pub(crate) fn announced(&self, array: Uuid) -> u64 {
        self.announced.get(&array).copied().unwrap_or_default()
    }

    /// Forgets what is known of this array.
    pub(crate) fn begin_anew(&mut self, array: Uuid) {
        self.anew.insert(array);
    }

    /// What a drive was called that is known on other hardware than this; none if it is where it
    /// was, is not known, or hardware has no name.
    pub(crate) fn moved_from(&mut self, superblock: &Superblock, hardware: Option<&str>) -> Option<String> {
        let book = self.keeper.recall(superblock.array_uuid)?;
        book.moved_from(superblock.device_uuid, hardware).map(str::to_owned)
    }

    /// The update that a former member had when it left, if it has lost that since. It was never
    /// more than one behind: what it lacks it had flushed.
    pub(crate) fn lost_update(&mut self, superblock: &Superblock) -> Option<u64> {
        let book = self.keeper.recall(superblock.array_uuid)?;
        let left_at = book.one_that_left(superblock.device_uuid)?.events;
        (superblock.events.saturating_add(1) < left_at).then_some(left_at)
    }

    /// Whether a former member has an update that it had not when it left.
    pub(crate) fn since_it_left(&mut self, superblock: &Superblock) -> SinceItLeft {
        let book = self.keeper.recall(superblock.array_uuid);
        match book.as_ref().and_then(|book| book.one_that_left(superblock.device_uuid)) {
            Some(left) if superblock.events <= left.events => SinceItLeft::AsItWas,
            _ => SinceItLeft::Unknown,
        }
    }

    /// Whether the file of a member, of now or once, was cut short or deleted while the array ran.
    pub(crate) fn has_lost_content(&mut self, superblock: &Superblock) -> bool {
        let book = self.keeper.recall(superblock.array_uuid);
        book.is_some_and(|book| book.refusal(superblock.device_uuid) == Some(Refusal::LostContent))
    }

    /// Whether the array, which is known, has no such member any more, whatever that one says.
    pub(crate) fn has_parted_with(&mut self, superblock: &Superblock) -> bool {
        let book = self.keeper.recall(superblock.array_uuid);
        book.is_some_and(|book| book.members().iter().all(|member| member.uuid != superblock.device_uuid))
    }

    /// What people should know, a sentence each, once.
    pub(crate) fn take_remarks(&mut self) -> Vec<String> {
        self.remarks.append(&mut self.keeper.take_remarks());
        std::mem::take(&mut self.remarks)
    }

    fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }
}

/// What an array is called.
fn name_of(superblock: &Superblock) -> String {
    match superblock.name() {
        name if name.is_empty() => superblock.array_uuid.to_string(),
        name => name,
    }
}

impl<W: World> ArrayVolume<W> {
    /// Makes a host remember the array as it is.
    pub fn remember_in(&mut self, memory: HostMemory) {
        self.tree.memory = Some(memory);
        self.tree.remember_all();
    }

    /// What people should know of what this host remembers, a sentence each, once.
    pub fn take_remarks(&mut self) -> Vec<String> {
        self.tree.memory.as_mut().map(HostMemory::take_remarks).unwrap_or_default()
    }
}

impl<W: World> Tree<W> {
    /// The same with what is remembered of its arrays, if anything is to be.
    pub(crate) fn with_memory(mut self, memory: Option<HostMemory>) -> Self {
        self.memory = memory;
        self
    }

    /// Who of those that carry the superblock of one array may take part in it.
    pub(crate) fn admit(
        &mut self,
        members: &[(Target, Superblock)],
        options: &OpenOptions,
    ) -> Result<Admitted, OpenError> {
        let mut admitted = Admitted { members: members.to_vec(), left_out: Vec::new() };
        let found = self.found(members);
        let Some(memory) = &mut self.memory else { return Ok(admitted) };
        let judgement = memory.judge(&found, options)?;
        for (index, suspicion) in judgement.left_out.iter().rev() {
            let drive = &found[*index].candidate.drive;
            memory.remark(format!("{drive} is not used: {suspicion}"));
            admitted.members.remove(*index);
            admitted.left_out.insert(0, LeftOut { name: drive.clone(), cause: Cause::Suspicion(suspicion.clone()) });
        }
        let is_in = |index: &usize| judgement.left_out.iter().all(|(out, _)| out != index);
        let there = (0..found.len()).filter(is_in).map(|index| left(&found[index]));
        if let Some(first) = found.first() {
            memory.found.insert(first.candidate.superblock.array_uuid, there.collect());
        }
        Ok(admitted)
    }

    /// Whether arrays that are to be joined may be of one time.
    pub(crate) fn admit_together(&mut self, nodes: &[NodeId]) -> Result<(), OpenError> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        let facts = |array| nodes.iter().map(|node| &self.nodes[node.0].facts).find(|own| own.array_uuid == array);
        let of_node = |(array, standing): (&Uuid, &Standing)| facts(*array).map(|_| (*array, standing.clone()));
        let standings: Vec<_> = memory.standings.iter().filter_map(of_node).collect();
        let mixed = Standing::is_mixed(&standings);
        let mixed = mixed.and_then(|(array, doubt)| Some((facts(array)?.clone(), doubt)));
        let Some((superblock, doubt)) = mixed else { return Ok(()) };
        memory.overrule(&superblock, &doubt)?;
        memory.remark(format!("array {}: {doubt}", name_of(&superblock)));
        Ok(())
    }

    pub(crate) fn found(&self, members: &[(Target, Superblock)]) -> Vec<Found> {
        let candidates = candidates(self, members).into_iter();
        let found = |(candidate, (target, _)): (Candidate, &(Target, Superblock))| Found {
            candidate,
            hardware: self.hardware(*target),
        };
        candidates.zip(members).map(found).collect()
    }

    /// By what is known again what a member lies on.
    pub(crate) fn hardware(&self, target: Target) -> Option<String> {
        match target {
            Target::Drive(drive) => self.world.hardware(drive),
            Target::Node(node) => Some(hardware_of_array(self.nodes[node.0].facts.array_uuid)),
        }
    }

    /// Has an array remembered with those slots that are about to get this update, or have it.
    pub(crate) fn remember(&mut self, node: NodeId, slots: &[usize], events: u64) {
        if self.memory.is_none() {
            return;
        }
        let mut sight = self.sight(node, slots, events);
        let Some(memory) = &mut self.memory else { return };
        let announced = memory.announced.entry(sight.array).or_default();
        *announced = events.max(*announced);
        sight.others = memory.found.remove(&sight.array).unwrap_or_default();
        let known = if memory.anew.remove(&sight.array) { None } else { memory.keeper.recall(sight.array) };
        let known = known.map(|known| memory.with_flushed(known));
        memory.before.remove(&sight.array);
        memory.before.extend(known.clone().map(|known| (sight.array, known)));
        let book = known.map_or_else(|| Book::of(sight.clone()), |known| known.after(sight.clone()));
        memory.keeper.keep(book);
    }

    /// An update that was announced is given up, and no superblock says it: what was known before
    /// is right. Else members that lose their power together would be remembered as having left.
    pub(crate) fn take_back(&mut self, node: NodeId) {
        let array = self.nodes[node.0].facts.array_uuid;
        let Some(memory) = &mut self.memory else { return };
        if let Some(before) = memory.before.remove(&array) {
            memory.keeper.keep(before);
        }
    }

    /// The same of one for which superblocks were written already: no drive that others rely on
    /// says that it has one.
    pub(crate) fn give_up_update(&mut self, node: NodeId, events: u64, time: Timestamp) {
        let given_up = GivenUp { events, update_time_unix_s: time.seconds() };
        let array = self.nodes[node.0].facts.array_uuid;
        let Some(memory) = &mut self.memory else { return };
        if let Some(before) = memory.before.remove(&array) {
            memory.keeper.keep(before.with_given_up(given_up));
        }
    }

    /// The same of all arrays as they are.
    pub(crate) fn remember_all(&mut self) {
        for node in (0..self.nodes.len()).map(NodeId) {
            self.remember_as_it_is(node);
        }
    }

    /// The same of those that are open for writing.
    pub(crate) fn remember_writable(&mut self) {
        for node in (0..self.nodes.len()).map(NodeId) {
            if self.nodes[node.0].writable {
                self.remember_as_it_is(node);
            }
        }
    }

    fn remember_as_it_is(&mut self, node: NodeId) {
        let it = &self.nodes[node.0];
        let (slots, events) = match it.recorder.announced_slots() {
            // Its update will be on drives before anything is remembered again.
            Some(slots) => (slots.to_vec(), it.events() + 1),
            None => (it.slots_in_use(), it.events()),
        };
        self.remember(node, &slots, events);
    }

    fn sight(&self, node: NodeId, slots: &[usize], events: u64) -> Sight {
        let it = &self.nodes[node.0];
        let mut members = Vec::new();
        for &slot in slots {
            let slot = &it.slots[slot];
            let Ok(superblock) = it.membership.superblock(slot.number.get()) else { continue };
            let role = if let Duty::Member(role) | Duty::Returning(role) = slot.duty { Some(role.0) } else { None };
            let has_refused = role.is_some_and(|role| it.array.refused_flush().contains(&Role(role)));
            let refusal = has_refused.then_some(Refusal::Drive);
            let (uuid, target) = (superblock.device_uuid, slot.place.target);
            let (hardware, drive) = (self.hardware(target), self.name(target));
            members.push(Member { uuid, hardware, drive, role, refusal });
        }
        Sight { array: it.facts.array_uuid, events, members, others: Vec::new() }
    }

    /// Waits until all that was to be remembered is, or has been given up: for as long as the
    /// keeper has patience. An array that is about to go on without a member is refused if that
    /// cannot be remembered, unless somebody has said that it may: nobody would know, when the
    /// member comes back alone, that its content is old.
    pub(crate) fn settle_memory(&mut self) -> Result<(), OpenError> {
        while !self.has_remembered() {
            std::thread::sleep(GLANCE);
        }
        let leaves_some_behind = |node: &&Node| node.updates_due >= UPDATES_APART;
        let Some(node) = self.nodes.iter().find(leaves_some_behind) else { return Ok(()) };
        let Some(memory) = self.memory.as_mut().filter(|memory| memory.trust == Trust::Known) else { return Ok(()) };
        let name = node.facts.name();
        memory.keeper.trouble().map_or(Ok(()), |why| Err(OpenError::NotRemembered { name, why }))
    }

    /// Whether all that was to be remembered is, or has been given up.
    pub(crate) fn has_remembered(&mut self) -> bool {
        self.memory.as_mut().is_none_or(|memory| memory.keeper.is_settled())
    }

    /// When to look again for a record run that waits, or to remember what is flushed.
    pub(crate) fn memory_due(&self) -> Option<Instant> {
        let memory = self.memory.as_ref()?;
        let glance = || self.world.now().after_ns(u64::try_from(GLANCE.as_nanos()).unwrap_or(u64::MAX));
        let waits = self.nodes.iter().any(|node| node.recorder.waits_for_memory());
        waits.then(glance).into_iter().chain(memory.flushed.values().filter_map(|flushed| flushed.told_at)).min()
    }
}

/// A drive that may turn out to take no part.
fn left(found: &Found) -> Left {
    let Found { candidate: Candidate { drive, superblock }, hardware } = found.clone();
    let role = if let MemberUse::Active(role) = superblock.own_use() { Some(role.0) } else { None };
    let member = Member { uuid: superblock.device_uuid, hardware, drive, role, refusal: None };
    Left { member, events: superblock.events }
}
