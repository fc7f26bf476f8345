//! Clients that have gone, and come again: nothing that they asked for before undoes what they ask
//! for then.

use std::time::Duration;

use crate::client::{Answer, Client, DISC, NO_HOLE, WRITE, WRITE_ZEROES};
use crate::volume::{BLOCK, FROZEN_BLOCK, Served};

/// A client asks for more than the server reads of it before it looks at the next one, goes, and
/// comes again.
fn what_was_asked_before_is_not_begun(mut first: Client, served: Served, go: impl FnOnce(Client)) {
    first.write(0, &[1; 4096]);
    let held = served.hold();
    for number in 0..200 {
        first.request(NO_HOLE, WRITE_ZEROES, number, number * 4096, 4096, &[]);
    }
    go(first);
    let mut second = Client::open(&served, "pond", true);
    second.request(0, WRITE, 7, 199 * 4096, 4096, &[2; 4096]);
    // Both are to be there when the owner looks; if they are not, only less is seen.
    std::thread::sleep(Duration::from_millis(100));
    drop(held);
    assert_eq!(second.answer(0), (7, Answer::Done));
    let content = served.stop();
    assert_eq!(content[199 * 4096..][..4096], [2; 4096], "an old write has undone a new one");
}

#[test]
fn what_a_client_asked_before_it_came_again_is_not_begun_afterwards() {
    let served = Served::start_in_order(2);
    let first = Client::open(&served, "pond", true);
    what_was_asked_before_is_not_begun(first, served, |first| {
        first.stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
}

#[test]
fn what_a_client_asked_over_tcp_before_it_came_again_is_not_begun_afterwards() {
    let served = Served::start_in_order(2);
    let first = Client::open_over_tcp(&served, "pond");
    // Its end is told by a last segment, after which it could still receive.
    what_was_asked_before_is_not_begun(first, served, drop);
}

#[test]
fn what_waits_to_be_mended_of_a_client_that_has_gone_is_not_begun_afterwards() {
    for is_over_tcp in [false, true] {
        let served = Served::start(51);
        let mut first = match is_over_tcp {
            true => Client::open_over_tcp(&served, "pond"),
            false => Client::open(&served, "pond", true),
        };
        first.write(0, &[1; BLOCK as usize]);
        let next_block = FROZEN_BLOCK + u64::from(BLOCK);
        // The second waits for the first, which waits for a drive, and reaches into the block
        // behind.
        first.request(0, WRITE, 1, FROZEN_BLOCK + 10, 5, &[1; 5]);
        first.request(0, WRITE, 2, FROZEN_BLOCK + 20, BLOCK, &[1; BLOCK as usize]);
        served.rest();
        drop(first);
        served.rest();
        let mut second = Client::open(&served, "pond", true);
        second.write(next_block, &[2; BLOCK as usize]);
        served.thaw();
        served.rest();
        assert_eq!(second.read(next_block, BLOCK), [2; BLOCK as usize], "an old write has undone a new one");
        served.stop();
    }
}

#[test]
fn who_has_said_its_last_word_is_answered_though_others_come() {
    let served = Served::start(52);
    let mut first = Client::open_over_tcp(&served, "pond");
    first.write(0, &[1; BLOCK as usize]);
    first.request(0, WRITE, 1, FROZEN_BLOCK, BLOCK, &[1; BLOCK as usize]);
    first.request(0, DISC, 0, 0, 0, &[]);
    first.stream.shutdown(std::net::Shutdown::Write).unwrap();
    served.rest();
    Client::open(&served, "pond", true).write(0, &[2; BLOCK as usize]);
    served.thaw();
    assert_eq!(first.answer(0), (1, Answer::Done));
    assert!(first.is_closed());
    served.stop();
}
