//! Some of the members are started without the others, and on another host: tried on copies of the
//! world, wherever a life begins.
//!
//! Any set of drives may be there, those among them that have missed whatever was flushed. A host
//! that remembers the array may refuse the set. What it lets through is right: all that was flushed
//! is there. If another host, which has never seen the array, ran some of the drives meanwhile,
//! what this one lets through is what it knew or what the other has made of that, whole, and never
//! a mix. If both went on, each with drives of its own, this one keeps to what it wrote, or
//! refuses.

use std::collections::BTreeSet;
use std::rc::Rc;

use shoal_sim::Content;
use shoal_volume::{HostMemory, Incarnation, Unflushed};

use super::boot::options;
use super::hangs::Hangs;
use super::{Counts, Player};
use crate::checkers::Failure;
use crate::scenario::{Run, Step};

/// What a host leaves that ran some of the drives.
struct Ran<'a> {
    /// Who played there, and knows what was promised.
    player: Player<'a>,
    drives: Vec<usize>,
    /// What all drives hold then.
    contents: Vec<Content>,
}

impl<'a> Player<'a> {
    /// Somebody who plays on from here, on a copy of the world, between one array and the next.
    pub(super) fn aside(&self) -> Self {
        let mut promises = self.promises.clone();
        promises.owe_nothing();
        Self {
            scenario: self.scenario,
            members: self.members,
            arena: self.arena.clone(),
            chronicle: Rc::clone(&self.chronicle),
            array: None,
            promises,
            answers: self.answers.for_another(),
            silent: self.silent.clone(),
            seats: self.seats.clone(),
            ids: vec![None; self.ids.len()],
            hangs: Hangs::default(),
            failing: BTreeSet::new(),
            rereading: BTreeSet::new(),
            refusals: 0,
            incarnations: self.incarnations.clone(),
            client: Unflushed::new(Incarnation::default()),
            books: self.books.copied(),
            trust: self.trust,
            returned: self.returned.clone(),
            holes: self.holes.clone(),
            has_lost_to_holes: self.has_lost_to_holes,
            armed: self.armed.clone(),
            away: self.away.clone(),
            stranded: self.stranded.clone(),
            stock: self.stock.clone(),
            journal: self.journal.clone(),
            growing: Vec::new(),
            flipped: self.flipped.clone(),
            buffers: (0..self.scenario.depth).collect(),
            next_id: self.next_id,
            random: self.random.clone(),
            boots: self.boots,
            counts: Counts::default(),
        }
    }

    /// Tries some of the drives on a copy of the world, now and then.
    pub(super) fn try_apart(&mut self, contents: &[Content]) -> Result<(), Failure> {
        if self.redundancy() == 0
            || self.silent.is_any()
            || !self.armed.is_empty()
            || contents.iter().any(Content::is_armed)
            || !self.flipped.is_empty()
            || !self.random.percent(self.scenario.apart_percent)
        {
            return Ok(());
        }
        // Power cuts are for the world that goes on.
        let cuts = self.chronicle.borrow_mut().hold_cuts();
        let tried = self.start_apart(contents);
        self.chronicle.borrow_mut().resume_cuts(cuts);
        tried.map_err(|failure| Failure { checker: "apart", what: failure.to_string() })
    }

    fn start_apart(&mut self, contents: &[Content]) -> Result<(), Failure> {
        let elsewhere = self.random.percent(50).then(|| self.run_elsewhere(contents)).flatten();
        let is_split = elsewhere.is_some() && self.random.percent(50);
        let here = elsewhere.as_ref().filter(|_| is_split).and_then(|it| self.go_on_without(contents, &it.drives));
        let mut contents = contents.to_vec();
        for Ran { drives, contents: after, .. } in [&elsewhere, &here].into_iter().flatten() {
            drives.iter().for_each(|drive| contents[*drive] = after[*drive].clone());
        }
        self.counts.apart += 1;
        let given = self.some_carriers(&contents);
        let own = here.as_ref().map_or(&*self, |ran| &ran.player);
        let started = own.aside().start(&contents, &given, Some(own.books.copied().memory(self.trust)));
        self.counts.split += u64::from(here.is_some());
        self.counts.apart_refused += u64::from(matches!(started, Ok(false)));
        let (Err(failure), Some(Ran { player, .. }), None) = (&started, &elsewhere, &here) else {
            return started.map(|_| ());
        };
        // By what the other host has made of it, perhaps.
        let by_other = player.aside().start(&contents, &given, Some(self.books.copied().memory(self.trust)));
        by_other.map(|_| ()).map_err(|other| Failure::new("content", format!("{failure}; run elsewhere: {other}")))
    }

    /// Some of the drives with a superblock, one at least.
    fn some_carriers(&mut self, contents: &[Content]) -> Vec<usize> {
        let all = self.carriers(contents);
        let some: Vec<_> = all.iter().copied().filter(|_| self.random.percent(65)).collect();
        if some.is_empty() { all } else { some }
    }

    /// Opens the array with some drives, and holds what was ever written against what was
    /// promised; whether it opens.
    fn start(&mut self, contents: &[Content], here: &[usize], memory: Option<HostMemory>) -> Result<bool, Failure> {
        let mut contents = contents.to_vec();
        for (drive, content) in contents.iter_mut().enumerate() {
            content.set_gone(content.is_gone() || !here.contains(&drive));
        }
        self.boots += 1;
        self.ids = Self::first_ids(&contents);
        let opened = self.open(contents, here, options(self.scenario), memory);
        self.note(format_args!("on the side: {:?}", opened.as_ref().err()));
        let Ok(array) = opened else { return Ok(false) };
        self.array = Some(array);
        // What cannot be read on one may be absent on another.
        self.answers.reads_may_fail = true;
        let were_weak = self.stock.weak_seats();
        self.find_lost_to_holes(&were_weak);
        self.read_touched()?;
        self.array_mut().world_mut().placement.verdict()?;
        Ok(true)
    }

    /// Another host runs some of the drives. None if it cannot, or takes what is old for what is
    /// new: it knows no better.
    fn run_elsewhere(&mut self, contents: &[Content]) -> Option<Ran<'a>> {
        let there = self.some_carriers(contents);
        self.aside().run(contents, there, None)
    }

    /// This host runs the drives that the other one does not have.
    fn go_on_without(&self, contents: &[Content], elsewhere: &[usize]) -> Option<Ran<'a>> {
        let mut rest = self.carriers(contents);
        rest.retain(|drive| !elsewhere.contains(drive));
        let aside = self.aside();
        let memory = aside.books.memory(aside.trust);
        if rest.is_empty() { None } else { aside.run(contents, rest, Some(memory)) }
    }

    /// A host runs some of the drives, and its user writes.
    fn run(mut self, contents: &[Content], drives: Vec<usize>, memory: Option<HostMemory>) -> Option<Ran<'a>> {
        if !matches!(self.start(contents, &drives, memory), Ok(true)) {
            return None;
        }
        self.write_some().ok()?;
        let contents = self.close().ok()?;
        self.books.settle();
        Some(Ran { player: self, drives, contents })
    }

    fn write_some(&mut self) -> Result<(), Failure> {
        for _ in 0..3 {
            let first = self.random.below(1 << 14);
            self.request(Step::Write(Run { first, count: 8 }))?;
        }
        self.request(Step::Flush)?;
        self.settle()
    }
}
