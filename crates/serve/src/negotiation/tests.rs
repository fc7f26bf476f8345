//! The handshake word by word, in pieces of any size, and with bytes that nobody would send in
//! earnest.

use proptest::prelude::*;

use super::*;
use crate::export::Export;

fn exports() -> Exports {
    let pond = Export::whole("pond", "six sticks", 1 << 20, false);
    let ice = Export { offset: 4096, size_bytes: 8192, ..Export::whole("ice", "", 0, true) };
    Exports::new(vec![pond, ice], 1 << 20, 512).unwrap()
}

fn flags(flags: u32) -> Vec<u8> {
    flags.to_be_bytes().to_vec()
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [&OPTION.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
}

fn go(number: u32, name: &str, wanted: &[u16]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((wanted.len() as u16).to_be_bytes());
    data.extend(wanted.iter().flat_map(|info| info.to_be_bytes()));
    option(number, &data)
}

fn contexts(number: u32, name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((queries.len() as u32).to_be_bytes());
    data.extend(queries.iter().flat_map(|query| string(query)));
    option(number, &data)
}

/// One reply: to which option, of which kind, with which data.
type Reply = (u32, u32, Vec<u8>);

fn parse(mut bytes: &[u8]) -> Vec<Reply> {
    let mut replies = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(bytes[..8], OPTION_REPLY.to_be_bytes());
        let field = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().unwrap());
        let length = field(16) as usize;
        replies.push((field(8), field(12), bytes[20..20 + length].to_vec()));
        bytes = &bytes[20 + length..];
    }
    replies
}

/// Says all of it at once.
fn say(tls: TlsStage, parts: &[Vec<u8>]) -> (Step, Vec<u8>) {
    let exports = exports();
    let mut negotiation = Negotiation::new(&exports, tls);
    let mut replies = Vec::new();
    let step = negotiation.receive(&parts.concat(), &mut replies);
    (step, replies)
}

fn kinds(replies: &[u8]) -> Vec<u32> {
    parse(replies).into_iter().map(|(_, kind, _)| kind).collect()
}

#[test]
fn go_tells_what_was_asked_for_and_begins_transmission() {
    let wanted = [info(1), info(2), info(3), 77];
    let (step, replies) = say(TlsStage::Absent, &[flags(3), option(8, &[]), go(7, "", &wanted)]);
    assert_eq!(step, Step::Transmit(Agreement { export: 0, structured: true, block_status: false }));
    let replies = parse(&replies);
    assert_eq!(replies[0], (8, reply::ACK, vec![]));
    let export = [&[0, 0][..], &(1_u64 << 20).to_be_bytes(), &0b1101_1110_1101_u16.to_be_bytes()].concat();
    assert_eq!(replies[1], (7, reply::INFO, export));
    assert_eq!(replies[2], (7, reply::INFO, b"\0\x01pond".to_vec()));
    assert_eq!(replies[3], (7, reply::INFO, b"\0\x02six sticks".to_vec()));
    assert_eq!(replies[4].2, [&[0, 3][..], &1_u32.to_be_bytes(), &4096_u32.to_be_bytes(), &[2, 0, 0, 0]].concat());
    assert_eq!(replies[5..], [(7, reply::ACK, vec![])]);
}

fn info(number: u16) -> u16 {
    number
}

#[test]
fn info_leaves_everything_open_and_a_read_only_export_says_so() {
    let (step, replies) = say(TlsStage::Absent, &[flags(1), go(6, "ice", &[])]);
    assert_eq!(step, Step::Receive);
    let flags = u16::from_be_bytes(*parse(&replies)[0].2.last_chunk().unwrap());
    assert_eq!(flags, 0b101_0000_1111);
    assert_eq!(kinds(&replies), [reply::INFO, reply::ACK]);
}

#[test]
fn an_export_is_opened_by_name_with_or_without_zeroes() {
    let (step, replies) = say(TlsStage::Absent, &[flags(1), option(1, b"ice")]);
    assert_eq!(step, Step::Transmit(Agreement { export: 1, structured: false, block_status: false }));
    assert_eq!((replies.len(), &replies[..8]), (134, &8192_u64.to_be_bytes()[..]));
    assert_eq!(say(TlsStage::Absent, &[flags(3), option(1, b"pond")]).1.len(), 10);
    assert_eq!(say(TlsStage::Absent, &[flags(3), option(1, b"lake")]), (Step::End, vec![]));
}

#[test]
fn exports_are_listed_and_unknown_ones_refused() {
    let (step, replies) = say(TlsStage::Absent, &[flags(3), option(3, &[]), go(7, "lake", &[]), option(3, b"x")]);
    assert_eq!(step, Step::Receive);
    assert_eq!(kinds(&replies), [reply::SERVER, reply::SERVER, reply::ACK, reply::UNKNOWN, reply::INVALID]);
    assert_eq!(parse(&replies)[0].2, [&string("pond")[..], b"six sticks"].concat());
}

#[test]
fn allocation_is_agreed_on_for_one_export_and_needs_structured_replies() {
    let early = contexts(10, "pond", &["base:allocation"]);
    let set = contexts(10, "pond", &["x:y", "base:allocation"]);
    let (step, replies) = say(TlsStage::Absent, &[flags(3), early, option(8, &[]), set.clone(), go(7, "pond", &[])]);
    assert_eq!(step, Step::Transmit(Agreement { export: 0, structured: true, block_status: true }));
    assert_eq!(kinds(&replies)[..4], [reply::INVALID, reply::ACK, reply::META_CONTEXT, reply::ACK]);
    let other = say(TlsStage::Absent, &[flags(3), option(8, &[]), set.clone(), go(7, "ice", &[])]).0;
    assert_eq!(other, Step::Transmit(Agreement { export: 1, structured: true, block_status: false }));
    let unset = contexts(10, "pond", &["base:"]);
    let without = say(TlsStage::Absent, &[flags(3), option(8, &[]), set, unset, go(7, "pond", &[])]).0;
    assert_eq!(without, Step::Transmit(Agreement { export: 0, structured: true, block_status: false }));
    let list = |queries: &[&str]| {
        kinds(&say(TlsStage::Absent, &[flags(3), option(8, &[]), contexts(9, "", queries)]).1)[1..].to_vec()
    };
    assert_eq!(list(&[]), [reply::META_CONTEXT, reply::ACK]);
    assert_eq!(list(&["base:"]), [reply::META_CONTEXT, reply::ACK]);
    assert_eq!(list(&["qemu:dirty-bitmap:a"]), [reply::ACK]);
}

#[test]
fn the_incarnation_is_told_to_who_asks_for_it_and_to_nobody_else() {
    let told = |word: &str, structured: bool, queries: &[&str]| {
        let exports = exports().with_incarnation(word);
        let mut negotiation = Negotiation::new(&exports, TlsStage::Absent);
        let structure = if structured { option(8, &[]) } else { Vec::new() };
        let mut replies = Vec::new();
        negotiation.receive(&[flags(3), structure, contexts(9, "pond", queries)].concat(), &mut replies);
        parse(&replies).into_iter().skip(usize::from(structured)).collect::<Vec<_>>()
    };
    let asked = told("a=7", true, &["x-shoal:incarnation"]);
    assert_eq!(asked[0].2, b"\0\0\0\0x-shoal:incarnation:a=7");
    assert_eq!((asked[0].1, asked[1].1, asked.len()), (reply::META_CONTEXT, reply::ACK, 2));
    let kinds = |replies: Vec<Reply>| replies.into_iter().map(|(_, kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(kinds(told("", true, &["x-shoal:incarnation"])), [reply::ACK], "nobody knows");
    assert_eq!(kinds(told("a=7", true, &[])), [reply::META_CONTEXT, reply::ACK], "that is base:allocation");
    assert_eq!(kinds(told("a=7", false, &["x-shoal:incarnation"])), [reply::INVALID]);
    let long = told(&"\u{e9}".repeat(5000), true, &["x-shoal:incarnation"]);
    assert!(long[0].2.len() <= 4 + 4096 && String::from_utf8(long[0].2.clone()).is_ok());
}

#[test]
fn where_tls_is_required_nothing_is_told_before_it() {
    let (step, replies) = say(TlsStage::Required, &[flags(3), option(3, &[]), go(7, "", &[]), option(8, &[])]);
    assert_eq!(step, Step::Receive);
    assert_eq!(kinds(&replies), [reply::TLS_REQUIRED; 3]);
    assert_eq!(say(TlsStage::Required, &[flags(3), option(1, b"")]), (Step::End, vec![]));
    assert_eq!(say(TlsStage::Required, &[flags(3), option(5, &[])]).0, Step::StartTls);
    let smuggled = [flags(3), option(5, &[]), go(7, "", &[])];
    assert_eq!(say(TlsStage::Required, &smuggled).0, Step::End);
    assert_eq!(kinds(&say(TlsStage::Absent, &[flags(3), option(5, &[])]).1), [reply::POLICY]);
}

#[test]
fn tls_forgets_what_was_agreed_on_before() {
    let exports = exports();
    let mut negotiation = Negotiation::new(&exports, TlsStage::Established);
    let mut replies = Vec::new();
    let before = [flags(3), option(8, &[]), contexts(10, "", &["base:allocation"])].concat();
    assert_eq!(negotiation.receive(&before, &mut replies), Step::Receive);
    negotiation.is_secured();
    let step = negotiation.receive(&go(7, "", &[]), &mut replies);
    assert_eq!(step, Step::Transmit(Agreement { export: 0, structured: false, block_status: false }));
    assert!(negotiation.into_rest().is_empty());
}

#[test]
fn what_is_too_long_is_passed_over_and_what_makes_no_sense_ends_it() {
    let long = option(77, &vec![1; 100_000]);
    let (step, replies) = say(TlsStage::Absent, &[flags(3), long, option(2, &[])]);
    assert_eq!((step, kinds(&replies)), (Step::End, vec![reply::TOO_BIG, reply::ACK]));
    assert_eq!(kinds(&say(TlsStage::Absent, &[flags(3), option(77, b"?")]).1), [reply::UNSUPPORTED]);
    assert_eq!(say(TlsStage::Absent, &[flags(4)]).0, Step::End);
    assert_eq!(say(TlsStage::Absent, &[flags(0)]).0, Step::End);
    assert_eq!(say(TlsStage::Absent, &[flags(3), vec![0; 16]]).0, Step::End);
    assert_eq!(say(TlsStage::Absent, &[flags(3), option(3, &[]).repeat(300)]).0, Step::End);
    let short = option(7, &[0, 0, 0, 9, b'p']);
    assert_eq!(kinds(&say(TlsStage::Absent, &[flags(3), short]).1), [reply::INVALID]);
}

#[test]
fn requests_that_follow_at_once_are_kept() {
    let exports = exports();
    let mut negotiation = Negotiation::new(&exports, TlsStage::Absent);
    let said = [flags(3), go(7, "", &[]), b"request".to_vec()].concat();
    assert!(matches!(negotiation.receive(&said, &mut Vec::new()), Step::Transmit(_)));
    assert_eq!(negotiation.into_rest(), b"request");
}

proptest! {
    #[test]
    fn the_size_of_the_pieces_does_not_matter(cuts in prop::collection::vec(1_usize..40, 1..60), number in 0_u32..12) {
        let said = [
            flags(3), option(number, b"\0\0\0\x04pond\0\0"), option(8, &[]), option(99, &vec![0; 20_000]),
            contexts(10, "ice", &["base:allocation"]), go(6, "pond", &[3]), go(7, "ice", &[1, 2, 3]), b"more".to_vec(),
        ].concat();
        let whole = say(TlsStage::Absent, std::slice::from_ref(&said));
        let exports = exports();
        let mut negotiation = Negotiation::new(&exports, TlsStage::Absent);
        let (mut replies, mut rest, mut step) = (Vec::new(), &said[..], Step::Receive);
        for cut in cuts.iter().cycle() {
            if rest.is_empty() || step != Step::Receive {
                break;
            }
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            (step, rest) = (negotiation.receive(piece, &mut replies), later);
        }
        prop_assert_eq!((step, replies), whole);
    }

    #[test]
    fn bytes_of_any_kind_are_survived(
        pieces in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..80),
            (0_u32..13, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(number, data)| option(number, &data)),
            (0_u32..13, any::<u32>()).prop_map(|(number, length)| {
                [&OPTION.to_be_bytes()[..], &number.to_be_bytes(), &length.to_be_bytes()].concat()
            }),
        ], 0..20),
    ) {
        let exports = exports();
        let mut negotiation = Negotiation::new(&exports, TlsStage::Absent);
        let mut replies = Vec::new();
        let mut step = negotiation.receive(&flags(3), &mut replies);
        for piece in &pieces {
            if step != Step::Receive {
                break;
            }
            step = negotiation.receive(piece, &mut replies);
            prop_assert!(negotiation.input.len() <= OPTION_HEADER_BYTES + OPTION_BYTES_MAX);
        }
    }
}
