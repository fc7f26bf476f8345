//! Waits, and what ends them beside I/O.

use super::*;

#[test]
fn waiting_for_nothing_returns_at_once() {
    with_each(4, |io_loop, _arena, directory| {
        let file = file_of(directory, 8192);
        let drive = add(io_loop, &file);
        let mut finished = Vec::new();
        io_loop.wait(5, None, &mut finished).unwrap();
        io_loop.wait(1, Some(Duration::from_secs(3600)), &mut finished).unwrap();
        assert!(finished.is_empty());
        // Polling: never blocks, and gets there.
        io_loop.submit(Io { token: 3, drive, kind: IoKind::Read(memory(0, 4096)), offset: 0 });
        while finished.is_empty() {
            io_loop.wait(0, None, &mut finished).unwrap();
        }
        assert_eq!((finished.len(), finished[0].token, io_loop.pending()), (1, 3, 0));
    });
}

/// Submits a read to a drive that does not answer until `answer` is called.
fn a_timeout_ends_the_wait_and_not_the_io(mut io_loop: IoLoop, drive: Drive, answer: impl FnOnce(&mut IoLoop)) {
    let drive = io_loop.add_drive(drive).unwrap();
    io_loop.submit(Io { token: 1, drive, kind: IoKind::Read(memory(0, 4096)), offset: 0 });
    let mut finished = Vec::new();
    let start = Instant::now();
    io_loop.wait(1, Some(Duration::from_millis(50)), &mut finished).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(50), "came back early");
    io_loop.wait(0, None, &mut finished).unwrap();
    assert!(finished.is_empty());
    assert_eq!(io_loop.pending(), 1);
    assert!(io_loop.remove_drive(drive).is_none(), "something is in flight on it");
    answer(&mut io_loop);
    io_loop.wait(1, None, &mut finished).unwrap();
    assert_eq!((finished.len(), finished[0].token, io_loop.pending()), (1, 1, 0));
    assert!(io_loop.remove_drive(drive).is_some());
}

/// The reading end of a pipe stands for a drive that does not answer until the writing end is
/// closed.
#[test]
fn a_timeout_ends_a_wait_for_io_uring() {
    let arena = Arena::new(4096).unwrap();
    let Some(io_loop) = io_loop(IoEngine::Uring, &arena, 4) else { return };
    let file = file_of(&beside_the_binary(), 8192);
    let mut drive = Drive::open(file.path(), Access::Read).unwrap();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drive.replace_file(File::from(reader));
    a_timeout_ends_the_wait_and_not_the_io(io_loop, drive, |_| drop(writer));
}

/// A pool without threads does not answer until it has one.
#[test]
fn a_timeout_ends_a_wait_for_threads() {
    let arena = Arena::new(4096).unwrap();
    let mut io_loop = IoLoop::new(Some(IoEngine::Threads), arena, 4).unwrap();
    let limit_workers = |io_loop: &mut IoLoop, limit| {
        let Engine::Threads(threads) = &mut io_loop.engine else { unreachable!("asked for threads") };
        threads.limit_workers(limit);
    };
    limit_workers(&mut io_loop, 0);
    let file = file_of(&beside_the_binary(), 8192);
    let drive = Drive::open(file.path(), Access::Read).unwrap();
    a_timeout_ends_the_wait_and_not_the_io(io_loop, drive, |io_loop| limit_workers(io_loop, 1));
}

#[test]
fn what_is_watched_ends_a_wait_and_is_seen_again_and_again() {
    let ring = |bell: &Arc<OwnedFd>| assert_eq!(rustix::io::write(bell, &1_u64.to_ne_bytes()), Ok(8));
    with_each(8, |io_loop, _, directory| {
        let bell = Arc::new(rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap());
        io_loop.watch(Arc::clone(&bell)).unwrap();
        let file = file_of(directory, MIB);
        let drive = add(io_loop, &file);
        let long = Duration::from_secs(600);
        for round in 0..3 {
            let start = Instant::now();
            let far_bell = Arc::clone(&bell);
            let ringer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(10));
                ring(&far_bell);
            });
            io_loop.rest_or_wake(long).unwrap();
            assert!(start.elapsed() < long, "round {round}: nobody woke up");
            ringer.join().unwrap();
            // While it rings, waiting for I/O ends early or with the I/O, and nothing is lost.
            let mut finished = Vec::new();
            io_loop.submit(Io { token: 7, drive, kind: IoKind::Read(memory(0, 4096)), offset: 0 });
            while finished.is_empty() {
                io_loop.wait_or_wake(1, Some(long), &mut finished).unwrap();
            }
            assert!(finished.len() == 1 && finished[0].token == 7);
            assert_eq!(rustix::io::read(&bell, &mut [0; 8]), Ok(8));
            let quiet = Instant::now();
            io_loop.rest_or_wake(Duration::from_millis(20)).unwrap();
            assert!(quiet.elapsed() >= Duration::from_millis(20), "round {round}: a silent bell woke somebody");
        }
        drop(drain(io_loop));
    });
}

#[test]
fn who_waits_for_drives_alone_sleeps_while_a_bell_rings() {
    with_each(8, |io_loop, _, directory| {
        let bell = Arc::new(rustix::event::eventfd(1, rustix::event::EventfdFlags::NONBLOCK).unwrap());
        io_loop.watch(bell).unwrap();
        // One wait that may be woken leaves the watch armed behind it, which must not end the
        // others.
        let drive = add(io_loop, &file_of(directory, MIB));
        let mut finished = Vec::new();
        for token in 0..3 {
            io_loop.submit(Io { token, drive, kind: IoKind::Read(memory(0, 4096)), offset: 0 });
            io_loop.wait_or_wake(1, None, &mut finished).unwrap();
            io_loop.wait(1, None, &mut finished).unwrap();
        }
        while finished.len() < 3 {
            io_loop.wait(1, None, &mut finished).unwrap();
        }
        assert_eq!((finished.len(), io_loop.pending()), (3, 0));
    });
}

#[test]
fn a_little_of_files_in_memory_is_read_and_written_on_the_spot() {
    let arena = Arena::new(MIB as usize).unwrap();
    let mut io_loop = IoLoop::new(None, arena.clone(), 8).unwrap();
    let (memory_file, disk_file) = (file_of(Path::new("/dev/shm"), MIB), file_of(&beside_the_binary(), MIB));
    let (in_memory, on_disk) = (add(&mut io_loop, &memory_file), add(&mut io_loop, &disk_file));
    assert!(io_loop.drive(in_memory).is_in_memory() && !io_loop.drive(on_disk).is_in_memory());
    arena.write(memory(0, 4096), b"fish");
    let write = Io { token: 1, drive: in_memory, kind: IoKind::Write(memory(0, 4096)), offset: 8192 };
    let beyond = Io { token: 2, drive: in_memory, kind: IoKind::Read(memory(1, 4096)), offset: MIB };
    io_loop.submit(write);
    io_loop.submit(beyond);
    assert_eq!(&std::fs::read(memory_file.path()).unwrap()[8192..8196], b"fish");
    io_loop.submit(Io { token: 3, kind: IoKind::Flush, ..write });
    let much = Memory { offset: 0, length: 512 << 10 };
    io_loop.submit(Io { token: 4, kind: IoKind::Write(much), offset: 256 << 10, ..write });
    let results = drain(&mut io_loop);
    assert!(results[&1].is_ok() && results[&2].is_err() && results[&3].is_ok() && results[&4].is_ok());
    assert_eq!(&std::fs::read(memory_file.path()).unwrap()[256 << 10..][..4], b"fish");
}
