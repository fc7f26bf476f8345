//! A member that left comes back.
//!
//! While it was away, a write-intent bitmap has kept a bit for every chunk that was written without
//! it: bits are not cleared while a member is missing. So what it holds is good except for those
//! chunks, if it has seen every update up to the last time that bits were cleared
//! (`events_cleared`). Everything else has to be added as new.

use shoal_array::Role;

use super::{Membership, set_recovery};
use crate::limits::NUMBER_LIMIT;
use crate::superblock::MemberUse;
use crate::{Candidate, Features, Superblock};

/// A member that is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readmission {
    /// Its number: the one that it had, if nobody else has got it.
    pub dev_number: u32,
    /// Its role. It is to be rebuilt from the start, and only where the bitmap has set bits.
    pub role: Role,
}

/// Why a member that left cannot come back as what it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{drive} cannot be re-added: {why}: {}", .why.mend())]
pub struct ReAddError {
    /// The drive.
    pub drive: String,
    /// The reason.
    pub why: ReAddProblem,
}

/// What speaks against a member that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReAddProblem {
    /// It carries another array's superblock.
    #[error("it belongs to another array")]
    OtherArray,
    /// It has not left at all.
    #[error("it is a member already")]
    StillThere,
    /// The array has changed meanwhile.
    #[error("the array had another level, layout, chunk or size when it left")]
    OtherShape,
    /// By its own table it has no role.
    #[error("it was no active member when it left")]
    NoRole,
    /// What it holds was not complete when it left.
    #[error("it was being rebuilt, or made a replacement, when it left")]
    Incomplete,
    /// Somebody else has its role.
    #[error("member {} has been replaced", role.0)]
    RoleTaken {
        /// The role.
        role: Role,
    },
    /// It has seen more updates than the array, or none of the members besides it.
    #[error("it was run without the others, and its content may have gone another way")]
    RunAlone,
    /// Nobody knows what it missed.
    #[error("the array has no write-intent bitmap that knows what it missed")]
    NoBitmap,
    /// Its number has been given away, and there is no other.
    #[error("the array's superblock has no place for another member")]
    TableFull,
    /// Bits have been cleared that it needed.
    #[error("it left at update {events}, and the write-intent bitmap goes back to {events_cleared} only")]
    TooOld {
        /// What it has seen.
        events: u64,
        /// What it would have to have seen.
        events_cleared: u64,
    },
}

impl ReAddProblem {
    /// Whether nothing is in the way of a member all of whose content is copied to it again.
    pub fn asks_for_a_copy(self) -> bool {
        matches!(self, Self::OtherShape | Self::Incomplete | Self::NoBitmap | Self::TooOld { .. })
    }

    /// What to do now.
    fn mend(self) -> &'static str {
        match self {
            Self::StillThere => "there is nothing to do",
            Self::OtherArray => {
                "take another drive; if that is an array inside this one, `shoal stop` the array and re-add it with all of \
                 its drives given"
            }
            _ => "add it as a new drive with `shoal add --force`, which rebuilds all of it",
        }
    }
}

/// What is known of a member since it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinceItLeft {
    /// What it says itself.
    Unknown,
    /// It has the update that it left with: nobody has run it.
    AsItWas,
}

impl Membership {
    /// A member that left comes back, as its own superblock says. `events_cleared` is what the
    /// bitmap's header says; none if there is no bitmap, or none that may be believed.
    pub fn re_add(
        &mut self,
        back: &Candidate,
        events_cleared: Option<u64>,
        since: SinceItLeft,
    ) -> Result<Readmission, ReAddError> {
        let refused = |why| ReAddError { drive: back.drive.clone(), why };
        let role = self.role_to_take_again(&back.superblock, events_cleared, since).map_err(refused)?;
        let any = self.members.first().ok_or_else(|| refused(ReAddProblem::NoBitmap))?;
        let former = back.superblock.dev_number;
        let vacant = |number: u32| {
            number < NUMBER_LIMIT && !matches!(any.member_use(number), MemberUse::Active(_) | MemberUse::Journal)
        };
        let dev_number = match vacant(former) && self.superblock(former).is_err() {
            true => former,
            false => self.free_number(any).ok_or_else(|| refused(ReAddProblem::TableFull))?,
        };
        let mut own = super::with_own_fields(any, &back.superblock);
        own.dev_number = dev_number;
        set_recovery(&mut own, Some(0));
        own.features = own.features.with(Features::RECOVERY_BITMAP, true);
        self.members.push(own);
        self.record(dev_number, MemberUse::Active(role));
        Ok(Readmission { dev_number, role })
    }

    fn role_to_take_again(
        &self,
        own: &Superblock,
        events_cleared: Option<u64>,
        since: SinceItLeft,
    ) -> Result<Role, ReAddProblem> {
        use ReAddProblem as P;
        let any = self.members.first().ok_or(P::NoBitmap)?;
        let shape = |superblock: &Superblock| {
            let level = (superblock.version(), superblock.disk_level(), superblock.chunk_sectors);
            (level, superblock.raid_devices, superblock.size_sectors, superblock.bitmap_offset)
        };
        let incomplete = own.features.any_of(Features::RECOVERY_OFFSET | Features::REPLACEMENT);
        let by_bitmap = own.features.any_of(Features::RECOVERY_BITMAP) && !own.features.any_of(Features::REPLACEMENT);
        let MemberUse::Active(role) = own.own_use() else { return Err(P::NoRole) };
        let events_cleared = events_cleared.filter(|_| any.features.any_of(Features::BITMAP));
        for (wrong, why) in [
            (own.array_uuid != any.array_uuid, P::OtherArray),
            (self.members.iter().any(|member| member.device_uuid == own.device_uuid), P::StillThere),
            (incomplete && !by_bitmap, P::Incomplete),
            (self.members.iter().any(|member| member.own_use() == MemberUse::Active(role)), P::RoleTaken { role }),
            (own.events > any.events || self.ran_without_us(own, since), P::RunAlone),
            (events_cleared.is_none(), P::NoBitmap),
            (shape(own) != shape(any), P::OtherShape),
        ] {
            if wrong {
                return Err(why);
            }
        }
        match events_cleared {
            Some(events_cleared) if own.events < events_cleared => {
                Err(P::TooOld { events: own.events, events_cleared })
            }
            _ => Ok(role),
        }
    }

    /// Whether it has gone on without us: by its own table a member that is in sync here had
    /// failed, or a role of such a member was nobody's, or nobody but itself was left. A role that
    /// was nobody's may have been filled later; then it is no loss to fill this one too. Of one
    /// that is as it was, others may have failed before it did, and be back: but not all.
    fn ran_without_us(&self, own: &Superblock, since: SinceItLeft) -> bool {
        let seen = |number: &u32| own.member_use(*number);
        let others: Vec<_> = (0..own.max_dev()).filter(|number| *number != own.dev_number).collect();
        let is_active = |other: &MemberUse| matches!(other, MemberUse::Active(_));
        let in_sync = |member: &&Superblock| {
            is_active(&member.own_use()) && !member.features.any_of(Features::RECOVERY_OFFSET | Features::REPLACEMENT)
        };
        let is_missed = |member: &Superblock| {
            seen(&member.dev_number) == MemberUse::Faulty
                || !others.iter().any(|number| seen(number) == member.own_use())
        };
        let mut missed = self.members.iter().filter(in_sync).map(is_missed);
        let is_apart = match since {
            SinceItLeft::Unknown => missed.any(|is_missed| is_missed),
            SinceItLeft::AsItWas => missed.all(|is_missed| is_missed),
        };
        is_apart || !others.iter().any(|number| is_active(&seen(number)))
    }
}
