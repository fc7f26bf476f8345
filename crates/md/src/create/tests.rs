use shoal_array::{ParityLayout, Raid0Layout, Raid10Layout};

use super::*;

const MIB: u64 = 1 << 20;
const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);

fn drives(sizes: &[u64]) -> Vec<NewMember> {
    let drive = |(number, size_bytes): (u128, &u64)| NewMember {
        drive: format!("drive{number}"),
        size_bytes: *size_bytes,
        uuid: Uuid(number.to_le_bytes()),
    };
    (0..).zip(sizes).map(drive).collect()
}

fn request(level: Level, sizes: &[u64]) -> CreateRequest {
    CreateRequest {
        minor: MinorVersion::Start4K,
        level,
        chunk_bytes: None,
        members: drives(sizes),
        spares: Vec::new(),
        name: "lab".to_owned(),
        homehost: Some("host".to_owned()),
        array_uuid: Uuid([0xee; 16]),
        creation_time: Timestamp::from_seconds(1_700_000_000),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    }
}

fn refusal(request: &CreateRequest) -> String {
    plan_creation(request).unwrap_err().to_string()
}

#[test]
fn parity_arrays_use_what_the_smallest_drive_has() {
    let mut request = request(RAID5, &[64 * MIB, 65 * MIB, 80 * MIB]);
    request.spares = drives(&[63 * MIB]);
    let creation = plan_creation(&request).unwrap();
    assert_eq!(creation.shape.member_bytes, [61 * MIB; 3], "the spare counts: 63 MiB less 2 MiB before the data");
    assert_eq!(creation.shape.chunk_bytes, 512 << 10);
    let superblocks = &creation.superblocks;
    assert_eq!(superblocks.len(), 4);
    let data_sizes: Vec<u64> = superblocks.iter().map(|superblock| superblock.data_size_sectors * 512 / MIB).collect();
    assert_eq!(data_sizes, [62, 63, 78, 61]);
    let uses: Vec<MemberUse> = superblocks.iter().map(Superblock::own_use).collect();
    let active = |role| MemberUse::Active(Role(role));
    assert_eq!(uses, [active(0), active(1), active(2), MemberUse::Spare]);
    assert_eq!(superblocks[3].dev_number, 3);
    for superblock in superblocks {
        assert_eq!((superblock.events, superblock.is_clean(), superblock.max_dev()), (0, true, 128));
        assert_eq!(superblock.name(), "host:lab");
        assert_eq!(superblock.features, Features(0));
    }
}

#[test]
fn an_array_to_be_resynced_starts_at_0() {
    let mut request = request(RAID5, &[64 * MIB; 3]);
    request.clean = false;
    assert_eq!(plan_creation(&request).unwrap().superblocks[0].resync_offset_sectors, 0);
    request.level = Level::Raid0(Raid0Layout::Original);
    assert!(plan_creation(&request).unwrap().superblocks[0].is_clean(), "there is nothing to resync");
}

#[test]
fn raid0_records_its_layout_when_drives_differ() {
    let level = Level::Raid0(Raid0Layout::Original);
    for (sizes, recorded) in [
        ([64 * MIB, 64 * MIB], false),
        ([64 * MIB, 64 * MIB + 512], false),
        ([64 * MIB, 64 * MIB + 1024], true),
        ([64 * MIB, 80 * MIB], true),
    ] {
        let creation = plan_creation(&request(level, &sizes)).unwrap();
        for superblock in &creation.superblocks {
            assert_eq!(superblock.features.any_of(Features::RAID0_LAYOUT), recorded, "{sizes:?}");
            assert_eq!((superblock.layout_number, superblock.size_sectors), (1, 0));
        }
        assert_eq!(creation.shape.member_bytes, sizes.map(|size| size - 2 * MIB));
    }
}

#[test]
fn raid1_is_rounded_to_64_kib_and_has_no_chunk() {
    let creation = plan_creation(&request(Level::Raid1, &[64 * MIB + 512 * 127; 2])).unwrap();
    assert_eq!(creation.shape, Shape { level: Level::Raid1, chunk_bytes: 0, member_bytes: vec![63 * MIB; 2] });
    let mut with_chunk = request(Level::Raid1, &[64 * MIB; 2]);
    with_chunk.chunk_bytes = Some(64 << 10);
    assert_eq!(refusal(&with_chunk), "raid1 has no chunk: leave the chunk out");
}

#[test]
fn large_arrays_have_larger_tables() {
    for (members, max_dev) in [(128, 128), (129, 384), (384, 384), (385, 640)] {
        let creation = plan_creation(&request(RAID5, &vec![64 * MIB; members])).unwrap();
        assert_eq!(creation.superblocks[0].max_dev(), max_dev, "{members} members");
        assert_eq!(creation.superblocks[0].written_bytes() % 512, 0);
    }
}

#[test]
fn too_few_or_too_many_members_are_refused() {
    for (level, members) in [
        (RAID5, 1),
        (Level::Raid4, 1),
        (Level::Raid6(ParityLayout::LeftSymmetric), 3),
        (Level::Raid6(ParityLayout::LeftSymmetric), 257),
        (Level::Raid10(Raid10Layout { near: 3, far: 1, offset: false, far_sets: false }), 2),
        (Level::Raid1, 0),
    ] {
        let message = refusal(&request(level, &vec![64 * MIB; members]));
        assert!(message.contains(&level.to_string()) && message.contains(&members.to_string()), "{message}");
    }
    let message = refusal(&request(Level::Raid1, &vec![64 * MIB; 1921]));
    assert!(message.contains("1921") && message.contains("1920"), "{message}");
}

#[test]
fn bad_chunks_sizes_names_and_layouts_are_refused() {
    for chunk_bytes in [0, 512, 2048, 5000, 96 << 10] {
        let mut request = request(RAID5, &[64 * MIB; 3]);
        request.chunk_bytes = Some(chunk_bytes);
        assert!(refusal(&request).contains(&format!("chunk of {chunk_bytes} bytes")));
    }
    let message = refusal(&request(RAID5, &[64 * MIB, MIB, 64 * MIB]));
    assert_eq!(
        message,
        "drive1 is too small: it has 1 MiB, and 2.50 MiB are needed, 1.50 MiB more: give a larger drive"
    );
    assert!(refusal(&request(RAID5, &[0; 3])).contains("drive0 is too small"));
    let mut long = request(RAID5, &[64 * MIB; 3]);
    long.name = "n".repeat(32);
    assert!(refusal(&long).contains("at most 31 bytes"));
    long.name = "two\nlines".to_owned();
    assert!(refusal(&long).contains("control character"));
    let layout = Level::Raid5(ParityLayout::DdfNRestart);
    assert!(refusal(&request(layout, &[64 * MIB; 4])).contains("layout"));
    let mut spare = request(Level::Linear, &[64 * MIB; 2]);
    spare.spares = drives(&[64 * MIB]);
    assert!(refusal(&spare).contains("linear cannot use spares"));
}

#[test]
fn the_host_is_named_where_it_fits() {
    for (name, homehost, expected) in [
        ("lab", Some("host"), "host:lab"),
        ("lab", None, "lab"),
        ("other:lab", Some("host"), "other:lab"),
        ("a-name-of-twenty-six-bytes", Some("host"), "host:a-name-of-twenty-six-bytes"),
        ("a-name-of-twenty-seven-byte", Some("host"), "a-name-of-twenty-seven-byte"),
    ] {
        let mut request = request(RAID5, &[64 * MIB; 3]);
        request.name = name.to_owned();
        request.homehost = homehost.map(str::to_owned);
        assert_eq!(plan_creation(&request).unwrap().superblocks[0].name(), expected);
    }
}
