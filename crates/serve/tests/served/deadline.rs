//! Drives that never answer: everybody is answered all the same.

use std::io::Write;

use crate::client::{Answer, Client, FLUSH, READ, WRITE};
use crate::pattern;
use crate::volume::{DEADLINE, FROZEN_BLOCK, GROWTH, LOOK, SIZE, Served};

const EIO: u32 = 5;

/// Somebody whom the owner has let in, so that it has whatever is sent from now on.
fn client(served: &Served, structured: bool) -> Client {
    let mut client = Client::open(served, "pond", structured);
    assert_eq!(client.read(0, 1).len(), 1);
    client
}

/// A little more than the deadline passes, and nobody is given up before that.
fn give_up(served: &Served, clients: &[&Client]) {
    served.pass(DEADLINE);
    assert!(clients.iter().all(|it| !it.has_answer()), "given up before the deadline");
    served.pass(LOOK);
}

#[test]
fn what_a_drive_never_answers_fails_in_time_and_nothing_else_waits() {
    let served = Served::start(31);
    let requests =
        [(true, READ, 4096), (false, READ, 4096), (true, WRITE, 4096), (false, WRITE, 700), (true, READ, 600_000)];
    let mut clients = requests.map(|(structured, kind, length)| {
        let mut client = client(&served, structured);
        let payload = vec![1; if kind == WRITE { length } else { 0 }];
        client.request(0, kind, 1, FROZEN_BLOCK, length as u32, &payload);
        client
    });
    // The clients themselves and others go on meanwhile, while no time passes, with parts of blocks
    // too.
    let bytes = pattern(5000, 3);
    clients[0].write(0, &bytes);
    assert!(clients[1].read(0, 5000) == bytes);
    let mut other = client(&served, true);
    assert!(other.read(0, 5000) == bytes);
    // The rest of the long read may come at any time.
    let [a, b, c, d, _] = &clients;
    give_up(&served, &[a, b, c, d]);
    assert!(clients.iter().all(Client::has_answer), "not given up after the deadline");
    for client in &mut clients {
        assert_eq!(client.answer(0), (1, Answer::Error(EIO)));
        // And afterwards.
        assert!(client.read(0, 5000) == bytes);
        assert_eq!(client.call(0, FLUSH, 0, 0, &[]), Answer::Done);
    }
    served.thaw();
    let mut client = client(&served, true);
    assert_eq!(client.read(FROZEN_BLOCK, 4096).len(), 4096);
    served.stop();
}

#[test]
fn a_client_that_asks_a_dead_drive_for_everything_is_answered_and_takes_nothing_from_others() {
    const REQUESTS: u64 = 200;
    let served = Served::start(32);
    let mut greedy = client(&served, true);
    for cookie in 0..REQUESTS {
        greedy.request(0, READ, cookie, FROZEN_BLOCK, 4096, &[]);
    }
    let mut other = client(&served, true);
    let bytes = pattern(300_000, 5);
    other.write(1000, &bytes);
    assert!(other.read(1000, 300_000) == bytes);
    give_up(&served, &[&greedy]);
    // No more time passes: what was not begun before is answered at once.
    for _ in 0..REQUESTS {
        assert_eq!(greedy.answer(0).1, Answer::Error(EIO));
    }
    // Its buffers are not used for anything else before the drive has given them back, and then
    // they are.
    assert!(other.read(1000, 300_000) == bytes);
    served.thaw();
    served.rest();
    assert_eq!(greedy.read(FROZEN_BLOCK, 4096).len(), 4096, "the buffers do not come back");
    for _ in 0..3 {
        assert!(greedy.read(1000, 300_000) == bytes);
    }
    served.stop();
}

#[test]
fn a_write_that_was_given_up_before_it_began_does_not_undo_a_later_one() {
    let served = Served::start(33);
    let mut client = client(&served, true);
    // The first is being put together with a block that does not come; the second, of two blocks,
    // waits for it.
    client.request(0, WRITE, 1, FROZEN_BLOCK + 5, 10, &[1; 10]);
    client.request(0, WRITE, 2, FROZEN_BLOCK - 4096 + 5, 4096, &[2; 4096]);
    give_up(&served, &[&client]);
    let mut cookies = [client.answer(0), client.answer(0)].map(|(cookie, answer)| {
        assert_eq!(answer, Answer::Error(EIO));
        cookie
    });
    cookies.sort_unstable();
    assert_eq!(cookies, [1, 2]);
    client.write(FROZEN_BLOCK - 4096, &[3; 4096]);
    served.thaw();
    client.write(FROZEN_BLOCK + 100, &[4; 10]);
    client.write(12_288 + 7, &[5; 10]);
    let content = served.stop();
    let (before, frozen) = content[FROZEN_BLOCK as usize - 4096..][..8192].split_at(4096);
    assert!(before == [3; 4096], "an old write has undone a new one");
    assert_eq!((&frozen[5..15], &frozen[100..110]), (&[0; 10][..], &[4; 10][..]));
}

#[test]
fn parts_of_blocks_are_mended_side_by_side_and_who_waits_for_a_dead_drive_leaves_room() {
    let served = Served::start(38);
    let mut greedy = client(&served, true);
    for cookie in 0..40 {
        greedy.request(0, WRITE, cookie, FROZEN_BLOCK + 10 * cookie, 4096, &[1; 4096]);
    }
    let mut other = client(&served, true);
    for number in 0..40 {
        other.request(0, WRITE, number, 700 * number, 700, &[number as u8 + 1; 700]);
    }
    for _ in 0..40 {
        assert_eq!(other.answer(0).1, Answer::Done);
    }
    assert!(!greedy.has_answer());
    let expected: Vec<u8> = (0..40 * 700).map(|at| (at / 700) as u8 + 1).collect();
    assert!(other.read(0, 40 * 700) == expected);
    let mut answers = 0;
    while answers < 40 {
        // What was not begun for want of buffers has a deadline of its own.
        served.pass(DEADLINE);
        served.pass(LOOK);
        assert!(greedy.has_answer());
        while greedy.has_answer() {
            assert_eq!(greedy.answer(0).1, Answer::Error(EIO));
            answers += 1;
        }
    }
    other.write(5, &[9; 10]);
    served.thaw();
    other.write(FROZEN_BLOCK + 5, &[8; 10]);
    let content = served.stop();
    assert_eq!((&content[5..15], &content[FROZEN_BLOCK as usize + 5..][..10]), (&[9; 10][..], &[8; 10][..]));
}

#[test]
fn a_long_write_that_is_given_up_half_way_is_read_to_its_end() {
    let served = Served::start(34);
    let mut client = client(&served, true);
    // Around a block that does not come, of which a part is to follow.
    let offset = FROZEN_BLOCK - (1 << 20);
    let head = [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0, 0, 1], &1_u64.to_be_bytes()].concat();
    let bytes = [&head[..], &offset.to_be_bytes(), &(2_u32 << 20).to_be_bytes(), &vec![7; 2 << 20]].concat();
    let (first, last) = bytes.split_at(1_600_000);
    client.stream.write_all(first).unwrap();
    give_up(&served, &[&client]);
    assert_eq!(client.answer(0), (1, Answer::Error(EIO)));
    client.stream.write_all(last).unwrap();
    client.write(0, &[9; 4096]);
    assert!(client.read(0, 4096) == [9; 4096]);
    served.thaw();
    served.stop();
}

#[test]
fn the_end_does_not_wait_for_a_drive_that_does_not_answer() {
    let served = Served::start(35);
    let mut client = client(&served, true);
    client.request(0, READ, 1, FROZEN_BLOCK, 4096, &[]);
    give_up(&served, &[&client]);
    assert_eq!(client.answer(0), (1, Answer::Error(EIO)));
    served.stop();
}

#[test]
fn a_volume_that_grows_is_seen_by_who_connects_next_and_can_be_used_by_all() {
    let served = Served::start(36);
    let mut before = client(&served, true);
    assert_eq!(before.call(0, READ, SIZE, 4096, &[]), Answer::Error(22));
    assert_eq!(Client::size(&served, "pond"), SIZE);
    served.grow();
    served.rest();
    assert_eq!((Client::size(&served, "pond"), Client::size(&served, "ice")), (SIZE + GROWTH, 1 << 20));
    let bytes = pattern(GROWTH as usize, 8);
    let mut after = client(&served, true);
    after.write(SIZE, &bytes);
    // Who has heard of it otherwise need not connect again.
    assert!(before.read(SIZE, GROWTH as u32) == bytes);
    assert_eq!(before.call(0, READ, SIZE + GROWTH, 1, &[]), Answer::Error(22));
    served.stop();
}

#[test]
fn who_is_slow_to_take_what_the_drives_have_answered_is_told_of_no_error() {
    const REQUESTS: u64 = 40;
    const LENGTH: u32 = 128 << 10;
    let served = Served::start(37);
    let mut slow = client(&served, true);
    slow.write(0, &pattern(LENGTH as usize, 6));
    for cookie in 0..REQUESTS {
        slow.request(0, READ, cookie, 0, LENGTH, &[]);
    }
    served.rest();
    served.pass(DEADLINE);
    served.pass(LOOK);
    for _ in 0..REQUESTS {
        let (_, answer) = slow.answer(0);
        assert!(matches!(answer, Answer::Content(_)), "{answer:?}");
    }
    served.stop();
}
