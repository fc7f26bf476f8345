use proptest::prelude::*;

use super::*;

/// 1 GiB.
const DRIVE_BYTES: u64 = 1 << 30;

fn sample() -> Superblock {
    let mut superblock = Superblock::blank(128);
    superblock.array_uuid = Uuid([0xa5; 16]);
    superblock.device_uuid = Uuid([0x5a; 16]);
    superblock.name_bytes[..8].copy_from_slice(b"host:lab");
    superblock.level_number = 5;
    superblock.layout_number = 2;
    superblock.size_sectors = 2_093_056;
    superblock.chunk_sectors = 1024;
    superblock.raid_devices = 3;
    superblock.data_offset_sectors = 4096;
    superblock.data_size_sectors = 2_093_056;
    superblock.super_offset_sectors = 8;
    superblock.dev_number = 1;
    superblock.bad_block_log = BadBlockLog { shift: 0, size_sectors: 8, offset_sectors: 16 };
    superblock.events = 0x0102_0304_0506_0708;
    superblock.resync_offset_sectors = Superblock::CLEAN;
    for number in 0..3_u16 {
        assert!(superblock.set_member_use(u32::from(number), MemberUse::Active(Role(number))));
    }
    superblock
}

fn read(bytes: &[u8; SUPERBLOCK_BYTES]) -> Result<Superblock, SuperblockError> {
    Unverified::parse_and_verify(bytes, MinorVersion::Start4K, DRIVE_BYTES)
}

/// The sample's bytes with some replaced and the checksum made right again.
fn with_bytes(place: usize, replacement: &[u8]) -> Box<[u8; SUPERBLOCK_BYTES]> {
    let mut bytes = sample().encode();
    bytes[place..place + replacement.len()].copy_from_slice(replacement);
    sign(&mut bytes);
    bytes
}

fn sign(bytes: &mut [u8; SUPERBLOCK_BYTES]) {
    let roles = u32::read(&bytes[MAX_DEV_PLACE..MAX_DEV_PLACE + 4]) as usize;
    if roles <= MAX_DEV_LIMIT {
        let sum = checksum(bytes, roles);
        sum.write(&mut bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]);
    }
}

#[test]
fn fields_lie_where_the_format_says() {
    let bytes = sample().encode();
    assert_eq!(bytes[..8], [0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0]);
    assert_eq!(bytes[16..32], [0xa5; 16]);
    assert_eq!(bytes[32..41], *b"host:lab\0");
    assert_eq!(bytes[72..80], [5, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(bytes[80..88], 2_093_056_u64.to_le_bytes());
    assert_eq!(bytes[88..96], [0, 4, 0, 0, 3, 0, 0, 0]);
    assert_eq!(bytes[128..136], 4096_u64.to_le_bytes());
    assert_eq!(bytes[144..152], 8_u64.to_le_bytes());
    assert_eq!(bytes[160..164], [1, 0, 0, 0]);
    assert_eq!(bytes[168..184], [0x5a; 16]);
    assert_eq!(bytes[184..192], [0, 0, 8, 0, 16, 0, 0, 0]);
    assert_eq!(bytes[200..208], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes[208..216], [0xff; 8]);
    assert_eq!(bytes[220..224], [128, 0, 0, 0]);
    assert_eq!(bytes[256..264], [0, 0, 1, 0, 2, 0, 0xff, 0xff]);
    assert_eq!(bytes[512..], [0; SUPERBLOCK_BYTES - 512]);
    assert_eq!(sample().written_bytes(), 512);
}

#[test]
fn the_checksum_is_a_sum_of_words_folded_once() {
    let mut bytes = [0; SUPERBLOCK_BYTES];
    bytes[0..4].copy_from_slice(&[0xff; 4]);
    bytes[4..8].copy_from_slice(&[0xff; 4]);
    // 2 * 0xffff_ffff = 0x1_ffff_fffe: low half plus high half.
    assert_eq!(checksum(&bytes, 0), 0xffff_ffff);
    bytes[8] = 1;
    assert_eq!(checksum(&bytes, 0), 0, "the fold itself may overflow");
    bytes[CHECKSUM_PLACE] = 77;
    assert_eq!(checksum(&bytes, 0), 0, "its own place does not count");
    bytes[256..258].copy_from_slice(&[0x34, 0x12]);
    assert_eq!(checksum(&bytes, 1), 0x1235, "an odd number of roles ends in half a word");
    assert_eq!(checksum(&bytes, 0), 0, "nothing behind the roles counts");
}

#[test]
fn any_changed_byte_is_noticed() {
    let bytes = sample().encode();
    assert_eq!(read(&bytes), Ok(sample()));
    for place in 0..512 {
        for change in 1..=255_u8 {
            let mut changed = bytes.clone();
            changed[place] ^= change;
            assert!(read(&changed).is_err(), "byte {place} xor {change:#x}");
        }
    }
    let mut changed = bytes.clone();
    changed[512] ^= 1;
    let kept = read(&changed).unwrap();
    assert_eq!(kept.encode(), changed, "what lies behind the roles is kept");
}

#[test]
fn what_is_wrong_is_named() {
    use SuperblockError as E;
    let unsigned = |place: usize, value: u32| {
        let mut bytes = sample().encode();
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    assert_eq!(read(&unsigned(0, 0)), Err(E::NoMagic));
    assert_eq!(read(&unsigned(4, 2)), Err(E::MajorVersion { major: 2 }));
    assert_eq!(read(&unsigned(220, 1921)), Err(E::MaxDev { max_dev: 1921 }));
    assert_eq!(read(&unsigned(220, u32::MAX)), Err(E::MaxDev { max_dev: u32::MAX }));
    assert!(matches!(read(&unsigned(216, 0)), Err(E::Checksum { stored: 0, .. })));
    assert_eq!(read(&with_bytes(12, &[1])), Err(E::Padding { value: 1 }));
    assert_eq!(read(&with_bytes(144, &[0])), Err(E::Misplaced { found: 8, written_for: 0 }));
    assert_eq!(read(&with_bytes(9, &[0x60])), Err(E::UnknownFeatures { bits: 0x6000 }));
    assert_eq!(read(&with_bytes(72, &[7])), Err(E::Level(LevelError::UnknownLevel { level: 7 })));
    assert_eq!(read(&with_bytes(76, &[6])), Err(E::Level(LevelError::UnknownLayout { level: 5, layout: 6 })));
    let tiny = Unverified::parse_and_verify(&sample().encode(), MinorVersion::Start4K, 4096);
    assert_eq!(tiny, Err(E::DriveTooSmall { drive: 8 }));
}

#[test]
fn data_areas_beyond_the_drive_are_refused() {
    for (place, value) in [(128, 8_u64), (128, u64::MAX), (136, 9), (136, u64::MAX), (136, 2_093_057), (80, 2_093_057)]
    {
        let refused = read(&with_bytes(place, &value.to_le_bytes()));
        assert!(matches!(refused, Err(SuperblockError::DataArea { .. })), "{value} at {place}: {refused:?}");
    }
    let cut = Unverified::parse_and_verify(&sample().encode(), MinorVersion::Start4K, DRIVE_BYTES - 512);
    assert!(matches!(cut, Err(SuperblockError::DataArea { drive: 2_097_151, .. })), "{cut:?}");
}

#[test]
fn numbers_beyond_the_table_are_spares() {
    let mut superblock = sample();
    assert_eq!(superblock.member_use(2), MemberUse::Active(Role(2)));
    assert_eq!(superblock.member_use(128), MemberUse::Spare);
    assert_eq!(superblock.member_use(u32::MAX), MemberUse::Spare);
    assert!(superblock.set_member_use(2, MemberUse::Active(Role(3))));
    assert_eq!(superblock.member_use(2), MemberUse::Unknown(3), "there are three members only");
    assert!(superblock.set_member_use(200, MemberUse::Journal));
    assert_eq!((superblock.max_dev(), superblock.member_use(200)), (201, MemberUse::Journal));
    assert_eq!(read(&superblock.encode()), Ok(superblock.clone()));
    assert!(superblock.set_member_use(1919, MemberUse::Faulty));
    assert_eq!(read(&superblock.encode()), Ok(superblock.clone()));
    assert!(!superblock.set_member_use(1920, MemberUse::Faulty), "there is no room for more");
}

#[test]
fn newer_fields_are_kept() {
    let bytes = with_bytes(224, &4096_u32.to_le_bytes());
    let superblock = read(&bytes).unwrap();
    assert_eq!(superblock.logical_block_bytes, 4096);
    assert_eq!(superblock.encode(), bytes);
}

/// Bytes that start as a superblock does, with everything else at random and a right checksum.
fn superblock_bytes() -> impl Strategy<Value = Box<[u8; SUPERBLOCK_BYTES]>> {
    (proptest::collection::vec(any::<u8>(), SUPERBLOCK_BYTES), 0..=MAX_DEV_LIMIT as u32).prop_map(
        |(random, max_dev)| {
            let mut bytes: Box<[u8; SUPERBLOCK_BYTES]> = random.into_boxed_slice().try_into().unwrap();
            MAGIC.write(&mut bytes[..4]);
            MAJOR_VERSION.write(&mut bytes[4..8]);
            bytes[ZERO_PLACE..ZERO_PLACE + 4].fill(0);
            max_dev.write(&mut bytes[MAX_DEV_PLACE..MAX_DEV_PLACE + 4]);
            sign(&mut bytes);
            bytes
        },
    )
}

proptest! {
    #[test]
    fn every_byte_survives_reading_and_writing(bytes in superblock_bytes()) {
        let read = Unverified::parse(&bytes).unwrap();
        prop_assert_eq!(read.stored_checksum, read.computed_checksum);
        let written = read.superblock.encode();
        prop_assert_eq!(&written, &bytes);
        prop_assert_eq!(Unverified::parse(&written).unwrap().superblock, read.superblock);
    }

    #[test]
    fn no_bytes_make_it_panic(
        mut random in proptest::collection::vec(any::<u8>(), SUPERBLOCK_BYTES),
        like_a_superblock in any::<bool>(),
        drive_bytes in any::<u64>(),
    ) {
        if like_a_superblock {
            MAGIC.write(&mut random[..4]);
            MAJOR_VERSION.write(&mut random[4..8]);
        }
        let bytes: Box<[u8; SUPERBLOCK_BYTES]> = random.into_boxed_slice().try_into().unwrap();
        for minor in MinorVersion::ALL {
            prop_assert!(Unverified::parse_and_verify(&bytes, minor, drive_bytes).is_err());
        }
    }
}
