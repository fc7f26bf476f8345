//! Members that left come back.

use super::*;

/// An array that loses drive 1, is written at a few places, and is closed. Gives its content.
fn without_one(bench: &Bench, level: &str, drives: usize) -> Vec<u8> {
    let mut rig = create(bench, level, drives);
    let data = pattern(usize::try_from(rig.array.size_bytes()).unwrap(), 1);
    rig.write(0, &data);
    rig.idle(4 * SLEEP);
    let leaving = rig.drives[1];
    rig.array.fail_drive(leaving).unwrap();
    rig.write(300_000, &pattern(5_000, 2));
    rig.write(2 << 20, &pattern(70_000, 3));
    let content = rig.content();
    rig.array.close().unwrap();
    content
}

/// Opens an array without drive 1, which is in the world all the same.
fn open_beside_one(bench: &Bench, drives: usize) -> (Rig, DriveId) {
    let (world, plan, ids, log) = swift(bench, &(0..drives).collect::<Vec<_>>());
    let members: Vec<DriveId> = ids.iter().copied().filter(|id| *id != ids[1]).collect();
    let array = ArrayVolume::open(world, plan, &members, &OpenOptions::writable()).unwrap();
    let back = ids[1];
    (Rig { array, drives: ids, log }, back)
}

/// A member that comes back is filled where the array was written while it was away, and nowhere
/// else.
#[test]
fn a_member_that_comes_back_copies_only_what_changed() {
    for (level, drives) in LEVELS {
        let bench = Bench::new(drives);
        let content = without_one(&bench, level, drives);
        let (mut rig, back) = open_beside_one(&bench, drives);
        // Slow enough to be seen under way, then as fast as it goes.
        rig.array.set_background(Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1, depth: 1 });
        rig.array.re_add_drive(back).unwrap();
        assert!(superblock(&bench, 1).features.any_of(Features::RECOVERY_BITMAP), "raid{level}");
        rig.array.set_background(OpenOptions::writable().background);
        rig.finish_background();
        let copied = rig.data_written(&bench, 1, back);
        let of_member = superblock(&bench, 1).used_bytes();
        println!("raid{level}: {copied} of {of_member} bytes were copied");
        assert!(copied > 0 && copied <= 4 * CHUNK_BYTES, "raid{level}: {copied} of {of_member} bytes");
        assert_eq!(rig.array.status().health, Health::Optimal, "raid{level}");
        assert!(rig.content() == content, "raid{level}");
        rig.array.scrub(ScrubMode::Check).unwrap();
        rig.finish_background();
        let news = rig.array.take_news();
        assert!(!news.iter().any(|news| matches!(news.event, Event::Mismatch(_))), "raid{level}: {news:?}");
        rig.idle(4 * SLEEP);
        rig.array.close().unwrap();
        for drive in 0..drives {
            assert_eq!(copy(&bench, drive).count(), 0, "raid{level}");
            let left = Features::RECOVERY_BITMAP | Features::RECOVERY_OFFSET;
            assert!(!superblock(&bench, drive).features.any_of(left), "raid{level}");
        }
        // All of it can be had from that member, too.
        let mut rig = open(&bench, &(1..drives).collect::<Vec<_>>());
        assert!(rig.content() == content, "raid{level}, by the member that came back");
    }
}

/// A rebuild by the bitmap that was cut short goes on by the bitmap.
#[test]
fn a_member_that_was_catching_up_goes_on() {
    for (level, drives) in LEVELS {
        let bench = Bench::new(drives);
        let content = without_one(&bench, level, drives);
        let (mut rig, back) = open_beside_one(&bench, drives);
        rig.array.set_background(Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1, depth: 1 });
        rig.array.re_add_drive(back).unwrap();
        rig.array.close().unwrap();
        assert!(superblock(&bench, 1).features.any_of(Features::RECOVERY_BITMAP), "raid{level}");

        let mut rig = open(&bench, &(0..drives).collect::<Vec<_>>());
        rig.finish_background();
        let copied = rig.data_written(&bench, 1, rig.drives[1]);
        assert!(copied <= 4 * CHUNK_BYTES, "raid{level}: {copied} bytes");
        assert_eq!(rig.array.status().health, Health::Optimal, "raid{level}");
        rig.array.close().unwrap();
        let mut rig = open(&bench, &(1..drives).collect::<Vec<_>>());
        assert!(rig.content() == content, "raid{level}, by the member that came back");
    }
}

/// What the bitmap does not know of is not taken for granted.
#[test]
fn a_member_that_the_bitmap_does_not_remember_is_refused() {
    let bench = Bench::new(4);
    without_one(&bench, "5", 3);
    // Drive 3 takes the place of drive 1, and leaves again: drive 1's place is free, but bits have
    // been cleared.
    let (world, plan, ids, log) = swift(&bench, &[0, 2, 3, 1]);
    let array = ArrayVolume::open(world, plan, &ids[..2], &OpenOptions::writable()).unwrap();
    let mut rig = Rig { array, drives: ids.clone(), log };
    let refused = |rig: &mut Rig, drive: DriveId| rig.array.re_add_drive(drive).unwrap_err().to_string();
    assert!(refused(&mut rig, ids[2]).contains("add it as a new drive"), "it was never a member");
    rig.array.add_drive(ids[2]).unwrap();
    rig.finish_background();
    assert!(refused(&mut rig, ids[3]).contains("member 1 has been replaced"));
    assert!(refused(&mut rig, ids[0]).contains("it is a member already"));
    rig.idle(4 * SLEEP);
    rig.array.fail_drive(ids[2]).unwrap();
    let why = refused(&mut rig, ids[3]);
    assert!(why.contains("the write-intent bitmap goes back to") && why.contains("add it as a new drive"), "{why}");
    rig.array.close().unwrap();
}

/// Its own copy may know of writes that nobody else has seen.
#[test]
fn a_member_whose_own_bitmap_cannot_be_read_is_refused() {
    let bench = Bench::new(3);
    without_one(&bench, "5", 3);
    let area = superblock(&bench, 1).bitmap_area().unwrap();
    let drive = std::fs::OpenOptions::new().write(true).open(bench.path(1)).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&drive, &[0; 4096], area.offset_bytes).unwrap();
    let (mut rig, back) = open_beside_one(&bench, 3);
    let why = rig.array.re_add_drive(back).unwrap_err().to_string();
    assert!(why.contains("write-intent bitmap") && why.contains("add it as a new drive"), "{why}");
    rig.array.close().unwrap();
}
