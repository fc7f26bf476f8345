#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use rand_xoshiro::rand_core::SeedableRng;

use super::*;

const SIZE_BYTES: u64 = 1 << 20;

fn read(content: &mut Content, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; length];
    content.read(offset, &mut bytes).unwrap();
    bytes
}

fn misbehaviour(kind: MisbehaviourKind) -> Misbehaviour {
    Misbehaviour { kind, within: 0..SIZE_BYTES, skip: 0 }
}

#[test]
fn what_was_flushed_survives_every_power_cut_and_the_rest_is_kept_sector_by_sector() {
    let (mut kept, mut lost, mut mixed) = (0, 0, 0);
    for seed in 0..100 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut content = Content::new(SIZE_BYTES);
        content.write(4000, &[1; 2000]).unwrap();
        content.flush().unwrap();
        content.write(512, &[2; 4096]).unwrap();
        content.cut_power(&mut random);
        assert_eq!(read(&mut content, 4608, 1392), [1; 1392]);
        let later = read(&mut content, 512, 4096);
        for sector in later.chunks(512) {
            let whole = sector.iter().all(|byte| *byte == 2);
            assert!(whole || !sector.contains(&2), "a sector is torn");
        }
        match later.iter().filter(|byte| **byte == 2).count() {
            0 => lost += 1,
            4096 => kept += 1,
            _ => mixed += 1,
        }
    }
    assert!(kept > 10 && lost > 10 && mixed > 10, "{kept} kept, {lost} lost, {mixed} mixed");
}

#[test]
fn a_flush_covers_what_was_acknowledged_before_it_was_started() {
    let mut lost = [0; 3];
    for seed in 0..50 {
        let mut content = Content::new(SIZE_BYTES);
        content.write(0, &[1; 512]).unwrap();
        let early = content.start_write(512, &[1; 512]).unwrap();
        let flush = content.start_flush().unwrap();
        content.finish(early).unwrap();
        content.write(1024, &[1; 512]).unwrap();
        content.finish(flush).unwrap();
        content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        for (sector, lost) in (0..).zip(&mut lost) {
            *lost += u32::from(read(&mut content, sector * 512, 512) == [0; 512]);
        }
    }
    assert_eq!(lost[0], 0);
    assert!(lost[1] > 5 && lost[2] > 5, "{lost:?}");
}

#[test]
fn older_content_never_comes_back_over_newer_durable_content() {
    for seed in 0..50 {
        let mut content = Content::new(SIZE_BYTES);
        content.write(0, &[1; 512]).unwrap();
        content.write(0, &[2; 512]).unwrap();
        content.flush().unwrap();
        content.write(0, &[3; 512]).unwrap();
        content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        assert!(matches!(read(&mut content, 0, 1)[0], 2 | 3));
    }
}

#[test]
fn the_cache_is_bounded() {
    let mut content = Content::new(4 * CACHE_BYTES);
    let bytes = vec![7; 1 << 20];
    for place in 0..CACHE_BYTES >> 19 {
        content.write(place << 20, &bytes).unwrap();
    }
    content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(1));
    assert_eq!(read(&mut content, CACHE_BYTES - 512, 512), [7; 512]);
}

#[test]
fn latent_sectors_can_be_read_once_they_are_written() {
    let mut content = Content::new(SIZE_BYTES);
    content.spoil(8192, 1024);
    assert_eq!(content.read(8000, &mut [0; 500]), Err(Fault::Io));
    assert_eq!(content.unreadable_sectors(), [8192, 8704]);
    read(&mut content, 7680, 512);
    content.write(8192, &[5; 512]).unwrap();
    assert_eq!(read(&mut content, 8192, 512), [5; 512]);
    assert_eq!(content.unreadable_sectors(), [8704]);
    content.discard(8192, 4096).unwrap();
    assert_eq!(read(&mut content, 8192, 4096), [0; 4096]);
}

#[test]
fn silent_faults_mark_what_they_damage_until_it_is_written() {
    let mut content = Content::new(SIZE_BYTES);
    content.write(0, &[1; 4096]).unwrap();
    content.flip_bit(700, 3);
    assert_eq!(read(&mut content, 700, 1), [1 ^ 8]);
    assert_eq!(content.damaged_sectors(), [512]);
    content.write(512, &[2; 512]).unwrap();
    assert_eq!(content.damaged_sectors(), [0; 0]);

    content.arm(misbehaviour(MisbehaviourKind::WriteLost));
    content.write(1024, &[3; 512]).unwrap();
    assert_eq!((read(&mut content, 1024, 512), content.damaged_sectors()), (vec![1; 512], vec![1024]));

    content.arm(misbehaviour(MisbehaviourKind::WriteMisdirected { distance: 1 << 30 }));
    content.write(1024, &[4; 512]).unwrap();
    assert_eq!(read(&mut content, SIZE_BYTES - 512, 512), [4; 512]);
    assert_eq!(content.damaged_sectors(), [1024, SIZE_BYTES - 512]);

    content.arm(misbehaviour(MisbehaviourKind::WriteTorn));
    content.write(8192, &[5; 1024]).unwrap();
    assert_eq!(content.damaged_sectors(), [1024, 8704, SIZE_BYTES - 512]);
    assert_eq!(content.take_struck().len(), 3);
}

#[test]
fn a_misbehaviour_waits_for_its_command() {
    let mut content = Content::new(SIZE_BYTES);
    let kind = MisbehaviourKind::WriteFails(Fault::NoSpace);
    content.arm(Misbehaviour { kind, within: 4096..8192, skip: 1 });
    content.write(0, &[1; 512]).unwrap();
    content.write(4096, &[1; 512]).unwrap();
    assert_eq!(content.write(4096, &[2; 1024]), Err(Fault::NoSpace));
    content.write(4096, &[2; 512]).unwrap();
    content.arm(misbehaviour(MisbehaviourKind::FlushFails(Fault::Io)));
    content.arm(misbehaviour(MisbehaviourKind::ReadFails(Fault::TimedOut)));
    assert_eq!(content.flush(), Err(Fault::Io));
    assert_eq!(content.read(0, &mut [0; 512]), Err(Fault::TimedOut));
    assert_eq!((content.flush(), content.read(0, &mut [0; 512])), (Ok(()), Ok(())));
}

#[test]
fn what_a_failed_flush_was_to_cover_is_read_and_never_durable() {
    let mut kept = 0;
    for seed in 0..64 {
        let mut content = Content::new(SIZE_BYTES);
        content.write(0, &[1; 1024]).unwrap();
        content.arm(misbehaviour(MisbehaviourKind::FlushFails(Fault::Io)));
        assert_eq!(content.flush(), Err(Fault::Io));
        content.write(512, &[2; 512]).unwrap();
        content.flush().unwrap();
        assert_eq!(read(&mut content, 0, 1024), [[1; 512], [2; 512]].concat());
        content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        kept += u32::from(read(&mut content, 0, 1) == [1]);
        assert_eq!(read(&mut content, 512, 512), [2; 512], "newer content is not overwritten by older");
    }
    assert!((1..64).contains(&kept), "it is left to chance: {kept} of 64");
}

#[test]
fn a_flush_that_is_under_way_keeps_its_word_though_another_fails() {
    for seed in 0..16 {
        let mut content = Content::new(SIZE_BYTES);
        content.write(0, &[1; 512]).unwrap();
        let flush = content.start_flush().unwrap();
        content.write(512, &[2; 512]).unwrap();
        content.arm(misbehaviour(MisbehaviourKind::FlushFails(Fault::Io)));
        assert_eq!(content.flush(), Err(Fault::Io));
        content.write(1024, &[3; 512]).unwrap();
        content.finish(flush).unwrap();
        content.flush().unwrap();
        content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        assert_eq!(read(&mut content, 0, 512), [1; 512]);
        assert_eq!(read(&mut content, 1024, 512), [3; 512]);
    }
}

#[test]
fn what_a_flush_lied_about_is_damaged_where_a_power_cut_takes_it() {
    let mut lost = 0;
    for seed in 0..64 {
        let mut content = Content::new(SIZE_BYTES);
        content.write(0, &[1; 1024]).unwrap();
        content.arm(misbehaviour(MisbehaviourKind::FlushLost));
        assert!(content.owes_a_flush(), "it will lie");
        content.flush().unwrap();
        content.write(2048, &[2; 512]).unwrap();
        assert!(content.owes_a_flush(), "it has lied");
        content.take_struck();
        content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        assert!(!content.owes_a_flush());
        let is_lost = |content: &mut Content, at| read(content, at, 512) == [0; 512];
        let gone: Vec<_> = [0, 512].into_iter().filter(|at| is_lost(&mut content, *at)).collect();
        let told: Vec<_> = content.take_struck().into_iter().flat_map(|struck| struck.damaged).collect();
        assert_eq!(told, gone.iter().map(|at| *at..*at + 512).collect::<Vec<_>>());
        assert_eq!(content.damaged_sectors(), gone);
        lost += gone.len();
    }
    assert!((1..128).contains(&lost), "it is left to chance: {lost} of 128");
}

#[test]
fn an_honest_flush_makes_good_what_another_lied_about() {
    for seed in 0..16 {
        let mut content = Content::new(SIZE_BYTES);
        content.write(0, &[1; 512]).unwrap();
        content.arm(misbehaviour(MisbehaviourKind::FlushLost));
        content.flush().unwrap();
        content.flush().unwrap();
        assert!(!content.owes_a_flush());
        content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        assert_eq!(read(&mut content, 0, 512), [1; 512]);
        assert!(content.damaged_sectors().is_empty());
    }
}

#[test]
fn a_drive_that_is_gone_forgets_what_was_under_way() {
    let mut content = Content::new(SIZE_BYTES);
    let write = content.start_write(0, &[1; 512]).unwrap();
    content.set_gone(true);
    assert_eq!(content.read(0, &mut [0; 512]), Err(Fault::Gone));
    content.set_gone(false);
    assert_eq!(content.finish(write), Err(Fault::Gone));
    assert_eq!(read(&mut content, 0, 512), [0; 512]);
}

#[test]
fn a_drive_that_keeps_nothing_reads_zeros_and_still_fails() {
    let mut content = Content::discarded(SIZE_BYTES);
    content.write(0, &[1; 512]).unwrap();
    assert_eq!(read(&mut content, 0, 512), [0; 512]);
    assert_eq!(content.write(SIZE_BYTES, &[1; 512]), Err(Fault::NoSpace));
    content.set_gone(true);
    assert_eq!(content.flush(), Err(Fault::Gone));
}

/// A drive of 64 KiB that has less.
fn fake(real_bytes: u64, repeat_bytes: Option<u64>, cache_bytes: u64) -> Content {
    let mut model = crate::find("cruzer-titanium").expect("it is in the catalogue").model.clone();
    model.size_bytes = 64 << 10;
    model.fake = Some(crate::Fake { real_bytes, repeat_bytes, cache_bytes });
    Content::of(&model)
}

fn first_byte(content: &mut Content, offset: u64) -> u8 {
    let mut byte = [0];
    content.read(offset, &mut byte).expect("it is there");
    byte[0]
}

#[test]
fn a_fake_loses_what_is_beyond_its_end_or_writes_it_elsewhere() {
    let written = |mut content: Content| {
        for (number, offset) in (1..).zip((0..64 << 10).step_by(4096)) {
            content.write(offset, &[number; 4096]).expect("a fake refuses nothing");
        }
        content.flush().expect("nor that");
        (0..64 << 10).step_by(4096).map(|offset| first_byte(&mut content, offset)).collect::<Vec<_>>()
    };
    assert_eq!(written(fake(16 << 10, None, 0)), [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(written(fake(16 << 10, None, 8 << 10)), [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15, 16]);
    let around = [13, 14, 15, 16, 13, 14, 15, 16, 13, 14, 15, 16, 13, 14, 15, 16];
    assert_eq!(written(fake(16 << 10, Some(16 << 10), 0)), around);
    let chain = [13, 14, 0, 0, 13, 14, 0, 0, 13, 14, 0, 0, 13, 14, 0, 0];
    assert_eq!(written(fake(8 << 10, Some(16 << 10), 0)), chain);
}

#[test]
fn a_part_of_a_page_of_a_fake_reads_back_out_of_its_cache() {
    let mut content = fake(16 << 10, None, 4096);
    content.write(40 << 10, &[1; 512]).expect("a fake refuses nothing");
    content.write((40 << 10) + 1024, &[2; 512]).expect("a fake refuses nothing");
    assert_eq!((first_byte(&mut content, 40 << 10), first_byte(&mut content, (40 << 10) + 1024)), (1, 2));
    content.write(0, &[3; 512]).expect("it is there");
    assert_eq!((first_byte(&mut content, 40 << 10), first_byte(&mut content, 0)), (0, 3));
}
