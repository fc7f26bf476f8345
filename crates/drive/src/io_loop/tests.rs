//! Both engines, through the same tests: over a real file system with O_DIRECT, and over the page
//! cache.

mod losses;
mod together;
mod waiting;

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tempfile::NamedTempFile;

use super::*;
use crate::Access;
use crate::tests::{LoopDevice, beside_the_binary};

const MIB: u64 = 1 << 20;
const ENGINES: [IoEngine; 2] = [IoEngine::Uring, IoEngine::Threads];

/// Directories with a real file system (next to the test's binary) and without one.
fn directories() -> Vec<std::path::PathBuf> {
    vec![beside_the_binary(), "/dev/shm".into()]
}

/// Makes a loop, or says loudly why there is none.
fn io_loop(engine: IoEngine, arena: &Arena, depth: u32) -> Option<IoLoop> {
    match IoLoop::new(Some(engine), arena.clone(), depth) {
        Ok(io_loop) => Some(io_loop),
        Err(error @ LoopError::UringRefused { .. }) => {
            eprintln!("SKIPPED: this test of the io_uring engine needs io_uring: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test with both engines in all directories.
fn with_each(depth: u32, test: impl Fn(&mut IoLoop, &Arena, &Path)) {
    for engine in ENGINES {
        for directory in directories() {
            let arena = Arena::new(4 * MIB as usize).unwrap();
            if let Some(mut io_loop) = io_loop(engine, &arena, depth) {
                assert_eq!(io_loop.engine(), engine);
                test(&mut io_loop, &arena, &directory);
            }
        }
    }
}

fn file_of(directory: &Path, bytes: u64) -> NamedTempFile {
    let file = NamedTempFile::new_in(directory).unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

fn add(io_loop: &mut IoLoop, file: &NamedTempFile) -> DriveId {
    io_loop.add_drive(Drive::open(file.path(), Access::Write).unwrap()).unwrap()
}

/// The `index`th run of so many bytes in the arena.
fn memory(index: usize, length: u32) -> Memory {
    Memory { offset: index * length as usize, length }
}

/// Waits for all that is pending, and hands out the results by token.
fn drain(io_loop: &mut IoLoop) -> HashMap<u64, Result<(), io::Error>> {
    let mut finished = Vec::new();
    while io_loop.pending() > 0 {
        io_loop.wait(1, None, &mut finished).unwrap();
    }
    let count = finished.len();
    let results: HashMap<_, _> = finished.into_iter().map(|finished| (finished.token, finished.result)).collect();
    assert_eq!(results.len(), count, "an I/O finished twice");
    results
}

fn drain_without_errors(io_loop: &mut IoLoop, count: usize) {
    let results = drain(io_loop);
    assert_eq!(results.len(), count);
    for (token, result) in results {
        result.unwrap_or_else(|error| panic!("I/O {token}: {error}"));
    }
}

/// A small generator of our own: the same numbers on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A run of bytes on the drive, in memory of its own.
struct Run {
    offset: u64,
    memory: Memory,
    writes: bool,
}

/// Picks runs of blocks that do not overlap, so that the order in which they are done does not
/// matter.
fn disjoint_runs(numbers: &mut Numbers, block: u64) -> Vec<Run> {
    const COUNT: u64 = 12;
    let share = MIB / block / COUNT;
    let mut pick = |index: u64| {
        let first = index * share + numbers.below(share);
        let length = (1 + numbers.below((index + 1) * share - first)) * block;
        let memory = Memory { offset: index as usize * (128 << 10), length: length as u32 };
        Run { offset: first * block, memory, writes: numbers.below(2) == 0 }
    };
    (0..COUNT).map(&mut pick).collect()
}

#[test]
fn random_io_leaves_what_a_model_says() {
    const SEED: u64 = 20_261_121;
    println!("seed {SEED}");
    with_each(8, |io_loop, arena, directory| {
        let mut numbers = Numbers(SEED);
        let file = file_of(directory, MIB);
        let drive = add(io_loop, &file);
        let block = u64::from(io_loop.drive(drive).logical_block_bytes());
        let mut model = vec![0_u8; MIB as usize];
        for round in 0..100 {
            let runs = disjoint_runs(&mut numbers, block);
            for (token, run) in runs.iter().enumerate() {
                let bytes = vec![numbers.below(256) as u8; run.memory.length as usize];
                arena.write(run.memory, &bytes);
                if run.writes {
                    model[run.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
                }
                let kind = if run.writes { IoKind::Write(run.memory) } else { IoKind::Read(run.memory) };
                io_loop.submit(Io { token: token as u64, drive, kind, offset: run.offset });
            }
            drain_without_errors(io_loop, runs.len());
            for Run { offset, memory, .. } in runs {
                let mut bytes = vec![0; memory.length as usize];
                arena.read(memory, &mut bytes);
                assert!(bytes == model[offset as usize..][..bytes.len()], "round {round}, {memory:?} at {offset}");
            }
        }
        let mut all = vec![0; MIB as usize];
        io_loop.drive(drive).read_at(0, &mut all).unwrap();
        assert!(all == model, "the file differs from the model");
    });
}

#[test]
fn many_more_than_the_depth_finish_each_once() {
    with_each(8, |io_loop, arena, directory| {
        let files = [file_of(directory, MIB), file_of(directory, MIB), file_of(directory, MIB)];
        let drives = files.each_ref().map(|file| add(io_loop, file));
        for token in 0..600_u64 {
            let run = memory(token as usize, 4096);
            arena.write(run, &token.to_le_bytes().repeat(512));
            let (drive, offset) = (drives[token as usize % 3], (token / 3) * 4096);
            io_loop.submit(Io { token, drive, kind: IoKind::Write(run), offset });
        }
        assert_eq!(io_loop.pending(), 600);
        drain_without_errors(io_loop, 600);
        for token in 0..600_u64 {
            let mut bytes = [0; 4096];
            files[token as usize % 3].as_file().read_exact_at(&mut bytes, (token / 3) * 4096).unwrap();
            assert_eq!(bytes.as_slice(), token.to_le_bytes().repeat(512));
        }
    });
}

#[test]
fn more_drives_than_places_for_registered_files() {
    with_each(8, |io_loop, arena, directory| {
        let files: Vec<_> = (0..70).map(|_| file_of(directory, 4096)).collect();
        for (token, file) in files.iter().enumerate() {
            let (drive, run) = (add(io_loop, file), memory(token, 4096));
            arena.write(run, &[token as u8; 4096]);
            io_loop.submit(Io { token: token as u64, drive, kind: IoKind::Write(run), offset: 0 });
        }
        drain_without_errors(io_loop, files.len());
        for (token, file) in files.iter().enumerate() {
            assert_eq!(std::fs::read(file.path()).unwrap(), [token as u8; 4096]);
        }
    });
}

#[test]
fn io_outside_a_drive_is_an_error_and_changes_nothing() {
    with_each(4, |io_loop, _arena, directory| {
        let file = file_of(directory, 64 << 10);
        let drive = add(io_loop, &file);
        let run = memory(0, 8192);
        let end = 64 << 10;
        let wild = [
            Io { token: 0, drive, kind: IoKind::Read(run), offset: end - 4096 },
            Io { token: 1, drive, kind: IoKind::Write(run), offset: end - 4096 },
            Io { token: 2, drive, kind: IoKind::Write(run), offset: u64::MAX - 4095 },
            Io { token: 3, drive, kind: IoKind::Discard(8192), offset: end - 4096 },
        ];
        wild.into_iter().for_each(|io| io_loop.submit(io));
        let results = drain(io_loop);
        assert_eq!(results.len(), 4);
        for result in results.values() {
            let error = result.as_ref().expect_err("it lies outside");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        }
        assert_eq!(file.as_file().metadata().unwrap().len(), end);
    });
}

#[test]
fn a_file_that_shrank_gives_errors_where_it_was() {
    with_each(4, |io_loop, _arena, directory| {
        let file = file_of(directory, MIB);
        let drive = add(io_loop, &file);
        file.as_file().set_len(8192 + 512).unwrap();
        let run = memory(0, 8192);
        io_loop.submit(Io { token: 0, drive, kind: IoKind::Read(run), offset: 0 });
        io_loop.submit(Io { token: 1, drive, kind: IoKind::Read(run), offset: 8192 });
        io_loop.submit(Io { token: 2, drive, kind: IoKind::Read(run), offset: 65_536 });
        let results = drain(io_loop);
        assert!(results[&0].is_ok());
        for token in [1, 2] {
            let error = results[&token].as_ref().expect_err("the bytes are gone");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        }
    });
}

#[test]
fn nothing_is_written_to_a_drive_opened_for_reading() {
    with_each(4, |io_loop, _arena, directory| {
        let file = file_of(directory, 8192);
        std::fs::write(file.path(), [7; 8192]).unwrap();
        let drive = io_loop.add_drive(Drive::open(file.path(), Access::Read).unwrap()).unwrap();
        for (token, kind) in [(0, IoKind::Write(memory(0, 4096))), (1, IoKind::Discard(4096))] {
            io_loop.submit(Io { token, drive, kind, offset: 0 });
        }
        for result in drain(io_loop).into_values() {
            assert_eq!(result.expect_err("it is read-only").kind(), io::ErrorKind::PermissionDenied);
        }
        assert_eq!(std::fs::read(file.path()).unwrap(), [7; 8192]);
    });
}

#[test]
fn flush_and_discard_do_their_work() {
    with_each(4, |io_loop, arena, directory| {
        let file = file_of(directory, MIB);
        let drive = add(io_loop, &file);
        let run = memory(0, MIB as u32);
        arena.write(run, &vec![9; MIB as usize]);
        io_loop.submit(Io { token: 0, drive, kind: IoKind::Write(run), offset: 0 });
        drain_without_errors(io_loop, 1);
        io_loop.submit(Io { token: 1, drive, kind: IoKind::Flush, offset: 0 });
        drain_without_errors(io_loop, 1);
        assert!(io_loop.drive(drive).can_discard(), "ext4, XFS, btrfs and tmpfs all punch holes");
        io_loop.submit(Io { token: 2, drive, kind: IoKind::Discard(MIB / 2), offset: MIB / 4 });
        drain_without_errors(io_loop, 1);
        let bytes = std::fs::read(file.path()).unwrap();
        let (quarter, three) = (MIB as usize / 4, 3 * MIB as usize / 4);
        assert!(bytes[..quarter].iter().chain(&bytes[three..]).all(|&byte| byte == 9));
        assert!(bytes[quarter..three].iter().all(|&byte| byte == 0));
    });
}

#[test]
fn needs_root_loop_devices_are_driven_like_files() {
    for engine in ENGINES {
        let file = file_of(&beside_the_binary(), MIB);
        let Some(device) = LoopDevice::attach(file.path(), 512) else { return };
        let arena = Arena::new(MIB as usize).unwrap();
        let Some(mut io_loop) = io_loop(engine, &arena, 4) else { continue };
        let drive = io_loop.add_drive(Drive::open(device.path(), Access::Write).unwrap()).unwrap();
        let run = memory(0, 64 << 10);
        arena.write(run, &[3; 64 << 10]);
        io_loop.submit(Io { token: 1, drive, kind: IoKind::Write(run), offset: MIB - (64 << 10) });
        drain_without_errors(&mut io_loop, 1);
        io_loop.submit(Io { token: 2, drive, kind: IoKind::Flush, offset: 0 });
        drain_without_errors(&mut io_loop, 1);
        assert!(std::fs::read(file.path()).unwrap().ends_with(&[3; 64 << 10]));
        if io_loop.drive(drive).can_discard() {
            io_loop.submit(Io { token: 3, drive, kind: IoKind::Discard(32 << 10), offset: MIB - (32 << 10) });
            drain_without_errors(&mut io_loop, 1);
            assert!(std::fs::read(file.path()).unwrap().ends_with(&[0; 32 << 10]));
        }
    }
}

#[test]
fn a_drive_that_left_is_an_error_and_its_id_is_not_used_again() {
    with_each(4, |io_loop, arena, directory| {
        let (old, new) = (file_of(directory, 8192), file_of(directory, 8192));
        let id = add(io_loop, &old);
        let drive = io_loop.remove_drive(id).expect("nothing is in flight");
        assert_eq!(drive.path(), old.path());
        assert!(io_loop.remove_drive(id).is_none());
        let new_id = add(io_loop, &new);
        assert_ne!(id, new_id);
        arena.write(memory(0, 4096), &[1; 4096]);
        io_loop.submit(Io { token: 1, drive: id, kind: IoKind::Write(memory(0, 4096)), offset: 0 });
        io_loop.submit(Io { token: 2, drive: new_id, kind: IoKind::Write(memory(0, 4096)), offset: 0 });
        let results = drain(io_loop);
        assert_eq!(results[&1].as_ref().expect_err("it is gone").raw_os_error(), Some(Errno::NODEV.raw_os_error()));
        assert!(results[&2].is_ok());
        assert_eq!(std::fs::read(old.path()).unwrap(), [0; 8192]);
    });
}

#[test]
fn dropping_a_busy_loop_waits_for_the_drives() {
    for engine in ENGINES {
        let file = file_of(&beside_the_binary(), 16 * MIB);
        let arena = Arena::new(4 * MIB as usize).unwrap();
        arena.write(memory(0, MIB as u32), &vec![5; MIB as usize]);
        let Some(mut io_loop) = io_loop(engine, &arena, 4) else { continue };
        let drive = add(&mut io_loop, &file);
        for token in 0..16 {
            let run = memory(0, MIB as u32);
            io_loop.submit(Io { token, drive, kind: IoKind::Write(run), offset: token * MIB });
        }
        io_loop.wait(0, None, &mut Vec::new()).unwrap();
        drop(io_loop);
        let written = std::fs::read(file.path()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert!(std::fs::read(file.path()).unwrap() == written, "the file changed after the loop had gone");
    }
}

#[test]
fn memory_across_a_cut_between_registered_pieces_works() {
    let arena = Arena::new((1 << 30) + (2 << 20)).unwrap();
    let Some(mut io_loop) = io_loop(IoEngine::Uring, &arena, 4) else { return };
    let file = file_of(&beside_the_binary(), 64 << 10);
    let drive = add(&mut io_loop, &file);
    let content: Vec<u8> = (0..65_536_u32).map(|index| (index / 512) as u8).collect();
    let across = Memory { offset: (1 << 30) - (32 << 10), length: 64 << 10 };
    arena.write(across, &content);
    io_loop.submit(Io { token: 1, drive, kind: IoKind::Write(across), offset: 0 });
    drain_without_errors(&mut io_loop, 1);
    assert!(std::fs::read(file.path()).unwrap() == content);
    let behind = Memory { offset: 1 << 30, length: 64 << 10 };
    io_loop.submit(Io { token: 2, drive, kind: IoKind::Read(behind), offset: 0 });
    drain_without_errors(&mut io_loop, 1);
    let mut bytes = vec![0; 64 << 10];
    arena.read(behind, &mut bytes);
    assert!(bytes == content);
}

#[test]
#[should_panic(expected = "lies outside")]
fn memory_outside_the_arena_is_a_mistake_of_the_owner() {
    let arena = Arena::new(4096).unwrap();
    let file = file_of(&beside_the_binary(), 8192);
    let mut io_loop = IoLoop::new(Some(IoEngine::Threads), arena.clone(), 1).unwrap();
    let drive = add(&mut io_loop, &file);
    let outside = Memory { offset: arena.len_bytes(), length: 512 };
    io_loop.submit(Io { token: 1, drive, kind: IoKind::Read(outside), offset: 0 });
}

#[test]
fn probing_finds_an_engine() {
    IoLoop::new(None, Arena::new(4096).unwrap(), 4).unwrap();
}
