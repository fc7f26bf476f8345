//! What is remembered of one array.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shoal_md::{Timestamp, Uuid};

use crate::limits::{BOOK_BYTES_MAX, GIVEN_UP_MAX, LEFT_MAX, MEMBERS_MAX};

/// The format of the file.
const VERSION: u32 = 1;

/// What a host remembers of one array. The crate's documentation says what follows from it.
///
/// Invariant: no device UUID is in it twice, and no more updates are flushed than there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    array: Uuid,
    events: u64,
    flushed_events: u64,
    members: Vec<Member>,
    left: Vec<Left>,
    given_up: Vec<GivenUp>,
}

/// An update that this host gave up after it had begun to write superblocks, as no drive said that
/// it had taken one. One may have, and lost its power before it could say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// The count that its superblocks say.
    pub events: u64,
    /// The time that they say: seconds since 1970.
    pub update_time_unix_s: u64,
}

/// A drive, or inner array, that takes part in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its device UUID.
    pub uuid: Uuid,
    /// What it lies on, by something that stays when it is plugged in elsewhere; none if nothing
    /// does.
    pub hardware: Option<String>,
    /// What people called it when it was last seen.
    pub drive: String,
    /// Its role, if it has one: it holds data then.
    pub role: Option<u16>,
    /// Why it refused a flush, if it did.
    pub refusal: Option<Refusal>,
}

/// Why a member refused a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The drive did not take it: what it had answered by then may go with its power, until all of
    /// it was written again.
    Drive,
    /// Its file had been cut short or deleted: what was on it is lost, whatever it holds by now.
    /// Nothing that is written to it makes that good.
    LostContent,
}

/// A member that takes part no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// As it was.
    pub member: Member,
    /// The last count of updates that is known of it.
    pub events: u64,
}

/// An array as it is, or is about to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its UUID.
    pub array: Uuid,
    /// The count of updates that all of its members have, or are about to get.
    pub events: u64,
    /// Who takes part.
    pub members: Vec<Member>,
    /// Who carries its superblock and takes no part.
    pub others: Vec<Left>,
}

/// Why bytes are no book.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// Too many of them.
    #[error("it is larger than any memory of an array")]
    TooLarge,
    /// Not what was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

impl Book {
    /// All that is known is what is seen.
    pub fn of(sight: Sight) -> Self {
        let Sight { array, events, members, others } = sight;
        let (left, given_up) = (Vec::new(), Vec::new());
        let mut book = Self { array, events, flushed_events: 0, members: Vec::new(), left, given_up };
        for member in members {
            if book.member(member.uuid).is_none() {
                book.members.push(member);
            }
        }
        others.into_iter().for_each(|other| book.put_left(other));
        book.forget_the_oldest();
        book
    }

    /// What is known after this has been seen. The count never goes back.
    pub fn after(&self, sight: Sight) -> Self {
        let mut book = Self::of(sight);
        book.events = book.events.max(self.events);
        book.flushed_events = self.flushed_events;
        for member in &mut book.members {
            let known = self.member(member.uuid).and_then(|known| known.refusal);
            // Its content may be renewed by now. The update that it refused is lost until a later
            // one is flushed.
            let counts = |why: &Refusal| *why == Refusal::LostContent || self.flushed_events < self.events;
            member.refusal = member.refusal.max(known.filter(counts));
        }
        book.given_up = self.given_up.iter().filter(|given_up| given_up.events > book.events).copied().collect();
        let were_here = self.members.iter().map(|member| Left { member: member.clone(), events: self.events });
        for left in self.left.iter().cloned().chain(were_here) {
            book.put_left(left);
        }
        book.forget_the_oldest();
        book
    }

    /// The same, once every member has flushed this update, or one that is even later than the
    /// book's.
    pub fn with_flushed(mut self, events: u64) -> Self {
        self.flushed_events = self.flushed_events.max(events.min(self.events));
        self
    }

    /// The same, once the member with this device UUID has refused a flush.
    pub fn with_refused_flush(mut self, uuid: Uuid, why: Refusal) -> Self {
        let refuses = self.members.iter_mut().filter(|member| member.uuid == uuid);
        refuses.for_each(|member| member.refusal = member.refusal.max(Some(why)));
        self
    }

    /// The same, once the drive with this device UUID was rewritten and flushed. What a file has
    /// lost it has lost.
    pub fn with_renewed(mut self, uuid: Uuid) -> Self {
        let known = self.members.iter_mut().chain(self.left.iter_mut().map(|left| &mut left.member));
        let renewed = known.filter(|member| member.uuid == uuid && member.refusal == Some(Refusal::Drive));
        renewed.for_each(|member| member.refusal = None);
        self
    }

    /// The same with other names for the drives of its members; none: the name stays.
    pub(crate) fn with_drives(mut self, named: impl Fn(&Path) -> Option<PathBuf>) -> Self {
        for member in &mut self.members {
            if let Some(name) = named(Path::new(&member.drive)).as_deref().and_then(Path::to_str) {
                member.drive = name.to_owned();
            }
        }
        self
    }

    /// The same, once an update behind the book's has been given up.
    pub fn with_given_up(mut self, given_up: GivenUp) -> Self {
        let first = (self.given_up.len() + 1).saturating_sub(GIVEN_UP_MAX);
        self.given_up.drain(..first);
        self.given_up.push(given_up);
        self
    }

    /// Whether superblocks with this count and time are of an update that this host gave up.
    pub fn has_given_up(&self, events: u64, update_time: Timestamp) -> bool {
        self.given_up.contains(&GivenUp { events, update_time_unix_s: update_time.seconds() })
    }

    /// The array's UUID.
    pub fn array(&self) -> Uuid {
        self.array
    }

    /// The count of the last update that was written, or was about to be.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The count of the last update that every member is known to have flushed.
    pub fn flushed_events(&self) -> u64 {
        self.flushed_events
    }

    /// Who took part in it.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Who left before.
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// The member of the last update with this device UUID.
    pub fn member(&self, uuid: Uuid) -> Option<&Member> {
        self.members.iter().find(|member| member.uuid == uuid)
    }

    /// The one with this device UUID that left before.
    pub fn one_that_left(&self, uuid: Uuid) -> Option<&Left> {
        self.left.iter().find(|left| left.member.uuid == uuid)
    }

    /// Whether a drive with this device UUID, on this hardware, has ever been a member: it may come
    /// back by itself.
    pub fn knows(&self, uuid: Uuid, hardware: Option<&str>) -> bool {
        self.ever_known(uuid).is_some_and(|member| !member.is_on_other(hardware))
    }

    /// What a member, of now or once, was called that has this device UUID and is known to lie on
    /// other hardware than this.
    pub fn moved_from(&self, uuid: Uuid, hardware: Option<&str>) -> Option<&str> {
        self.ever_known(uuid).filter(|member| member.is_on_other(hardware)).map(|member| member.drive.as_str())
    }

    /// Why the drive with this device UUID refused a flush as a member, of now or once, if it did
    /// and has not been renewed.
    pub fn refusal(&self, uuid: Uuid) -> Option<Refusal> {
        self.ever_known(uuid).and_then(|member| member.refusal)
    }

    pub(crate) fn ever_known(&self, uuid: Uuid) -> Option<&Member> {
        self.member(uuid).or_else(|| self.one_that_left(uuid).map(|left| &left.member))
    }

    fn put_left(&mut self, left: Left) {
        if self.member(left.member.uuid).is_some() {
            return;
        }
        match self.left.iter_mut().find(|known| known.member.uuid == left.member.uuid) {
            Some(known) => {
                known.events = known.events.max(left.events);
                let lost = left.member.refusal.filter(|why| *why == Refusal::LostContent);
                known.member.refusal = known.member.refusal.max(lost);
            }
            None => self.left.push(left),
        }
    }

    fn forget_the_oldest(&mut self) {
        self.left.sort_by_key(|left| std::cmp::Reverse(left.events));
        self.left.truncate(LEFT_MAX);
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Vec<u8> {
        let text = BookText {
            version: VERSION,
            array: self.array.to_string(),
            events: self.events,
            flushed_events: self.flushed_events,
            members: self.members.iter().map(|member| MemberText::of(member, None)).collect(),
            left: self.left.iter().map(|left| MemberText::of(&left.member, Some(left.events))).collect(),
            given_up: self.given_up.clone(),
        };
        let mut bytes = serde_json::to_vec_pretty(&text).expect("numbers and strings are always JSON");
        bytes.push(b'\n');
        bytes
    }

    /// A book out of the bytes of a file. Nothing in them is trusted.
    pub fn decode(bytes: &[u8]) -> Result<Self, BookError> {
        if bytes.len() as u64 > BOOK_BYTES_MAX {
            return Err(BookError::TooLarge);
        }
        let damaged = |what: &dyn std::fmt::Display| BookError::Damaged(what.to_string());
        let text: BookText = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        if text.version != VERSION {
            return Err(damaged(&format_args!("it is of version {}, and {VERSION} is known", text.version)));
        }
        let lengths = [text.members.len(), text.left.len(), text.given_up.len()];
        if lengths.iter().any(|length| *length > MEMBERS_MAX) {
            return Err(damaged(&"it names more members than an array can have"));
        }
        let mut book = Self {
            array: text.array.parse().map_err(|error| damaged(&error))?,
            events: text.events,
            flushed_events: text.flushed_events.min(text.events),
            members: Vec::new(),
            left: Vec::new(),
            given_up: text.given_up,
        };
        for member in text.members {
            let member = member.parse().map_err(|error| damaged(&error))?.member;
            if book.member(member.uuid).is_some() {
                return Err(damaged(&"it names a member twice"));
            }
            book.members.push(member);
        }
        for left in text.left {
            book.put_left(left.parse().map_err(|error| damaged(&error))?);
        }
        Ok(book)
    }
}

/// By what an array inside another one is known again: the hardware of a member that is an array.
pub fn hardware_of_array(array: Uuid) -> String {
    format!("{HARDWARE_OF_ARRAYS}{array}")
}

/// What [`hardware_of_array`] begins with.
const HARDWARE_OF_ARRAYS: &str = "array ";

impl Member {
    /// The array that it is, if it is one inside another.
    pub fn array(&self) -> Option<Uuid> {
        self.hardware.as_deref()?.strip_prefix(HARDWARE_OF_ARRAYS)?.parse().ok()
    }

    /// Whether it is known to lie on something else than this.
    pub(crate) fn is_on_other(&self, hardware: Option<&str>) -> bool {
        matches!((self.hardware.as_deref(), hardware), (Some(known), Some(found)) if known != found)
    }
}

#[derive(Serialize, Deserialize)]
struct BookText {
    version: u32,
    array: String,
    events: u64,
    #[serde(default)]
    flushed_events: u64,
    members: Vec<MemberText>,
    left: Vec<MemberText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    given_up: Vec<GivenUp>,
}

#[derive(Serialize, Deserialize)]
struct MemberText {
    uuid: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hardware: Option<String>,
    drive: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<u16>,
    /// As books were written that did not say why.
    #[serde(default, skip_serializing)]
    refused_flush: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refusal: Option<Refusal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<u64>,
}

impl MemberText {
    fn of(member: &Member, events: Option<u64>) -> Self {
        let Member { uuid, hardware, drive, role, refusal } = member.clone();
        Self { uuid: uuid.to_string(), hardware, drive, role, refused_flush: false, refusal, events }
    }

    fn parse(self) -> Result<Left, shoal_md::ParseUuidError> {
        let Self { uuid, hardware, drive, role, refused_flush, refusal, events } = self;
        let refusal = refusal.or_else(|| refused_flush.then_some(Refusal::Drive));
        let member = Member { uuid: uuid.parse()?, hardware, drive, role, refusal };
        Ok(Left { member, events: events.unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests;
