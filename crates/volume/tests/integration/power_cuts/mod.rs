//! Power is cut at every place of small stories, and after each cut everything that was flushed is
//! there, every other block is old or new, and a scrub finds nothing after recovery.
//!
//! A story is told once, on drives in memory whose caches are volatile; all that drives are asked
//! and do is traced ([`trace`]). Then, at every place of the trace, several [fates](cut::Fate) of
//! what was not flushed are tried: the array is opened over what is left, recovers, and is
//! [judged](judge).
//!
//! `SHOAL_SEED=N` and `SHOAL_ORDERS=N` tell every story in N orders of answers from a seed on (for
//! longer hunts). `SHOAL_SHARE=K/N` cuts at each Nth place.
mod bitmap;
mod content;
mod cut;
mod frames;
mod hunt;
mod journal;
mod judge;
mod lives;
mod logs;
mod media;
mod random;
mod reshape;
mod story;
mod too_many;
mod trace;
mod world;

use content::Expected;
use cut::{Cursor, Fate};
use hunt::cut_everywhere;
use media::superblock;
use random::Random;
use shoal_volume::{ConsistencyPolicy, Features};
use story::{Act, Story};
use trace::Fact;

fn writes() -> Vec<Act> {
    vec![
        Act::Write(vec![(0, 8)]),
        Act::Write(vec![(3, 2), (40, 20), (100, 1)]),
        Act::Flush,
        Act::Write(vec![(0, 8), (8, 4), (48, 4)]),
        Act::Pass(1000),
        Act::Write(vec![(5, 30)]),
        Act::Flush,
    ]
}

fn story(
    name: &'static str,
    level: &'static str,
    layout: Option<&'static str>,
    members: usize,
    acts: Vec<Act>,
) -> Story {
    let (may_refuse, consistency) = (matches!(level, "4" | "5" | "6"), ConsistencyPolicy::Resync);
    let (others, is_resyncing, write_back_bytes) = (0, false, 0);
    Story { name, level, layout, members, others, consistency, may_refuse, is_resyncing, write_back_bytes, acts }
}

/// A window that holds less than is written at once.
const WRITE_BACK_BYTES: u32 = 128 << 10;

#[test]
fn arrays_with_a_write_back_window_survive_power_cuts() {
    for (name, level, members) in [
        ("RAID1 with a window", "1", 2),
        ("RAID5 with a window", "5", 4),
        ("RAID6 with a window", "6", 4),
        ("RAID10 with a window", "10", 4),
    ] {
        let story = story(name, level, None, members, writes());
        cut_everywhere(&Story { write_back_bytes: WRITE_BACK_BYTES, ..story });
    }
    let with_log = story("RAID5 with a window and a partial parity log", "5", None, 3, writes());
    let consistency = ConsistencyPolicy::Ppl;
    cut_everywhere(&Story { consistency, may_refuse: false, write_back_bytes: WRITE_BACK_BYTES, ..with_log });
}

#[test]
fn raid5_with_a_write_back_window_survives_power_cuts_while_it_loses_a_member_and_gets_another() {
    let story = story("RAID5 with a window, loss and rebuild", "5", None, 3, loss_and_rebuild(3));
    cut_everywhere(&Story { others: 1, write_back_bytes: WRITE_BACK_BYTES, ..story });
}

#[test]
fn a_mirror_survives_power_cuts() {
    cut_everywhere(&story("RAID1", "1", None, 2, writes()));
}

#[test]
fn raid10_survives_power_cuts() {
    cut_everywhere(&story("RAID10 near", "10", None, 3, writes()));
    cut_everywhere(&story("RAID10 far", "10", Some("f2"), 4, writes()));
}

#[test]
fn raid5_survives_power_cuts() {
    cut_everywhere(&story("RAID5", "5", None, 3, writes()));
}

#[test]
fn raid6_survives_power_cuts() {
    cut_everywhere(&story("RAID6", "6", None, 4, writes()));
}

/// With a partial parity log nothing is refused, and only what was being written to a lost drive is
/// lost.
#[test]
fn raid5_with_a_partial_parity_log_survives_power_cuts() {
    let plain = story("RAID5 with PPL", "5", None, 3, writes());
    let story = Story { consistency: ConsistencyPolicy::Ppl, may_refuse: false, ..plain };
    cut_everywhere(&story);
    cut_everywhere(&Story { name: "RAID5 of four with PPL", members: 4, ..story });
}

#[test]
fn raid5_with_a_partial_parity_log_survives_power_cuts_while_it_loses_a_member_and_gets_another() {
    let plain = story("RAID5 with PPL, loss and rebuild", "5", None, 3, loss_and_rebuild(3));
    let story = Story { consistency: ConsistencyPolicy::Ppl, others: 1, may_refuse: false, ..plain };
    cut_everywhere(&story);
    let acts = loss_and_rebuild(4);
    cut_everywhere(&Story { name: "RAID5 of four with PPL, loss and rebuild", members: 4, acts, ..story });
}

/// While it is resynced, too, what was flushed is not lost with a member: the array is refused
/// where nobody can tell, and forced it is as if it had not been.
#[test]
fn raid5_with_a_partial_parity_log_survives_power_cuts_while_it_is_resynced() {
    let acts = vec![
        Act::Write(vec![(0, 16)]),
        Act::Flush,
        Act::Write(vec![(8, 8)]),
        Act::Flush,
        Act::Write(vec![(160, 16), (3, 2)]),
        Act::Pass(2500),
        Act::Write(vec![(0, 8), (168, 4)]),
    ];
    let plain = story("RAID5 with PPL, resynced", "5", None, 3, acts);
    let tally = cut_everywhere(&Story { consistency: ConsistencyPolicy::Ppl, is_resyncing: true, ..plain });
    assert!(tally.forced > 0, "no start without a member was refused");
}

fn with_bitmap(story: Story) -> Story {
    Story { consistency: ConsistencyPolicy::Bitmap { chunk_bytes: Some(16 << 10) }, ..story }
}

/// Long enough for bits to be cleared.
const AGES: Act = Act::Pass(16_000);

/// Bits are set, cleared, and set again.
fn writes_that_age() -> Vec<Act> {
    let mut acts = vec![AGES];
    acts.extend(writes());
    acts.extend([AGES, Act::Write(vec![(16, 2), (90, 3)]), Act::Flush, Act::Write(vec![(1, 1)])]);
    acts
}

#[test]
fn a_write_intent_bitmap_survives_power_cuts() {
    for (name, level, members) in [("RAID1", "1", 2), ("RAID5", "5", 3), ("RAID10", "10", 3)] {
        cut_everywhere(&with_bitmap(story(name, level, None, members, writes_that_age())));
    }
}

/// A drive dies, writes go past it, it comes back and catches up by the bitmap, and power is cut
/// all along.
fn loss_and_return() -> Vec<Act> {
    vec![
        AGES,
        Act::Write(vec![(0, 8), (40, 20)]),
        Act::Flush,
        AGES,
        Act::WriteAndKill(vec![(3, 2), (44, 4), (100, 1)], 1),
        Act::Write(vec![(0, 4)]),
        Act::Flush,
        Act::Return(1),
        Act::Write(vec![(42, 3), (80, 2)]),
        Act::Idle(10_000),
        AGES,
        Act::Write(vec![(50, 9)]),
        Act::Flush,
    ]
}

#[test]
fn a_member_that_comes_back_by_the_bitmap_survives_power_cuts() {
    for (name, level, members) in [("RAID1", "1", 2), ("RAID5", "5", 3), ("RAID10", "10", 4)] {
        cut_everywhere(&with_bitmap(story(name, level, None, members, loss_and_return())));
    }
}

/// The same, with a moment between coming back and the next write: the filling is under way by
/// then.
#[test]
fn a_member_that_is_filled_by_the_bitmap_under_writes_survives_power_cuts() {
    let acts = || {
        let mut acts = loss_and_return();
        let back = acts.iter().position(|act| matches!(act, Act::Return(_))).unwrap();
        acts.insert(back + 1, Act::Pass(1));
        acts
    };
    for (name, level, members) in [("RAID1, filled", "1", 2), ("RAID6, filled", "6", 4)] {
        let fine = ConsistencyPolicy::Bitmap { chunk_bytes: Some(4096) };
        cut_everywhere(&Story { consistency: fine, ..story(name, level, None, members, acts()) });
    }
}

/// Until a member that comes back says, durably, that it is being filled, it looks as it did when
/// it left: in sync with others that left by then. So nothing of it is changed before.
#[test]
fn a_member_that_comes_back_says_so_before_anything_is_written_to_it() {
    for (name, level, members) in [("RAID1", "1", 3), ("RAID5", "5", 3), ("RAID10", "10", 4)] {
        let told = with_bitmap(story(name, level, None, members, loss_and_return())).tell(1);
        let mut cursor = Cursor::new(told.before.clone(), Expected::new(told.blocks));
        let back = told.trace.iter().position(|fact| matches!(fact, Fact::Joined { .. })).unwrap();
        told.trace[..back].iter().for_each(|fact| cursor.step(fact));
        let data_offset = superblock(&told.before[1]).unwrap().data_offset_bytes();
        let is_filled = |fact: &Fact| matches!(fact, Fact::Write { drive: 1, offset, .. } if *offset >= data_offset);
        let first = back + told.trace[back..].iter().position(is_filled).expect("it is filled");
        told.trace[back..first].iter().for_each(|fact| cursor.step(fact));
        let durable = superblock(&cursor.cut(Fate::Lost, &mut Random::new(1))[1]).unwrap();
        let is_incomplete = durable.features.any_of(Features::RECOVERY_OFFSET);
        assert!(is_incomplete, "{name}: it says at update {} that it is in sync", durable.events);
    }
}

/// A member is copied to another drive while it is written, and the two change places.
#[test]
fn members_that_are_replaced_survive_power_cuts() {
    let acts = |members: usize| {
        vec![
            Act::Write(vec![(0, 8), (40, 20)]),
            Act::Flush,
            Act::Replace(0, members),
            Act::Pass(1),
            Act::Write(vec![(3, 2), (44, 4), (100, 1)]),
            Act::Pass(2),
            Act::Write(vec![(42, 3), (120, 8)]),
            Act::Flush,
            Act::Idle(10_000),
            Act::Write(vec![(50, 9)]),
            Act::Flush,
        ]
    };
    for (name, level, members) in [("RAID1, replaced", "1", 2), ("RAID5, replaced", "5", 3)] {
        cut_everywhere(&Story { others: 1, ..story(name, level, None, members, acts(members)) });
    }
}

#[test]
fn arrays_of_arrays_survive_power_cuts() {
    for (name, level) in [("mirror over RAID5", "51"), ("stripes over RAID5", "50")] {
        cut_everywhere(&Story { may_refuse: true, ..story(name, level, None, 6, writes()) });
    }
}

/// A drive dies, a new one is filled, and power is cut all along.
fn loss_and_rebuild(spare: usize) -> Vec<Act> {
    vec![
        Act::Write(vec![(0, 8), (40, 20)]),
        Act::Flush,
        Act::WriteAndKill(vec![(3, 2), (44, 4), (100, 1)], 1),
        Act::Write(vec![(0, 4)]),
        Act::Flush,
        Act::Add(spare),
        Act::Idle(1),
        Act::Write(vec![(42, 3)]),
        Act::Idle(10_000),
        Act::Write(vec![(50, 9)]),
        Act::Flush,
    ]
}

#[test]
fn a_mirror_survives_power_cuts_while_it_loses_a_member_and_gets_another() {
    let story = story("RAID1, loss and rebuild", "1", None, 2, loss_and_rebuild(2));
    cut_everywhere(&Story { others: 1, ..story });
}

#[test]
fn raid5_survives_power_cuts_while_it_loses_a_member_and_gets_another() {
    let story = story("RAID5, loss and rebuild", "5", None, 3, loss_and_rebuild(3));
    cut_everywhere(&Story { others: 1, ..story });
}

#[test]
fn raid6_survives_power_cuts_while_it_loses_a_member_and_gets_another() {
    let story = story("RAID6, loss and rebuild", "6", None, 4, loss_and_rebuild(4));
    cut_everywhere(&Story { others: 1, ..story });
}

/// A member fails a flush that nobody asked for: one that comes before superblocks, a bitmap, or
/// the end of a log's unit.
fn a_flush_is_refused(drive: usize, skip: u32) -> Vec<Act> {
    vec![
        Act::Write(vec![(0, 8), (16, 8), (40, 20)]),
        Act::Flush,
        Act::RefuseFlush(drive, skip),
        Act::Write(vec![(0, 8), (8, 4), (48, 4), (100, 1)]),
        Act::Write(vec![(2, 3), (20, 2)]),
        Act::Pass(1000),
        Act::Write(vec![(5, 30)]),
        Act::Pass(1000),
        Act::Flush,
    ]
}

#[test]
fn no_superblock_says_what_a_refused_flush_was_to_make_true() {
    for (name, level, members, skip) in
        [("RAID1", "1", 2, 0), ("RAID1", "1", 2, 1), ("RAID5", "5", 3, 0), ("RAID6", "6", 4, 1), ("RAID10", "10", 3, 0)]
    {
        cut_everywhere(&story(name, level, None, members, a_flush_is_refused(1, skip)));
    }
}

#[test]
fn no_unit_of_a_partial_parity_log_ends_by_a_refused_flush() {
    for (drive, skip) in [(0, 0), (0, 1), (1, 0), (1, 2), (2, 3)] {
        let plain = story("RAID5 with PPL, flush refused", "5", None, 3, a_flush_is_refused(drive, skip));
        cut_everywhere(&Story { consistency: ConsistencyPolicy::Ppl, may_refuse: false, ..plain });
    }
}

#[test]
fn no_bit_is_cleared_by_a_refused_flush() {
    for skip in [0, 2] {
        let acts = [a_flush_is_refused(1, skip), vec![AGES, Act::Write(vec![(3, 3)]), Act::Flush]].concat();
        cut_everywhere(&with_bitmap(story("RAID1 with a bitmap, flush refused", "1", None, 2, acts)));
    }
}
