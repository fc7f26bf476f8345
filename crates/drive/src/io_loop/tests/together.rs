//! Writes that are done as one.

use super::*;

/// Adjacent writes of so many blocks, whose memory lies in the opposite order with gaps.
fn adjacent(drive: DriveId, arena: &Arena, blocks: &[u32]) -> Vec<Io> {
    let mut offset = 8192;
    let mut ios = Vec::new();
    for (token, &count) in (0..).zip(blocks) {
        let run = Memory { offset: (blocks.len() - token as usize) * (256 << 10), length: count * 4096 };
        arena.write(run, &vec![token as u8 + 1; run.length as usize]);
        ios.push(Io { token, drive, kind: IoKind::Write(run), offset });
        offset += u64::from(run.length);
    }
    ios
}

#[test]
fn writes_that_are_done_as_one_are_there_and_answered_one_by_one() {
    with_each(2, |io_loop, arena, directory| {
        let file = file_of(directory, MIB);
        let drive = add(io_loop, &file);
        let blocks = [1, 16, 3, 1, 9];
        io_loop.submit_together(&adjacent(drive, arena, &blocks));
        assert_eq!(io_loop.pending(), blocks.len());
        let mut finished = Vec::new();
        io_loop.wait(blocks.len(), None, &mut finished).unwrap();
        assert_eq!((finished.len(), io_loop.pending()), (blocks.len(), 0));
        let written: Vec<u8> = (1..).zip(blocks).flat_map(|(byte, count)| vec![byte; count as usize * 4096]).collect();
        assert!(std::fs::read(file.path()).unwrap()[8192..][..written.len()] == written);
    });
}

#[test]
fn with_no_room_they_wait_as_one_and_nothing_is_lost() {
    with_each(1, |io_loop, arena, directory| {
        let file = file_of(directory, MIB);
        let drive = add(io_loop, &file);
        let far = memory(200, 4096);
        arena.write(far, &[77; 4096]);
        io_loop.submit(Io { token: 90, drive, kind: IoKind::Write(far), offset: 0 });
        io_loop.submit_together(&adjacent(drive, arena, &[2, 2, 2]));
        drain_without_errors(io_loop, 4);
        assert_eq!(std::fs::read(file.path()).unwrap()[8192 + 5 * 4096], 3);
    });
}

#[test]
fn what_fails_as_one_is_done_anew_one_by_one() {
    with_each(4, |io_loop, arena, directory| {
        let file = file_of(directory, MIB);
        let mut drive = Drive::open(file.path(), Access::Write).unwrap();
        drive.replace_file(File::open(file.path()).unwrap()); // nothing can be written through it
        let drive = io_loop.add_drive(drive).unwrap();
        io_loop.submit_together(&adjacent(drive, arena, &[1, 2, 1]));
        let results = drain(io_loop);
        assert_eq!(results.len(), 3);
        results.into_values().for_each(|result| assert!(result.is_err()));
    });
}

#[test]
fn an_error_of_all_falls_on_the_one_that_cannot_be_done() {
    with_each(4, |io_loop, arena, directory| {
        let file = file_of(directory, 8192 + 3 * 4096);
        let drive = add(io_loop, &file);
        let ios = adjacent(drive, arena, &[1, 2, 1]); // the last lies behind the end
        io_loop.together.put(&ios);
        let mut finished = vec![Finished { token: ios[0].token, result: Err(Errno::IO.into()) }];
        io_loop.take_apart(0, &mut finished);
        assert!(finished.is_empty(), "nobody is told what came of all");
        let results = drain(io_loop);
        assert_eq!([0, 1, 2].map(|token| results[&token].is_ok()), [true, true, false]);
        assert_eq!(std::fs::read(file.path()).unwrap()[8192 + 4096..], [2; 2 * 4096]);
    });
}
