//! Cuts a story at every place, in every way.

use shoal_lab::Share;
use shoal_volume::ConsistencyPolicy;

use crate::power_cuts::content::Expected;
use crate::power_cuts::cut::{Cursor, Fate};
use crate::power_cuts::judge::{Case, Outcome};
use crate::power_cuts::random::Random;
use crate::power_cuts::story::{Story, Told};
use crate::power_cuts::trace::Fact;

/// How often each outcome was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// All was as promised.
    pub(crate) recovered: usize,
    /// The array was refused as dirty and degraded, and was forced.
    pub(crate) forced: usize,
}

/// What else happens when power comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Nothing.
    AsItWas,
    /// Drives that had died are back, with what they had.
    DeadReturn,
    /// A drive does not come up.
    OneLost,
    /// Power is cut again during the recovery.
    SecondCut,
}

impl After {
    const ALL: [Self; 4] = [Self::AsItWas, Self::DeadReturn, Self::OneLost, Self::SecondCut];
}

/// Tells a story in several orders of answers, and cuts each telling at every place; at those of a
/// [`Share`], if there is one.
pub(crate) fn cut_everywhere(story: &Story) -> Tally {
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"));
    let (first, orders) = (number("SHOAL_SEED", 1), number("SHOAL_ORDERS", 2));
    let share = Share::from_environment();
    let mut tally = Tally::default();
    for seed in first..first + orders {
        cut_one_telling(story, seed, share, &mut tally);
    }
    println!("{}: {} cuts, {} of them with force", story.name, tally.recovered + tally.forced, tally.forced);
    tally
}

fn cut_one_telling(story: &Story, seed: u64, share: Share, tally: &mut Tally) {
    let told = story.tell(seed);
    let mut cursor = Cursor::new(told.before.clone(), Expected::new(told.blocks));
    for place in 0..=told.trace.len() {
        let fates = if cursor.is_settled() { &[Fate::Lost][..] } else { &Fate::ALL };
        for (number, &fate) in fates.iter().enumerate().filter(|_| share.has(place)) {
            // Over many places every fate meets every aftermath.
            let after = After::ALL[(place + number) % After::ALL.len()];
            let hunt = Hunt { story, told: &told, cursor: &cursor, place, seed };
            match hunt.cut(fate, after) {
                Ok(Outcome::Recovered) => tally.recovered += 1,
                Ok(Outcome::Forced) => tally.forced += 1,
                Err(why) => panic!("{}", hunt.report(fate, after, &why)),
            }
        }
        if let Some(fact) = told.trace.get(place) {
            cursor.step(fact);
        }
    }
}

/// One place of a telling.
struct Hunt<'a> {
    story: &'a Story,
    told: &'a Told,
    cursor: &'a Cursor,
    place: usize,
    seed: u64,
}

impl Hunt<'_> {
    fn cut(&self, fate: Fate, after: After) -> Result<Outcome, String> {
        let mut random = Random::new(self.seed << 32 | self.place as u64);
        let media = self.cursor.cut(fate, &mut random);
        let present = self.present(after, &mut random);
        let case = Case {
            media,
            lost: self.lost(&present),
            present,
            expected: &self.cursor.expected,
            row_blocks: self.row_blocks(),
            may_refuse: self.story.may_refuse,
            was_forced: false,
            seed: self.seed + self.place as u64,
        };
        match after {
            After::SecondCut => case.judge_second_cut(&mut random),
            _ => case.judge(),
        }
    }

    /// The drives that come up.
    fn present(&self, after: After, random: &mut Random) -> Vec<usize> {
        let is_dead = |drive: &usize| self.cursor.dead.contains(drive);
        let mut present: Vec<_> = (0..self.story.drives()).collect();
        if after != After::DeadReturn {
            present.retain(|drive| !is_dead(drive));
        }
        let had_losses = self.told.trace[..self.place].iter().any(Fact::is_loss);
        if after == After::OneLost && !had_losses {
            present.remove(random.below(self.story.members));
        }
        present
    }

    /// Blocks that a write to one of them may spoil. Who forces an array with a partial parity log
    /// has it replayed, too.
    fn row_blocks(&self) -> Option<usize> {
        let has_log = self.story.consistency == ConsistencyPolicy::Ppl;
        if has_log { Some(1) } else { self.story.row_blocks() }
    }

    /// With a partial parity log, only blocks that were being written to a drive when it was lost
    /// may be anything.
    fn lost(&self, present: &[usize]) -> Vec<usize> {
        if self.story.consistency != ConsistencyPolicy::Ppl {
            return Vec::new();
        }
        let lost_now = (0..self.story.members).filter(|drive| !present.contains(drive)).map(|drive| (drive, u32::MAX));
        let died_before = |drive: usize| self.cursor.died_at.iter().find(|died| died.0 == drive).copied();
        let lost: Vec<_> = lost_now.map(|lost| died_before(lost.0).unwrap_or(lost)).collect();
        let died = self.cursor.died_at.iter().copied();
        let lost: Vec<_> = lost.into_iter().chain(died).collect();
        let is_lost = |block: &usize| {
            let drive = self.story.drive_of(*block);
            let at = lost.iter().find(|lost| lost.0 == drive);
            at.is_some_and(|(_, version)| self.cursor.expected.is_unsettled_since(*block, *version))
        };
        (0..self.told.blocks).filter(is_lost).collect()
    }

    fn report(&self, fate: Fate, after: After, why: &str) -> String {
        let (place, all) = (self.place, self.told.trace.len());
        let before = self.told.trace[place.saturating_sub(8)..place].iter().map(Fact::short).collect::<Vec<_>>();
        format!(
            "{}, SHOAL_SEED={}: power is cut before fact {place} of {all}, unflushed writes: {fate:?}, then {after:?}: \
             {why}\nthe last facts: {before:#?}",
            self.story.name, self.seed
        )
    }
}
