//! mdadm's superblocks of every minor version, with and without bitmap and PPL: what is planned for
//! the same request is the same, byte by byte.
//!
//! `tests/fixtures/README.md` says how they were made.
use std::path::Path;

use shoal_array::{Level, ParityLayout, Raid0Layout, Raid10Layout};
use shoal_md::{
    BitmapHeader, ConsistencyPolicy, CreateRequest, Creation, MinorVersion, NewMember, SUPERBLOCK_BYTES, Superblock,
    Unverified, plan_creation,
};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const RESYNC: ConsistencyPolicy = ConsistencyPolicy::Resync;

fn bitmap(chunk_bytes: Option<u64>) -> ConsistencyPolicy {
    ConsistencyPolicy::Bitmap { chunk_bytes }
}

/// Files of one minor version, without its prefix, with what was asked for.
struct Golden {
    file: &'static str,
    sizes: &'static [u64],
    level: Level,
    chunk_bytes: Option<u32>,
    consistency: ConsistencyPolicy,
}

const SMALL: &[u64] = &[32 * MIB, 36 * MIB, 44 * MIB, 32 * MIB];
const LARGE: &[u64] = &[9 * GIB, 210 * GIB, 230 * GIB];
const LARGEST: &[u64] = &[210 * GIB, 230 * GIB];

fn goldens() -> Vec<Golden> {
    let raid5 = Level::Raid5(ParityLayout::LeftSymmetric);
    let raid10 = Level::Raid10(Raid10Layout { near: 2, far: 1, offset: false, far_sets: false });
    let raid6 = Level::Raid6(ParityLayout::LeftSymmetric);
    let raid0 = Level::Raid0(Raid0Layout::Original);
    let golden = |file, sizes, level, chunk_bytes, consistency| Golden { file, sizes, level, chunk_bytes, consistency };
    vec![
        golden("raid0", SMALL, raid0, None, RESYNC),
        golden("plain", SMALL, raid6, None, RESYNC),
        golden("bitmap", SMALL, raid5, None, bitmap(Some(64 << 10))),
        golden("ppl", SMALL, raid5, None, ConsistencyPolicy::Ppl),
        golden("raid1", SMALL, Level::Raid1, None, bitmap(None)),
        golden("raid10", SMALL, raid10, Some(64 << 10), bitmap(Some(16 << 10))),
        golden("large-raid1", LARGEST, Level::Raid1, None, bitmap(None)),
        golden("large-fine", LARGEST, Level::Raid1, None, bitmap(Some(1 << 20))),
        golden("large-plain", LARGE, raid5, None, RESYNC),
        golden("large-ppl", LARGE, raid5, None, ConsistencyPolicy::Ppl),
    ]
}

fn read(golden: &Golden, minor: MinorVersion) -> Option<Vec<(Superblock, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let bytes = std::fs::read(folder.join(format!("v1{}-{}.superblocks", minor.number(), golden.file))).ok()?;
    let areas = bytes.chunks(SUPERBLOCK_BYTES).zip(golden.sizes).map(|(area, size)| {
        let superblock = Unverified::parse_and_verify(area.try_into().unwrap(), minor, *size).unwrap();
        (superblock, area.to_vec())
    });
    Some(areas.collect())
}

fn plan_like(golden: &Golden, found: &[(Superblock, Vec<u8>)], minor: MinorVersion) -> Creation {
    let first = &found[0].0;
    let member = |((own, _), size_bytes): (&(Superblock, Vec<u8>), &u64)| NewMember {
        drive: format!("drive{}", own.dev_number),
        size_bytes: *size_bytes,
        uuid: own.device_uuid,
    };
    let request = CreateRequest {
        minor,
        level: golden.level,
        chunk_bytes: golden.chunk_bytes,
        members: found.iter().zip(golden.sizes).map(member).collect(),
        spares: Vec::new(),
        name: first.name().split_once(':').unwrap().1.to_owned(),
        homehost: Some("lab".to_owned()),
        array_uuid: first.array_uuid,
        creation_time: first.creation_time,
        clean: true,
        consistency: golden.consistency,
    };
    plan_creation(&request).unwrap()
}

#[test]
fn arrays_of_every_minor_version_are_made_byte_by_byte() {
    let mut compared = 0;
    for minor in MinorVersion::ALL {
        for golden in goldens() {
            let Some(found) = read(&golden, minor) else { continue };
            let made = plan_like(&golden, &found, minor);
            assert_eq!(made.superblocks.len(), found.len());
            for (own, (_, area)) in made.superblocks.iter().zip(&found) {
                let bytes = own.encode();
                let differing: Vec<_> = (0..SUPERBLOCK_BYTES).filter(|&byte| bytes[byte] != area[byte]).collect();
                assert!(differing.is_empty(), "{}, 1.{}: bytes {differing:?}", golden.file, minor.number());
            }
            check_areas(&made, golden.consistency, golden.file);
            compared += found.len();
        }
    }
    assert_eq!(compared, 77);
}

/// What the policy needs has a place on every member, the same from the superblock on.
fn check_areas(made: &Creation, consistency: ConsistencyPolicy, file: &str) {
    let has_bitmap = matches!(consistency, ConsistencyPolicy::Bitmap { .. });
    assert_eq!(made.bitmap.is_some(), has_bitmap, "{file}");
    for own in &made.superblocks {
        assert_eq!(own.bitmap_area().is_some(), has_bitmap, "{file}");
        assert_eq!(own.ppl_area().map(|area| area.size_bytes), (consistency == ConsistencyPolicy::Ppl).then_some(MIB));
        assert_eq!(own.bad_block_log_area().map(|area| area.size_bytes), Some(4096), "{file}");
        if let (Some(header), Some(area)) = (&made.bitmap, own.bitmap_area()) {
            let bytes = 256 + header.bits().div_ceil(8);
            assert!(bytes <= area.size_bytes, "{file}: {bytes} in {}", area.size_bytes);
        }
    }
}

#[test]
fn a_bitmap_counts_what_a_resync_goes_over() {
    let header = |level, chunk_bytes: Option<u32>, bitmap_chunk| -> BitmapHeader {
        let request = CreateRequest {
            minor: MinorVersion::Start4K,
            level,
            chunk_bytes,
            members: (0..3)
                .map(|number| NewMember {
                    drive: format!("drive{number}"),
                    size_bytes: 32 * MIB,
                    uuid: shoal_md::Uuid([number; 16]),
                })
                .collect(),
            spares: Vec::new(),
            name: "lab".to_owned(),
            homehost: None,
            array_uuid: shoal_md::Uuid([9; 16]),
            creation_time: shoal_md::Timestamp::from_seconds(1),
            clean: true,
            consistency: bitmap(bitmap_chunk),
        };
        plan_creation(&request).unwrap().bitmap.unwrap()
    };
    let raid10 = Level::Raid10(Raid10Layout { near: 2, far: 1, offset: false, far_sets: false });
    assert_eq!(header(Level::Raid1, None, None).sync_sectors, 31 * MIB / 512);
    assert_eq!(header(raid10, Some(64 << 10), None).sync_sectors, 31 * MIB * 3 / 2 / 512);
    assert_eq!(header(raid10, Some(64 << 10), None).chunk_bytes, 64 << 20);
    assert_eq!(header(raid10, Some(64 << 10), Some(16 << 10)).chunk_bytes, 16 << 10);
}
