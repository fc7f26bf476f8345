use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use shoal_drive::Access;
use shoal_inventory::{join_for, open_drives};
use shoal_md::BadBlockList;
use shoal_volume::{
    ArrayLevel, ArrayVolume, ConsistencyPolicy, CreateOptions, Features, MinorVersion, OpenOptions, Parity,
};

use super::*;
use crate::copy::{Copied, copy};
use crate::plan::plans;
use crate::search::Search;

const DRIVE_BYTES: u64 = 3 << 20;

/// Level, layout and number of drives.
const SHAPES: [(&str, Option<&str>, usize); 12] = [
    ("linear", None, 3),
    ("0", None, 2),
    ("1", None, 2),
    ("4", None, 3),
    ("5", None, 3),
    ("5", Some("right-asymmetric"), 4),
    ("6", None, 4),
    ("10", Some("n2"), 4),
    ("10", Some("f2"), 4),
    ("10", Some("o2"), 3),
    ("50", None, 6),
    ("51", None, 6),
];

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

fn make(directory: &Path, level: ArrayLevel, drives: usize) -> Vec<PathBuf> {
    let paths: Vec<_> = (0..drives).map(|number| directory.join(format!("d{number}"))).collect();
    paths.iter().for_each(|path| File::create(path).unwrap().set_len(DRIVE_BYTES).unwrap());
    let opened = join_for(None, open_drives(&paths, Access::Write).unwrap(), (2, 64 << 10)).unwrap();
    let create = CreateOptions {
        level,
        chunk_bytes: 16 << 10,
        spare_count: 0,
        name: "pond".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    };
    let options = OpenOptions::writable();
    let array = ArrayVolume::create(opened.world, opened.plan, &opened.drives, &create, &options).unwrap();
    array.close().unwrap();
    paths
}

/// Does something to a member, or nothing.
fn damage(path: &Path, chance: &mut Chance) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    match chance.below(8) {
        0 => std::fs::remove_file(path).unwrap(),
        1 | 2 => file.set_len(DRIVE_BYTES - chance.below(DRIVE_BYTES / 2)).unwrap(),
        3 | 4 => std::fs::write(path.with_extension("map"), map_with_holes(chance)).unwrap(),
        5 => fill_partly(path, &file, chance),
        6 => list_bad_blocks(path, &file, chance),
        _ => {}
    }
}

fn map_with_holes(chance: &mut Chance) -> String {
    let hole = |_| {
        let (start, bytes) = (DRIVE_BYTES / 4 + chance.below(DRIVE_BYTES / 2), 1 + chance.below(40_000));
        format!("{start:#x} {bytes:#x} -\n")
    };
    "# Mapfile. Created by GNU ddrescue\n0x0 + 1\n".to_owned() + &(0..3).map(hole).collect::<String>()
}

/// The member's superblock says that it is being rebuilt.
fn fill_partly(path: &Path, file: &File, chance: &mut Chance) {
    let mut superblock = Search::of(&[path.to_owned()]).unwrap().found.remove(0).superblock;
    superblock.features = superblock.features.with(Features::RECOVERY_OFFSET, true);
    superblock.recovery_offset_sectors = chance.below(superblock.data_size_sectors / 8) * 8;
    file.write_all_at(superblock.encode().as_slice(), superblock.super_offset_bytes()).unwrap();
}

/// The member's log lists a range as bad.
fn list_bad_blocks(path: &Path, file: &File, chance: &mut Chance) {
    let mut superblock = Search::of(&[path.to_owned()]).unwrap().found.remove(0).superblock;
    let Some(area) = superblock.bad_block_log_area() else { return };
    superblock.features = superblock.features.with(Features::BAD_BLOCKS, true);
    let start = chance.below(superblock.data_size_sectors / 2) * 512;
    let mut list = BadBlockList::default();
    list.set_within_data(&superblock, &[start..start + 512 + chance.below(60) * 512]);
    file.write_all_at(&list.encode(superblock.bad_block_log).unwrap(), area.offset_bytes).unwrap();
    file.write_all_at(superblock.encode().as_slice(), superblock.super_offset_bytes()).unwrap();
}

/// What is known beforehand is what reading all, down to single blocks, comes to: not less or more.
#[test]
fn what_cannot_be_read_is_known_beforehand() {
    let reader = Reader { io_engine: None, parity: Parity::best() };
    let (mut with_losses, mut with_all) = (0, 0);
    for (level, layout, drives) in SHAPES {
        let shape = ArrayLevel::parse(level, layout, 2).unwrap();
        for seed in 1..=3 {
            let directory = tempfile::tempdir().unwrap();
            let mut chance = Chance(seed * 0x9e37_79b9 + drives as u64);
            make(directory.path(), shape, drives).iter().for_each(|path| damage(path, &mut chance));
            let found = Search::of(&[directory.path().to_owned()]).unwrap().found;
            for plan in plans(&reader, found, None).unwrap() {
                let what = format!("{level} {layout:?}, seed {seed}");
                if plan.groups.iter().any(|group| group.proposal.is_err()) {
                    continue;
                }
                let known = unreadable(&plan, &reader).unwrap_or_else(|error| panic!("{what}: {error}"));
                let Ok(mut array) = plan.open(&reader).unwrap() else {
                    assert_eq!(known, None, "{what}");
                    continue;
                };
                // Reads of single blocks take their time: one seed has them.
                if seed > 1 {
                    array.world_mut().leave_reads();
                }
                let size_bytes = array.size_bytes();
                let go_on = ControlFlow::Continue(());
                let copied = copy(&mut array, &[], &mut |_, _| go_on, &mut |_| go_on).unwrap();
                let Copied::All { lost } = copied else { panic!("{what}: nobody stopped it") };
                let counter = if lost.is_empty() { &mut with_all } else { &mut with_losses };
                *counter += 1;
                assert_eq!(known, Some(Content { size_bytes, unreadable: lost }), "{what}");
            }
        }
    }
    assert!(with_losses > 10 && with_all > 3, "{with_losses} with losses, {with_all} without: the test shows little");
}

#[test]
fn pieces_end_at_multiples_and_at_edges() {
    let pieces = Pieces { next: 0, size_bytes: 100, unit: 32, edges: BTreeSet::from([0, 10, 64, 200]) };
    assert_eq!(pieces.collect::<Vec<_>>(), [0..10, 10..32, 32..64, 64..96, 96..100]);
    let mirror = Pieces { next: 0, size_bytes: 100, unit: u64::MAX, edges: BTreeSet::new() };
    assert_eq!(mirror.collect::<Vec<_>>(), [0..100]);
}
