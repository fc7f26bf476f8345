//! Groups that are written anew from one end to the other.

use std::ops::Range;

use super::*;

const ROW: u64 = 12 << 10;
const GROUP: u64 = 4 * ROW;

/// What the engine has, and of it all that is the window's own: reads before writes.
fn with_engine(world: &World) -> Vec<(bool, Range<u64>)> {
    let own = world.engine.iter().filter(|(purpose, _)| purpose.is_some());
    own.map(|(_, request)| (matches!(request.command, Command::Write { .. }), request.command.range())).collect()
}

/// A window whose second group has a dirty page in each of these rows of it, all of which are to
/// go.
fn world_with_dirty(rows: &[u64]) -> World {
    let mut world = World::new(layout(ROW, 4 << 10), 256 << 10);
    world.members.fill(9);
    world.answered.fill(9);
    for &row in rows {
        write(&mut world, 0, GROUP + row * ROW + 4096, 4096);
    }
    world.window.empty();
    world.pump();
    world
}

/// A window whose first group has six runs, which are to go.
fn world_with_runs(is_price_known: bool) -> World {
    let mut world = World::new(layout(ROW, 4 << 10), 256 << 10);
    if is_price_known {
        world.runs_are_dear();
    }
    for page in [0, 2, 3, 5, 6, 8] {
        write(&mut world, 0, page * 4096, 512);
    }
    world.window.empty();
    world.pump();
    world
}

fn all_of(range: Range<u64>, parts: &[(bool, Range<u64>)], is_write: bool) {
    let mut end = range.start;
    for (kind, part) in parts {
        assert_eq!((*kind, part.start), (is_write, end));
        end = part.end;
    }
    assert_eq!(end, range.end);
}

#[test]
fn a_group_with_many_gaps_is_read_and_then_written_without_any() {
    let mut random = Random(1);
    let mut few = world_with_dirty(&[0, 1, 3]);
    assert_eq!(with_engine(&few).len(), 3);
    end(&mut few, &mut random);
    let mut many = world_with_dirty(&[0, 1, 3]);
    end(&mut many, &mut random);
    many.runs_are_dear();
    for (at, row) in [0, 4096, ROW, 2 * ROW + 4096, 3 * ROW, 3 * ROW + 8192].into_iter().zip([7; 6]) {
        many.memory.0.borrow_mut()[0].fill(row);
        write(&mut many, 0, GROUP + at, 512);
    }
    many.window.empty();
    many.pump();
    all_of(GROUP..2 * GROUP, &with_engine(&many), false);
    write(&mut many, 1, GROUP + 2 * ROW, 4096);
    for _ in 0..many.engine.len() {
        many.engine_does(&mut random, Ok(()));
    }
    all_of(GROUP..2 * GROUP, &with_engine(&many), true);
    assert!(many.window.dirty_bytes() == 0, "what was staged during the reads goes as well");
    end(&mut many, &mut random);
    assert!(many.members == many.answered);
    assert_eq!(many.members[GROUP as usize + 512..][..2], [9, 9], "what nobody wrote is as it was");
}

/// Content that passes the window is not overwritten with what was read before it.
#[test]
fn a_stretch_that_something_passes_is_dropped() {
    let mut random = Random(1);
    let mut world = world_with_runs(true);
    all_of(0..GROUP, &with_engine(&world), false);
    world.memory.0.borrow_mut()[1].fill(3);
    write(&mut world, 1, 3 * ROW, ROW as u32);
    assert!(world.asked[1].is_some(), "it passes");
    end(&mut world, &mut random);
    assert!(world.members == world.answered);
    assert_eq!(world.members[3 * ROW as usize], 3);
}

#[test]
fn rows_of_which_something_cannot_be_read_go_alone() {
    let mut random = Random(1);
    let mut world = world_with_runs(true);
    world.engine_does(&mut random, Err(RequestError::Failed));
    end(&mut world, &mut random);
    assert!(world.members == world.answered && world.window.pages.is_empty());
    assert_eq!(world.member_writes, 6);
}

/// What runs cost is found out first.
#[test]
fn rows_go_alone_until_it_is_known_what_that_costs() {
    let world = world_with_runs(false);
    assert_eq!(with_engine(&world).iter().filter(|(is_write, _)| *is_write).count(), 6, "each run");
    assert_eq!(world.stretch_reads, 0);
}

/// A crash while a row is written loses what a missing member had in it: rows that nobody wrote to
/// are left alone.
#[test]
fn an_array_that_is_not_whole_writes_what_was_written_and_nothing_else() {
    let mut random = Random(1);
    let mut world = world_with_runs(true);
    all_of(0..GROUP, &with_engine(&world), false);
    world.window.set_whole(false);
    end(&mut world, &mut random);
    assert!(world.members == world.answered && world.member_writes == 6, "a member was lost during the reads");
    let reads = world.stretch_reads;
    world.runs_are_dear();
    for page in [0, 2, 3, 5, 6, 8] {
        write(&mut world, 0, page * 4096, 512);
    }
    end(&mut world, &mut random);
    assert_eq!((world.stretch_reads, world.member_writes), (reads, 12));
}
