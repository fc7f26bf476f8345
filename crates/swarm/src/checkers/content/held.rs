//! What a block may hold, and what it does.

use super::{Promises, Version};
use crate::checkers::blocks::{May, Other, Versions};
use crate::checkers::stamps::{digest, is_stamped, name_of};

impl Promises {
    /// What a block that may be `before` may hold after some changes, in whatever order was
    /// possible; those that were answered before version `lost_before` was asked for may have been
    /// lost since.
    pub(super) fn merged(&self, before: &May, changes: &[Version], lost_before: Version) -> May {
        let certain = |version: &Version| {
            let change = self.change(*version);
            change.is_certain && change.answered_at.is_some_and(|answered_at| lost_before <= answered_at)
        };
        // The latest start of something that is done is what supersedes.
        let last_certain = changes.iter().copied().filter(certain).max();
        let survives = |version: &Version| match (self.change(*version).answered_at, last_certain) {
            (Some(answered_at), Some(last_certain)) => last_certain <= answered_at,
            (None, _) | (_, None) => true,
        };
        let versions = before.versions.as_slice().iter().chain(changes).copied().filter(survives).collect();
        May { other: before.other.filter(|_| last_certain.is_none()), versions }
    }

    /// Whether the block holds any of what it may hold.
    pub(super) fn may_hold(&self, number: usize, bytes: &[u8], may: &May) -> bool {
        let is = |version: &Version| is_stamped(number, self.change(*version).becomes, bytes);
        let is_other = |other| match other {
            Other::Anything => true,
            Other::Digest(expected) => expected == digest(bytes),
        };
        may.other.is_some_and(is_other) || may.versions.as_slice().iter().any(is)
    }

    /// Which of what it may hold the block holds, as it holds any of that.
    pub(super) fn held(&self, number: usize, bytes: &[u8], may: &May) -> May {
        let is = |version: &Version| is_stamped(number, self.change(*version).becomes, bytes);
        let versions: Versions = may.versions.as_slice().iter().copied().filter(is).collect();
        let other = (versions == Versions::None).then(|| Other::Digest(digest(bytes)));
        May { other, versions }
    }

    /// Whether it is a version that came while the read was under way.
    pub(super) fn was_asked_since(&self, asked_at: Version, number: usize, bytes: &[u8]) -> bool {
        let (_, version) = name_of(bytes);
        let is_discarded = || (asked_at + 1..=self.newest()).any(|version| self.change(version).becomes == 0);
        (asked_at < version && version <= self.newest() && is_stamped(number, version, bytes))
            || (is_stamped(number, 0, bytes) && is_discarded())
    }

    pub(super) fn mismatch(&self, number: usize, bytes: &[u8], may: &May) -> String {
        let (block, version) = name_of(bytes);
        let held = if bytes.iter().all(|byte| *byte == 0) {
            "zeros".to_owned()
        } else if !is_stamped(block, version, bytes) {
            "no version of anything".to_owned()
        } else if block == number {
            format!("version {version}")
        } else {
            format!("version {version} of block {block}")
        };
        match may.other {
            None => format!("block {number} holds {held}, and may hold versions {:?}", may.versions.as_slice()),
            Some(_) => format!("block {number} holds {held}, and not what it was seen to hold"),
        }
    }
}
