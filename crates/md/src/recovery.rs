//! What can be made of members that do not make a whole array: which of them to use so that least
//! is lost.
//!
//! Assembly believes the freshest members and leaves out those that missed updates. If what is left
//! is too little, the content can only be had with old members. [`propose`] takes in as few of
//! those as it needs, the freshest first: what is lost is at most what was written since the oldest
//! of them left. Nothing is written here: the proposal names the superblocks that would have to be,
//! and whoever wants to see the content first puts them into an overlay.

use shoal_array::{Health, MemberState};

use crate::membership::with_own_fields;
use crate::superblock::MemberUse;
use crate::{AssembleError, Assembly, Candidate, Superblock, Verdict, assemble};

/// What is proposed of the members of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The array as it would run.
    pub assembly: Assembly,
    /// Which of all candidates the assembly's are, in its order.
    pub used: Vec<usize>,
    /// What is to become of every candidate, in the order given.
    pub choices: Vec<Choice>,
    /// Superblocks that have to be written for it, by index of their candidates; none if it runs as
    /// it is.
    pub mended: Vec<(usize, Superblock)>,
    /// Its health then. [`Health::Failed`]: too little is there.
    pub health: Health,
}

/// What is proposed to do with a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// To use it or leave it out as the array itself says.
    AsItSays(Verdict),
    /// To take it in though the array went on without it: what was written since may be old where
    /// it is on this member.
    Force {
        /// What the array says of it.
        verdict: Verdict,
        /// How many updates it missed.
        updates_missed: u64,
    },
    /// To leave it out: another candidate is the same member, and as fresh or fresher.
    CopyOf(usize),
}

/// Proposes the assembly that loses least. Candidates must be of one array.
pub fn propose(candidates: &[Candidate]) -> Result<Proposal, AssembleError> {
    let copies = copies(candidates);
    let used: Vec<usize> = (0..candidates.len()).filter(|index| copies[*index].is_none()).collect();
    let chosen: Vec<Candidate> = used.iter().map(|index| candidates[*index].clone()).collect();
    let as_it_says = assemble(&chosen)?;
    let Forced { members: forced, assembly, mended } = force_what_is_needed(&chosen, &as_it_says);
    let choice = |index: usize| match copies[index] {
        Some(other) => Choice::CopyOf(other),
        None => {
            let place = used.iter().position(|used| *used == index).expect("what is no copy is used");
            let verdict = as_it_says.verdicts[place];
            let updates_missed = as_it_says.superblock.events.saturating_sub(candidates[index].superblock.events);
            if forced.contains(&place) { Choice::Force { verdict, updates_missed } } else { Choice::AsItSays(verdict) }
        }
    };
    let needed = |place: &usize| forced.contains(place) || is_used(as_it_says.verdicts[*place]);
    let mended = (0..).zip(mended).filter(|(place, _)| needed(place)).map(|(place, mended)| (used[place], mended));
    Ok(Proposal {
        choices: (0..candidates.len()).map(choice).collect(),
        mended: mended.collect(),
        health: assembly.health(),
        assembly,
        used,
    })
}

/// What comes of taking in old members.
struct Forced {
    /// Which.
    members: Vec<usize>,
    assembly: Assembly,
    /// All candidates' superblocks then; none if no member is forced.
    mended: Vec<Superblock>,
}

/// Takes in old members, the freshest first, until the array can run. If it never can, none.
fn force_what_is_needed(chosen: &[Candidate], as_it_says: &Assembly) -> Forced {
    let as_it_is = Forced { members: Vec::new(), assembly: as_it_says.clone(), mended: Vec::new() };
    if as_it_says.health() != Health::Failed {
        return as_it_is;
    }
    let mut members = Vec::new();
    for next in forcible(chosen, as_it_says).into_iter().rev() {
        members.push(next);
        let attempt = with_forced(chosen, as_it_says, &members);
        match assemble(&attempt) {
            Ok(assembly) if assembly.health() != Health::Failed => {
                let mended = attempt.into_iter().map(|candidate| candidate.superblock).collect();
                return Forced { members, assembly, mended };
            }
            Ok(_) => {}
            // It contradicts the others.
            Err(_) => {
                members.pop();
            }
        }
    }
    as_it_is
}

fn is_used(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::InSync(_) | Verdict::Rebuilding { .. })
}

/// For each candidate the one whose copy it is, if there is a fresher one of the same member, or an
/// equal one before.
fn copies(candidates: &[Candidate]) -> Vec<Option<usize>> {
    let best_of = |index: usize| {
        let own = &candidates[index].superblock;
        let same = |other: &usize| candidates[*other].superblock.device_uuid == own.device_uuid;
        (0..candidates.len()).rev().filter(same).max_by_key(|other| candidates[*other].superblock.events)
    };
    (0..candidates.len()).map(|index| best_of(index).filter(|best| *best != index)).collect()
}

/// Members that the array went on without and that know what they were, the freshest last.
fn forcible(candidates: &[Candidate], assembly: &Assembly) -> Vec<usize> {
    let was_member = |index: &usize| {
        matches!(candidates[*index].superblock.own_use(), MemberUse::Active(_))
            && matches!(assembly.verdicts[*index], Verdict::Stale { .. } | Verdict::Faulty)
    };
    let mut old: Vec<usize> = (0..candidates.len()).filter(was_member).collect();
    old.sort_by_key(|index| candidates[*index].superblock.events);
    old
}

/// The candidates as if the array had never gone on without the forced ones.
fn with_forced(candidates: &[Candidate], assembly: &Assembly, forced: &[usize]) -> Vec<Candidate> {
    let mut table = assembly.superblock.clone();
    for &index in forced {
        let own = &candidates[index].superblock;
        table.set_member_use(own.dev_number, own.own_use());
    }
    // With all roles filled a resync can make parity and mirrors agree; with one missing there is
    // nothing to do it with.
    let filled = assembly.slots.iter().filter(|slot| slot.state == MemberState::InSync).count() + forced.len();
    table.resync_offset_sectors = if filled >= assembly.slots.len() { 0 } else { Superblock::CLEAN };
    let change = |(index, candidate): (usize, &Candidate)| {
        if !forced.contains(&index) && !is_used(assembly.verdicts[index]) {
            return candidate.clone();
        }
        Candidate { superblock: with_own_fields(&table, &candidate.superblock), ..candidate.clone() }
    };
    candidates.iter().enumerate().map(change).collect()
}

#[cfg(test)]
mod tests {
    use shoal_array::{Level, ParityLayout, Role};

    use super::*;
    use crate::{
        ConsistencyPolicy, CreateRequest, Membership, MinorVersion, NewMember, Timestamp, Uuid, plan_creation,
    };

    /// A RAID5 of three whose members left one after the other: 1 after its third update, 2 after
    /// its fifth.
    fn left_one_by_one() -> Vec<Candidate> {
        let member =
            |number: u8| NewMember { drive: format!("{number}"), size_bytes: 64 << 20, uuid: Uuid([number; 16]) };
        let creation = plan_creation(&CreateRequest {
            level: Level::Raid5(ParityLayout::LeftSymmetric),
            chunk_bytes: Some(64 << 10),
            members: vec![member(1), member(2), member(3)],
            spares: Vec::new(),
            name: "pond".to_owned(),
            homehost: None,
            array_uuid: Uuid([9; 16]),
            creation_time: Timestamp::from_seconds(1_700_000_000),
            clean: true,
            minor: MinorVersion::Start4K,
            consistency: ConsistencyPolicy::Resync,
        });
        let mut membership = Membership::of_creation(&creation.unwrap());
        let mut seen = membership.superblocks().to_vec();
        for (update, leaves) in [(1, None), (2, None), (3, Some(1)), (4, None), (5, Some(2)), (6, None)] {
            membership.advance(Timestamp::from_seconds(1_700_000_000 + update));
            for superblock in membership.superblocks() {
                seen[superblock.dev_number as usize] = superblock.clone();
            }
            if let Some(number) = leaves {
                membership.fail(number).unwrap();
            }
        }
        let named = |(number, superblock)| Candidate { drive: format!("drive {number}"), superblock };
        seen.into_iter().enumerate().map(named).collect()
    }

    #[test]
    fn the_freshest_of_the_old_members_is_enough() {
        let candidates = left_one_by_one();
        let proposal = propose(&candidates).unwrap();
        assert_eq!(proposal.health, Health::Degraded);
        assert_eq!(proposal.choices[0], Choice::AsItSays(Verdict::InSync(Role(0))));
        assert_eq!(proposal.choices[1], Choice::AsItSays(Verdict::Faulty));
        assert_eq!(proposal.choices[2], Choice::Force { verdict: Verdict::Faulty, updates_missed: 1 });
        let mended: Vec<_> = proposal.mended.iter().map(|(index, _)| *index).collect();
        assert_eq!(mended, [0, 2]);

        // What is proposed assembles as it is proposed.
        let written = |(index, superblock): &(usize, Superblock)| Candidate {
            superblock: superblock.clone(),
            ..candidates[*index].clone()
        };
        let assembly = assemble(&proposal.mended.iter().map(written).collect::<Vec<_>>()).unwrap();
        assert_eq!(assembly.verdicts, [Verdict::InSync(Role(0)), Verdict::InSync(Role(2))]);
    }

    #[test]
    fn what_runs_by_itself_is_left_alone() {
        let mut candidates = left_one_by_one();
        for candidate in &mut candidates {
            candidate.superblock.events = 6;
        }
        candidates.remove(1);
        let base = candidates[1].superblock.clone();
        candidates[0].superblock = with_own_fields(&base, &candidates[0].superblock);
        let proposal = propose(&candidates).unwrap();
        assert_eq!((proposal.health, proposal.mended.len()), (Health::Degraded, 0));
    }

    #[test]
    fn of_two_copies_the_fresher_is_used() {
        let mut candidates = left_one_by_one();
        let mut copy = candidates[0].clone();
        copy.superblock.events -= 1;
        candidates.insert(0, copy);
        let proposal = propose(&candidates).unwrap();
        assert_eq!(proposal.choices[0], Choice::CopyOf(1));
        assert_eq!(proposal.choices[1], Choice::AsItSays(Verdict::InSync(Role(0))));
    }

    #[test]
    fn too_few_members_stay_too_few() {
        let candidates = left_one_by_one();
        let proposal = propose(&candidates[1..2]).unwrap();
        assert_eq!((proposal.health, proposal.mended.len()), (Health::Failed, 0));
    }
}
