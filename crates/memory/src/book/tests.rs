use proptest::prelude::*;

use super::*;

fn member(number: u8) -> Member {
    let (hardware, drive) = (Some(format!("serial {number}")), format!("/dev/sd{number}"));
    let (uuid, role) = (Uuid([number; 16]), Some(u16::from(number)));
    Member { uuid, hardware, drive, role, refusal: (number == 3).then_some(Refusal::Drive) }
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
fn a_refused_flush_is_remembered_until_a_later_update_is_flushed() {
    let has_refused = |book: &Book| book.member(member(1).uuid).is_some_and(|member| member.refusal.is_some());
    let refused = Book::of(sight(5, &[1])).with_flushed(4).with_refused_flush(member(1).uuid, Refusal::Drive);
    let renewed = refused.after(sight(6, &[1, 2]));
    assert!(has_refused(&renewed), "what it held of update 5 is not on it");
    assert!(!has_refused(&renewed.clone().with_flushed(6).after(sight(7, &[1, 2]))));
    assert!(has_refused(&renewed.with_flushed(5).after(sight(7, &[1, 2]))));
}

/// No writing makes it good, and no later update; only somebody's word does.
#[test]
fn content_that_was_lost_stays_so() {
    let lost = Book::of(sight(5, &[1, 2])).with_refused_flush(member(1).uuid, Refusal::LostContent);
    let why = |book: &Book| book.refusal(member(1).uuid);
    let later = lost.clone().with_flushed(5).after(sight(6, &[1, 2])).with_flushed(6).after(sight(7, &[1, 2]));
    for book in [
        lost.clone().with_renewed(member(1).uuid),
        lost.clone().with_refused_flush(member(1).uuid, Refusal::Drive),
        later,
    ] {
        assert_eq!(why(&book), Some(Refusal::LostContent));
        assert_eq!(Book::decode(&book.encode()), Ok(book));
    }
    let left = lost.after(sight(6, &[2]));
    assert_eq!(why(&left), Some(Refusal::LostContent), "as a former member");
    let others = vec![Left { member: Member { refusal: None, ..member(1) }, events: 5 }];
    assert_eq!(
        why(&left.after(Sight { others, ..sight(7, &[2]) })),
        Some(Refusal::LostContent),
        "and seen again as one"
    );
    assert_eq!(why(&Book::of(sight(5, &[1, 2]))), None, "begun anew");
}

#[test]
fn a_book_of_before_says_that_a_flush_was_refused_and_not_why() {
    let book = Book::of(sight(5, &[1])).with_refused_flush(member(1).uuid, Refusal::Drive);
    let text = String::from_utf8(book.encode()).unwrap();
    let before = text.replace("\"refusal\": \"drive\"", "\"refused_flush\": true");
    assert_ne!(before, text);
    assert_eq!(Book::decode(before.as_bytes()), Ok(book));
}

#[test]
fn what_was_given_up_is_remembered_until_there_are_more_updates() {
    let given_up = |events| GivenUp { events, update_time_unix_s: 1_800_000_000 };
    let book = Book::of(sight(5, &[1, 2])).with_given_up(given_up(6)).with_given_up(given_up(8));
    assert_eq!(Book::decode(&book.encode()), Ok(book.clone()));
    let [then, later] = [1_800_000_000, 1_800_000_001].map(Timestamp::from_seconds);
    let has = |book: &Book| [5, 6, 8].map(|events| book.has_given_up(events, then));
    assert_eq!((has(&book), book.has_given_up(6, later)), ([false, true, true], false));
    assert_eq!(has(&book.after(sight(7, &[1, 2]))), [false, false, true]);
    let many = (6..200).fold(book, |book, events| book.with_given_up(given_up(events)));
    assert_eq!((many.given_up.len(), many.has_given_up(199, then)), (GIVEN_UP_MAX, true));
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
