//! What the members refuse, and whom that is told.

use super::*;

/// Asks for a flush, and has the engine answer loads with `load`: what the flush is answered.
fn flush(world: &mut World, load: Result<(), RequestError>) -> Vec<Result<(), RequestError>> {
    let request = Request { id: RequestId::client(1), command: Command::Flush };
    world.window.submit(world.now, request, &world.memory);
    let mut results = Vec::new();
    while let Some(step) = world.window.next_step(&world.memory) {
        match step {
            Step::Submit(purpose, _) => {
                let result = if purpose == Purpose::Flush { Ok(()) } else { load };
                world.window.ended(world.now, purpose, result, &world.memory);
            }
            Step::Answer(completion) => results.push(completion.result),
            Step::Pass(request) => panic!("nothing passes here: {request:?}"),
        }
    }
    results
}

#[test]
fn what_the_members_refuse_is_kept_and_each_flush_tries_it_again() {
    let mut world = World::new(layout(12 << 10, 4 << 10), 256 << 10);
    write(&mut world, 0, 0, 12 << 10);
    let mut random = Random(1);
    assert!(world.asked[0].is_some(), "a whole row passes");
    world.engine_does(&mut random, Ok(()));
    write(&mut world, 0, 0, 8 << 10);
    assert!(world.asked[0].is_none(), "it is answered from memory");
    let refuses = Err(RequestError::Failed);
    assert_eq!(flush(&mut world, refuses), [refuses]);
    assert_eq!(world.window.dirty_bytes(), 8 << 10);
    assert!(world.window.is_at_rest(), "nobody tries it by himself");
    assert_eq!(flush(&mut world, refuses), [refuses], "again");
    write(&mut world, 0, 4 << 10, 4 << 10);
    assert!(world.asked[0].is_some(), "nothing more is staged");
    assert_eq!(world.window.dirty_bytes(), 8 << 10, "what is held is written in memory as well");
    world.engine_does(&mut random, refuses);
    assert!(world.asked[0].is_none(), "it is told what became of it");
    assert_eq!(flush(&mut world, Ok(())), [Ok(())]);
    assert!(world.window.pages.is_empty());
    write(&mut world, 0, 0, 4 << 10);
    assert!(world.asked[0].is_none() && world.window.dirty_bytes() > 0, "writes are staged again");
}

/// Of two flushes under way both fail when something is refused that the second has swept, and the
/// third tries it again.
#[test]
fn a_refusal_between_two_flushes_fails_both() {
    let mut world = World::new(layout(12 << 10, 4 << 10), 256 << 10);
    let flush = |buffer: u64| Request { id: RequestId::client(buffer), command: Command::Flush };
    let submit = |world: &mut World, request| world.window.submit(world.now, request, &world.memory);
    let next = |world: &mut World| world.window.next_step(&world.memory);
    write(&mut world, 0, 0, 4 << 10);
    submit(&mut world, flush(1));
    let Some(Step::Submit(first, _)) = next(&mut world) else { panic!("the first load goes") };
    world.window.ended(world.now, first, Ok(()), &world.memory);
    assert_eq!(next(&mut world), Some(Step::Submit(Purpose::Flush, Command::Flush)));
    write(&mut world, 2, 60 << 10, 4 << 10);
    submit(&mut world, flush(3));
    let Some(Step::Submit(second, _)) = next(&mut world) else { panic!("the second load goes") };
    world.window.ended(world.now, second, Err(RequestError::Failed), &world.memory);
    for id in [1, 3] {
        world.window.ended(world.now, Purpose::Flush, Ok(()), &world.memory);
        let answer = Completion { id: RequestId::client(id), result: Err(RequestError::Failed) };
        assert_eq!(next(&mut world), Some(Step::Answer(answer)));
        assert_eq!(next(&mut world).is_some(), id == 1, "the second flush goes to the engine");
    }
    assert_eq!(world.window.dirty_bytes(), 4 << 10);
    assert_eq!(self::flush(&mut world, Ok(())), [Ok(())]);
    assert_eq!(world.window.dirty_bytes(), 0);
}
