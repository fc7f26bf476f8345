//! Write-intent bitmaps on real files: what the members hold, and when, while an array is written,
//! comes to rest, crashes, loses a member and gets it back. Time passes as fast as the tests like.
mod returning;
mod rig;

use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::process::Command as Program;

use shoal_drive::{DriveId, Io, IoKind};
use shoal_md::{Bitmap, Features};
use shoal_volume::{ArrayVolume, Background, Event, Health, MinorVersion, News, OpenOptions, ScrubMode, Volume};

use crate::support::{Bench, pattern};
use rig::{CHUNK_BYTES, Rig, SLEEP, copy, create, create_as, open, open_as, superblock, swift};

fn set_runs(bitmap: &Bitmap) -> Vec<Range<u64>> {
    let regions = bitmap.regions();
    let mut from = 0;
    std::iter::from_fn(|| {
        let run = regions.next_set(from)?;
        from = run.end;
        Some(run)
    })
    .collect()
}

const LEVELS: [(&str, usize); 5] = [("1", 2), ("4", 4), ("5", 4), ("6", 5), ("10", 4)];

/// All bits of a new array are set, as mdadm sets them; they are cleared when it comes to rest.
#[test]
fn a_new_array_has_a_bitmap_on_every_member() {
    for metadata in MinorVersion::ALL {
        for (level, drives) in LEVELS {
            let bench = Bench::new(drives);
            let rig = create_as(&bench, level, drives, metadata);
            for drive in 0..drives {
                let bitmap = copy(&bench, drive);
                assert_eq!(bitmap.count(), bitmap.bits(), "raid{level} {metadata:?}");
                assert!(bitmap.bits() > 32, "raid{level} {metadata:?}: {}", bitmap.bits());
            }
            rig.array.close().unwrap();
            for drive in 0..drives {
                assert_eq!(copy(&bench, drive).count(), 0, "raid{level} {metadata:?}");
            }
        }
    }
}

/// No byte of data is written before the bits of its chunk have been written and flushed on every
/// member.
#[test]
fn bits_are_durable_before_the_data() {
    for (level, drives) in LEVELS {
        let bench = Bench::new(drives);
        create(&bench, level, drives).array.close().unwrap();
        let mut rig = open(&bench, &(0..drives).collect::<Vec<_>>());
        let superblock = superblock(&bench, 0);
        let (bitmap_offset, data_offset) =
            (superblock.bitmap_area().unwrap().offset_bytes, superblock.data_offset_bytes());
        rig.log.borrow_mut().clear();
        rig.write(1 << 20, &pattern(4096, 1));
        let log = rig.log.borrow();
        let is_write = |io: &Io, from: u64| matches!(io.kind, IoKind::Write(_)) && io.offset >= from;
        let first_data = log.iter().position(|io| is_write(io, data_offset)).unwrap();
        for &drive in &rig.drives {
            let before = || log[..first_data].iter().enumerate().filter(|(_, io)| io.drive == drive);
            let bits = before().rfind(|(_, io)| is_write(io, bitmap_offset)).unwrap().0;
            let flush = before().rfind(|(_, io)| matches!(io.kind, IoKind::Flush)).unwrap().0;
            assert!(bits < flush, "raid{level}: {:?}", &log[..=first_data]);
        }
        drop(log);
        for drive in 0..drives {
            let set = set_runs(&copy(&bench, drive));
            let expected = if matches!(level, "1" | "10") { 1 << 20 } else { 0 };
            assert!(set.len() == 1 && set[0].end - set[0].start == CHUNK_BYTES && set[0].start >= expected, "{set:?}");
        }
    }
}

/// What was written is flushed on every member before the header says that bits may be cleared, and
/// that before they are; also in an array that is never marked clean meanwhile. Who writes may have
/// flushed it: then nothing is new there.
#[test]
fn data_are_durable_before_bits_are_cleared() {
    for (level, drives) in LEVELS {
        for is_flushed in [false, true] {
            let bench = Bench::new(drives);
            create(&bench, level, drives).array.close().unwrap();
            let never_clean = OpenOptions { safe_mode_delay: None, ..OpenOptions::writable() };
            let mut rig = open_as(&bench, &(0..drives).collect::<Vec<_>>(), &never_clean);
            match is_flushed {
                true => rig.write(1 << 20, &pattern(4096, 1)),
                false => rig.write_unflushed(1 << 20, &pattern(4096, 1)),
            }
            rig.idle(4 * SLEEP);
            for drive in 0..drives {
                assert_eq!(copy(&bench, drive).count(), 0, "raid{level}");
            }
            for (has_data, told) in told_after_data(&rig, &bench) {
                let expected = if has_data { "fbfb" } else { "bfb" };
                assert_eq!(told, expected, "raid{level}: flush of what is new, header, flush, bits");
            }
        }
    }
}

/// Whether each drive was given data, and what it was asked after the last data that any got: `f`
/// to flush, `b` to write the bitmap.
fn told_after_data(rig: &Rig, bench: &Bench) -> Vec<(bool, String)> {
    let superblock = superblock(bench, 0);
    let (bitmap_offset, data_offset) = (superblock.bitmap_area().unwrap().offset_bytes, superblock.data_offset_bytes());
    let log = rig.log.borrow();
    let is_data = |io: &Io| matches!(io.kind, IoKind::Write(_)) && io.offset >= data_offset;
    let last_data = log.iter().rposition(is_data).unwrap();
    let letter = |io: &Io| match io.kind {
        IoKind::Flush => 'f',
        IoKind::Write(_) if io.offset == bitmap_offset => 'b',
        _ => '?',
    };
    let told = |&drive: &DriveId| {
        let has_data = log.iter().any(|io| io.drive == drive && is_data(io));
        (has_data, log[last_data + 1..].iter().filter(|io| io.drive == drive).map(letter).collect())
    };
    rig.drives.iter().map(told).collect()
}

/// Bits are cleared some time after the last write, on all members, and what the superblocks need
/// stays right.
#[test]
fn bits_are_cleared_lazily() {
    for (level, drives) in LEVELS {
        let bench = Bench::new(drives);
        let mut rig = create(&bench, level, drives);
        rig.idle(4 * SLEEP);
        assert_eq!(copy(&bench, 0).count(), 0, "raid{level}");
        rig.write(1 << 20, &pattern(4096, 1));
        for _ in 0..4 {
            rig.idle(SLEEP);
            assert_eq!(copy(&bench, 0).count(), 1, "raid{level}: written to again and again");
            rig.write(1 << 20, &pattern(4096, 1));
        }
        rig.idle(4 * SLEEP);
        for drive in 0..drives {
            let bitmap = copy(&bench, drive);
            assert_eq!(bitmap.count(), 0, "raid{level}");
            let superblock = superblock(&bench, drive);
            assert!(superblock.is_clean() && bitmap.header.events >= superblock.events, "raid{level}");
            assert!(bitmap.header.events_cleared <= superblock.events && bitmap.header.events_cleared > 0);
        }
        assert_eq!(rig.array.quiet_for(), None, "raid{level}: there is nothing left to do");
        rig.array.close().unwrap();
    }
}

/// While a member is missing no bit is cleared, and events_cleared stays at what it has seen.
#[test]
fn nothing_is_cleared_while_a_member_is_missing() {
    for (level, drives) in LEVELS {
        let bench = Bench::new(drives);
        let mut rig = create(&bench, level, drives);
        let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
        rig.write(0, &data);
        rig.idle(4 * SLEEP);
        let failing = rig.drives[1];
        let left_at = superblock(&bench, 1).events;
        rig.array.fail_drive(failing).unwrap();
        for offset in [0, 1 << 20, 3 << 20] {
            rig.write(offset, &pattern(100_000, 2));
        }
        rig.idle(10 * SLEEP);
        let content = rig.content();
        rig.array.close().unwrap();
        let others: Vec<usize> = (0..drives).filter(|drive| *drive != 1).collect();
        for _ in 0..2 {
            for &drive in &others {
                let bitmap = copy(&bench, drive);
                assert!(bitmap.count() >= 3 && bitmap.count() < bitmap.bits(), "raid{level}: {}", bitmap.count());
                assert!(bitmap.header.events_cleared <= left_at, "raid{level}");
            }
            let mut rig = open(&bench, &others);
            rig.idle(10 * SLEEP);
            assert!(rig.content() == content, "raid{level}");
            rig.array.close().unwrap();
        }
    }
}

/// A drive that takes the place of a missing one gets a bitmap of its own, and then bits are
/// cleared again.
#[test]
fn a_new_member_gets_a_bitmap_of_its_own() {
    for (level, drives) in LEVELS {
        let bench = Bench::new(drives + 1);
        let mut rig = create(&bench, level, drives);
        let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
        rig.write(0, &data);
        let failing = rig.drives[1];
        rig.array.fail_drive(failing).unwrap();
        rig.array.close().unwrap();
        let left_at = superblock(&bench, 1).events;

        let others: Vec<usize> = (0..drives).filter(|drive| *drive != 1).collect();
        let (world, plan, ids, log) = swift(&bench, &others.iter().copied().chain([drives]).collect::<Vec<_>>());
        let (members, added) = (&ids[..drives - 1], ids[drives - 1]);
        let array = ArrayVolume::open(world, plan, members, &OpenOptions::writable()).unwrap();
        let mut rig = Rig { array, drives: ids, log };
        rig.array.add_drive(added).unwrap();
        rig.finish_background();
        rig.idle(4 * SLEEP);
        assert!(rig.content() == data, "raid{level}");
        rig.write(0, &pattern(4096, 2));
        for drive in others.into_iter().chain([drives]) {
            let bitmap = copy(&bench, drive);
            assert_eq!(bitmap.count(), 1, "raid{level}: drive {drive}");
            assert!(!bitmap.header.is_stale(), "raid{level}: drive {drive}");
            assert!(bitmap.header.events_cleared > left_at, "raid{level}: the old member cannot come back");
            assert!(bitmap.header.events >= superblock(&bench, drive).events, "raid{level}");
        }
        rig.array.close().unwrap();
    }
}

/// After a crash only chunks with set bits are resynced: damage there is mended, and damage
/// elsewhere stays.
#[test]
fn after_a_crash_only_what_was_being_written_is_resynced() {
    for (level, drives) in LEVELS {
        let bench = Bench::new(drives);
        let mut rig = create(&bench, level, drives);
        let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
        rig.write(0, &data);
        rig.idle(4 * SLEEP);
        rig.write(0, &data[..4096]);
        drop(rig); // as if killed

        let last = drives - 1;
        assert_eq!(set_runs(&copy(&bench, last)), vec![0..CHUNK_BYTES; 1], "raid{level}");
        bench.damage(last, 8192, 512);
        bench.damage(last, 2 << 20, 512);
        let mut rig = open(&bench, &(0..drives).collect::<Vec<_>>());
        assert!(rig.array.needs_resync(), "raid{level}");
        rig.finish_background();
        assert!(!rig.array.needs_resync(), "raid{level}");
        rig.array.take_news();
        rig.array.scrub(ScrubMode::Check).unwrap();
        rig.finish_background();
        let news = rig.array.take_news();
        let mismatch = |news: &News| match &news.event {
            Event::Mismatch(mismatch) => Some(mismatch.member_range.clone()),
            _ => None,
        };
        let found: Vec<_> = news.iter().filter_map(mismatch).collect();
        let is_elsewhere = |range: &Range<u64>| range.start <= 2 << 20 && range.end > 2 << 20;
        assert!(!found.is_empty() && found.iter().all(is_elsewhere), "raid{level}: {found:?}");
        rig.idle(4 * SLEEP);
        assert_eq!(copy(&bench, last).count(), 0, "raid{level}: bits are cleared behind the resync");
        rig.array.close().unwrap();
    }
}

/// A bitmap that was not kept is not believed: all of the array is resynced, and the bitmap written
/// anew.
#[test]
fn a_stale_bitmap_is_not_believed() {
    let bench = Bench::new(3);
    let mut rig = create(&bench, "5", 3);
    let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
    rig.write(0, &data);
    rig.idle(4 * SLEEP);
    rig.write(0, &data[..4096]);
    drop(rig);
    for drive in 0..3 {
        let area = superblock(&bench, drive).bitmap_area().unwrap();
        let mut bitmap = copy(&bench, drive);
        bitmap.header.events -= 1;
        (0..bitmap.bits()).for_each(|bit| {
            bitmap.clear(bit);
        });
        let file = std::fs::OpenOptions::new().write(true).open(bench.path(drive)).unwrap();
        file.write_all_at(&bitmap.encode_page(0)[..512], area.offset_bytes).unwrap();
    }
    bench.damage(1, 2 << 20, 512);
    let mut rig = open(&bench, &[0, 1, 2]);
    rig.finish_background();
    let back = rig.content();
    assert!(back[4096..1 << 20] == data[4096..1 << 20]);
    rig.array.take_news();
    rig.array.scrub(ScrubMode::Check).unwrap();
    rig.finish_background();
    assert!(!rig.array.take_news().iter().any(|news| matches!(news.event, Event::Mismatch(_))));
    for drive in 0..3 {
        let bitmap = copy(&bench, drive);
        assert!(!bitmap.header.is_stale() && bitmap.header.events >= superblock(&bench, drive).events);
    }
    rig.array.close().unwrap();
}

/// What mdadm says of the bitmaps.
#[test]
fn needs_mdadm_reads_the_bitmaps() {
    if Program::new("mdadm").arg("--version").output().is_err() {
        return println!("SKIPPED: needs_mdadm_reads_the_bitmaps needs mdadm");
    }
    for metadata in MinorVersion::ALL {
        for (level, drives) in LEVELS {
            let bench = Bench::new(drives);
            let mut rig = create_as(&bench, level, drives, metadata);
            rig.idle(4 * SLEEP);
            rig.write(0, &pattern(4096, 1));
            for drive in 0..drives {
                // Of a file mdadm expects nothing but the bitmap.
                let area = superblock(&bench, drive).bitmap_area().unwrap();
                let bytes = std::fs::read(bench.path(drive)).unwrap();
                let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
                std::fs::write(&file, &bytes[usize::try_from(area.offset_bytes).unwrap()..]).unwrap();
                let said = Program::new("mdadm").arg("--examine-bitmap").arg(file.path()).output().unwrap();
                let said = String::from_utf8_lossy(&said.stdout).into_owned();
                let bitmap = copy(&bench, drive);
                for line in [
                    "Version : 4".to_owned(),
                    format!("Events : {}", bitmap.header.events),
                    format!("Events Cleared : {}", bitmap.header.events_cleared),
                    "State : OK".to_owned(),
                    "Chunksize : 64 KB".to_owned(),
                    "Daemon : 5s flush period".to_owned(),
                    format!("{} bits (chunks), 1 dirty", bitmap.bits()),
                ] {
                    assert!(said.contains(&line), "raid{level} {metadata:?}: no `{line}` in:\n{said}");
                }
            }
            rig.array.close().unwrap();
        }
    }
}
