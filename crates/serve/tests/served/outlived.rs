//! A volume that outlives the power of its drives, or refuses a flush: what was answered and not
//! flushed may be lost, and every client hears of it.

use crate::client::{Answer, Client, FLUSH, FUA, WRITE};
use crate::volume::{FROZEN_BLOCK, Served};

const LOST: Answer = Answer::Error(5);

fn client(served: &Served) -> Client {
    let mut client = Client::open(served, "pond", true);
    client.write(0, &[1; 4096]);
    client
}

fn flush(client: &mut Client) -> Answer {
    client.call(0, FLUSH, 0, 0, &[])
}

#[test]
fn a_flush_fails_once_on_every_connection() {
    let served = Served::start(41);
    let (mut idle, mut waiting) = (client(&served), client(&served));
    served.freeze_flushes();
    waiting.request(0, FLUSH, 1, 0, 0, &[]);
    served.rest();
    served.lose_power();
    served.thaw();
    assert_eq!(waiting.answer(0), (1, LOST), "it was under way");
    assert_eq!(flush(&mut waiting), Answer::Done);
    assert_eq!([flush(&mut idle), flush(&mut idle)], [LOST, Answer::Done]);
    assert_eq!(flush(&mut client(&served)), Answer::Done, "who comes later has been told of nothing");
    served.stop();
}

#[test]
fn a_flush_that_fails_tells_nothing_of_a_write_that_is_answered_afterwards() {
    let served = Served::start(42);
    let mut client = client(&served);
    served.freeze_flushes();
    client.request(0, WRITE, 1, FROZEN_BLOCK, 4096, &[2; 4096]);
    client.request(0, FLUSH, 2, 0, 0, &[]);
    served.rest();
    served.lose_power();
    served.thaw();
    let mut answers = [client.answer(0), client.answer(0)];
    answers.sort_by_key(|(cookie, _)| *cookie);
    assert_eq!(answers, [(1, Answer::Done), (2, LOST)]);
    assert_eq!([flush(&mut client), flush(&mut client)], [LOST, Answer::Done], "a part of the write may be lost");
    served.stop();
}

#[test]
fn a_flush_covers_a_write_that_another_connection_is_answered_after_the_loss() {
    let served = Served::start(43);
    let (mut writes, mut flushes) = (client(&served), client(&served));
    served.freeze_flushes();
    writes.request(0, WRITE, 1, FROZEN_BLOCK, 4096, &[2; 4096]);
    flushes.request(0, FLUSH, 2, 0, 0, &[]);
    served.rest();
    served.lose_power();
    served.thaw();
    assert_eq!([writes.answer(0), flushes.answer(0)], [(1, Answer::Done), (2, LOST)]);
    assert_eq!([flush(&mut flushes), flush(&mut flushes)], [LOST, Answer::Done], "a part of the write may be lost");
    assert_eq!([flush(&mut writes), flush(&mut writes)], [LOST, Answer::Done]);
    served.stop();
}

#[test]
fn a_flush_that_is_refused_fails_once_on_every_connection() {
    for flags in [0, FUA] {
        let served = Served::start(44);
        let (mut idle, mut asks) = (client(&served), client(&served));
        served.refuse_flushes(1);
        if flags == FUA {
            assert_eq!(asks.call(FUA, WRITE, 0, 3, b"now"), LOST);
        }
        assert_eq!([flush(&mut asks), flush(&mut asks)], [LOST, Answer::Done]);
        assert_eq!([flush(&mut idle), flush(&mut idle)], [LOST, Answer::Done]);
        served.stop();
    }
}

#[test]
fn two_flushes_that_are_refused_at_once_fail_once_on_every_connection() {
    let served = Served::start(45);
    let (mut idle, mut one, mut two) = (client(&served), client(&served), client(&served));
    served.freeze_flushes();
    one.request(0, FLUSH, 1, 0, 0, &[]);
    two.request(0, FLUSH, 1, 0, 0, &[]);
    served.rest();
    served.refuse_flushes(2);
    served.thaw();
    assert_eq!([one.answer(0), two.answer(0)], [(1, LOST), (1, LOST)]);
    for client in [&mut one, &mut two] {
        assert_eq!(flush(client), Answer::Done, "it was told");
    }
    assert_eq!([flush(&mut idle), flush(&mut idle)], [LOST, Answer::Done]);
    served.stop();
}

#[test]
fn a_durable_write_that_is_under_way_when_a_flush_is_refused_fails_with_it() {
    let served = Served::start(48);
    let (mut writes, mut asks) = (client(&served), client(&served));
    served.freeze_flushes();
    asks.request(0, FLUSH, 1, 0, 0, &[]);
    writes.request(FUA, WRITE, 1, 0, 4096, &[7; 4096]);
    served.rest();
    served.refuse_flushes(1);
    served.thaw();
    assert_eq!([asks.answer(0), writes.answer(0)], [(1, LOST), (1, LOST)]);
    served.stop();
}

#[test]
fn a_flush_that_is_refused_after_another_write_is_told_to_all_again() {
    let served = Served::start(46);
    let (mut idle, mut asks) = (client(&served), client(&served));
    for _ in 0..2 {
        idle.write(0, &[7; 4096]);
        served.refuse_flushes(1);
        assert_eq!([flush(&mut asks), flush(&mut asks)], [LOST, Answer::Done]);
    }
    assert_eq!([flush(&mut idle), flush(&mut idle)], [LOST, Answer::Done]);
    served.refuse_flushes(1);
    assert_eq!(flush(&mut asks), LOST);
    assert_eq!(flush(&mut idle), Answer::Done, "nothing was written since");
    served.stop();
}

/// Who comes while it is not known which drives there are may have written to others.
#[test]
fn clients_are_served_while_it_is_not_known_which_drives_there_are_and_those_who_come_are_told() {
    let served = Served::start(47);
    let mut there = client(&served);
    served.lose_sight();
    there.write(0, &[8; 4096]);
    let mut comes = Client::open(&served, "pond", true);
    comes.request(0, FLUSH, 1, 0, 0, &[]);
    assert_eq!([flush(&mut there), flush(&mut there)], [Answer::Done, Answer::Done]);
    served.know_again();
    assert_eq!(comes.answer(0), (1, LOST), "it was told of other drives");
    assert_eq!([flush(&mut comes), flush(&mut there)], [Answer::Done, Answer::Done]);
    assert_eq!(flush(&mut Client::open(&served, "pond", true)), Answer::Done);
    served.stop();
}
