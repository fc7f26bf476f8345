//! What is remembered of one array.

use serde::{Deserialize, Serialize};
use shoal_md::Uuid;

/// More bytes than this no book has.
pub(crate) const BOOK_BYTES_MAX: u64 = 4 << 20;
/// Who left longest ago is forgotten beyond so many.
const LEFT_MAX: usize = 256;
/// md numbers no more members than this.
const MEMBERS_MAX: usize = 2048;
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
}

/// A drive, or inner array, that takes part in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its device UUID.
    pub uuid: Uuid,
    /// What it lies on, by something that stays when it is plugged in elsewhere; none if nothing does.
    pub hardware: Option<String>,
    /// What people called it when it was last seen.
    pub drive: String,
    /// Its role, if it has one: it holds data then.
    pub role: Option<u16>,
    /// It was the last copy of something, and refused a flush: what it had answered by then may go with its power.
    pub refused_flush: bool,
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
        let mut book = Self { array, events, flushed_events: 0, members: Vec::new(), left: Vec::new() };
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
        let were_here = self.members.iter().map(|member| Left { member: member.clone(), events: self.events });
        for left in self.left.iter().cloned().chain(were_here) {
            book.put_left(left);
        }
        book.forget_the_oldest();
        book
    }

    /// The same, once every member has flushed this update, or one that is even later than the book's.
    pub fn with_flushed(mut self, events: u64) -> Self {
        self.flushed_events = self.flushed_events.max(events.min(self.events));
        self
    }

    /// The same, once the member with this device UUID has refused a flush as the last copy of something.
    pub fn with_refused_flush(mut self, uuid: Uuid) -> Self {
        self.members.iter_mut().filter(|member| member.uuid == uuid).for_each(|member| member.refused_flush = true);
        self
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

    /// Whether a drive with this device UUID, on this hardware, has ever been a member: it may come back by itself.
    pub fn knows(&self, uuid: Uuid, hardware: Option<&str>) -> bool {
        self.ever_known(uuid).is_some_and(|member| !member.is_on_other(hardware))
    }

    /// What a member, of now or once, was called that has this device UUID and is known to lie on
    /// other hardware than this.
    pub fn moved_from(&self, uuid: Uuid, hardware: Option<&str>) -> Option<&str> {
        self.ever_known(uuid).filter(|member| member.is_on_other(hardware)).map(|member| member.drive.as_str())
    }

    pub(crate) fn ever_known(&self, uuid: Uuid) -> Option<&Member> {
        self.member(uuid).or_else(|| self.one_that_left(uuid).map(|left| &left.member))
    }

    fn put_left(&mut self, left: Left) {
        if self.member(left.member.uuid).is_some() {
            return;
        }
        match self.left.iter_mut().find(|known| known.member.uuid == left.member.uuid) {
            Some(known) => known.events = known.events.max(left.events),
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
        if text.members.len() > MEMBERS_MAX || text.left.len() > MEMBERS_MAX {
            return Err(damaged(&"it names more members than an array can have"));
        }
        let mut book = Self {
            array: text.array.parse().map_err(|error| damaged(&error))?,
            events: text.events,
            flushed_events: text.flushed_events.min(text.events),
            members: Vec::new(),
            left: Vec::new(),
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

impl Member {
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
}

fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Serialize, Deserialize)]
struct MemberText {
    uuid: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hardware: Option<String>,
    drive: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<u16>,
    #[serde(default, skip_serializing_if = "is_false")]
    refused_flush: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<u64>,
}

impl MemberText {
    fn of(member: &Member, events: Option<u64>) -> Self {
        let Member { uuid, hardware, drive, role, refused_flush } = member.clone();
        Self { uuid: uuid.to_string(), hardware, drive, role, refused_flush, events }
    }

    fn parse(self) -> Result<Left, shoal_md::ParseUuidError> {
        let Self { uuid, hardware, drive, role, refused_flush, events } = self;
        let member = Member { uuid: uuid.parse()?, hardware, drive, role, refused_flush };
        Ok(Left { member, events: events.unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn member(number: u8) -> Member {
        let (hardware, drive) = (Some(format!("serial {number}")), format!("/dev/sd{number}"));
        let (uuid, role) = (Uuid([number; 16]), Some(u16::from(number)));
        Member { uuid, hardware, drive, role, refused_flush: number == 3 }
    }

    fn sight(events: u64, members: &[u8]) -> Sight {
        let members = members.iter().copied().map(member).collect();
        Sight { array: Uuid([9; 16]), events, members, others: Vec::new() }
    }

    #[test]
    fn who_is_not_seen_any_more_has_left() {
        let book = Book::of(sight(5, &[1, 2])).after(sight(7, &[2]));
        assert_eq!((book.events(), book.members()), (7, &[member(2)][..]));
        assert_eq!(book.left(), [Left { member: member(1), events: 5 }]);
        let back = book.after(sight(8, &[1, 2]));
        assert_eq!((back.members().len(), back.left().len()), (2, 0));
        assert_eq!(book.after(sight(6, &[2])).events(), 7, "the count never goes back");
    }

    #[test]
    fn what_is_flushed_stays_so() {
        let book = Book::of(sight(5, &[1, 2]));
        assert_eq!(book.flushed_events(), 0);
        let flushed = book.with_flushed(5);
        assert_eq!(flushed.clone().with_flushed(4).flushed_events(), 5);
        let after = flushed.after(sight(6, &[1, 2]));
        assert_eq!((after.events(), after.flushed_events()), (6, 5));
        assert_eq!(after.with_flushed(9).flushed_events(), 6, "no more than there are");
    }

    #[test]
    fn a_book_of_before_knows_of_nothing_that_is_flushed() {
        let text = String::from_utf8(Book::of(sight(5, &[1])).with_flushed(5).encode()).unwrap();
        let before = text.replace("  \"flushed_events\": 5,\n", "");
        assert_ne!(before, text);
        assert_eq!(Book::decode(before.as_bytes()), Ok(Book::of(sight(5, &[1]))));
    }

    #[test]
    fn who_left_longest_ago_is_forgotten() {
        let other = |number: u32| {
            let mut uuid = [0; 16];
            uuid[..4].copy_from_slice(&number.to_le_bytes());
            Left { member: Member { uuid: Uuid(uuid), ..member(1) }, events: u64::from(number) }
        };
        let book = Book::of(Sight { others: (0..1000).map(other).collect(), ..sight(5000, &[9]) });
        assert_eq!(book.left().len(), LEFT_MAX);
        assert_eq!(book.left()[0].events, 999);
    }

    #[test]
    fn known_by_uuid_unless_on_other_hardware() {
        let book = Book::of(sight(5, &[1, 2])).after(sight(7, &[2]));
        for number in [1, 2] {
            assert!(book.knows(Uuid([number; 16]), Some(&format!("serial {number}"))));
            assert!(book.knows(Uuid([number; 16]), None), "nothing tells that it is another one");
            assert!(!book.knows(Uuid([number; 16]), Some("another")));
            let drive = format!("/dev/sd{number}");
            assert_eq!(book.moved_from(Uuid([number; 16]), Some("another")), Some(drive.as_str()));
            assert_eq!(book.moved_from(Uuid([number; 16]), None), None);
        }
        assert!(!book.knows(Uuid([3; 16]), None));
        assert_eq!(book.moved_from(Uuid([3; 16]), Some("another")), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let book = Book::of(sight(5, &[1, 2])).after(sight(u64::MAX, &[2, 3])).with_flushed(6);
        assert_eq!(Book::decode(&book.encode()), Ok(book));
    }

    #[test]
    fn what_is_no_book_is_refused() {
        let good = String::from_utf8(Book::of(sight(5, &[1, 2])).encode()).unwrap();
        let twice = good.replace(&Uuid([2; 16]).to_string(), &Uuid([1; 16]).to_string());
        for (bytes, word) in [
            (String::new(), "EOF"),
            (good[..good.len() / 2].to_owned(), "EOF"),
            (good.replace("\"version\": 1", "\"version\": 2"), "version 2"),
            (good.replace("\"events\": 5", "\"events\": -5"), "invalid"),
            (good.replace("01010101", "0101010x"), "no UUID"),
            (twice, "twice"),
            (format!("{{\"other\": {}", "[".repeat(100_000)), "EOF"),
        ] {
            let error = Book::decode(bytes.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
        assert_eq!(Book::decode(&vec![b' '; BOOK_BYTES_MAX as usize + 1]), Err(BookError::TooLarge));
    }

    proptest! {
        #[test]
        fn hostile_bytes_do_not_make_it_panic(place in 0..400_usize, byte: u8, cut in 0..600_usize) {
            let mut bytes = Book::of(sight(5, &[1, 2])).after(sight(7, &[2])).encode();
            let place = place.min(bytes.len() - 1);
            bytes[place] = byte;
            bytes.truncate(cut);
            if let Ok(book) = Book::decode(&bytes) {
                prop_assert_eq!(Book::decode(&book.encode()), Ok(book));
            }
        }
    }
}
