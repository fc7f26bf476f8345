//! Plans as text, and plans that the real programs carry out.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::geometry::{Level, Stripes};
use crate::make::{identify, make, program};

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
const G: u64 = 1 << 30;

/// A RAID5 of four with chunks of 64 KiB.
fn raid5(size_bytes: u64) -> Geometry {
    Geometry {
        stripes: Stripes::of(Level::Striped { parity_members: 1 }, 64 * K, 4),
        nesting: None,
        erase_unit_bytes: None,
        data_offset_bytes: Some(M),
        logical_block_bytes: 512,
        size_bytes,
    }
}

fn on_cards(members: u64, size_bytes: u64) -> Geometry {
    Geometry {
        stripes: Stripes::of(Level::Striped { parity_members: 1 }, 512 * K, members),
        nesting: None,
        erase_unit_bytes: Some(4 * M),
        data_offset_bytes: Some(128 * M),
        logical_block_bytes: 512,
        size_bytes,
    }
}

fn command(kind: Kind, geometry: &Geometry) -> String {
    plan(kind, geometry, None).unwrap().command(Path::new("X")).join(" ")
}

#[test]
fn a_raid5_is_told_to_each_that_can_be_told() {
    let geometry = raid5(8 * G);
    let expected = [
        (Kind::Ext4, "mkfs.ext4 -q -F -b 4096 -E stride=16,stripe_width=48 X"),
        (Kind::Xfs, "mkfs.xfs -q -f -s size=512 -d su=65536,sw=3 -l su=32768 X"),
        (Kind::Btrfs, "mkfs.btrfs -q -f --sectorsize 4096 --nodesize 16384 --data single --metadata dup X"),
        (Kind::F2fs, "mkfs.f2fs -q -f -w 512 -s 3 -z 1 X"),
        (Kind::Exfat, "mkfs.exfat -c 32768 -b 65536 X"),
        (Kind::Ntfs, "mkfs.ntfs -q -F -Q -s 512 -c 4096 -p 0 -H 255 -S 63 X"),
    ];
    for (kind, words) in expected {
        assert_eq!(command(kind, &geometry), words);
    }
    assert!(command(Kind::Vfat, &geometry).starts_with("mkfs.vfat -I --mbr=no -S 512 -F 32 -s 16 -R "));
}

#[test]
fn erase_units_come_before_stripes() {
    let five = on_cards(5, 64 * G);
    assert!(command(Kind::F2fs, &five).contains("-s 8 -z 1"), "{}", command(Kind::F2fs, &five));
    assert!(command(Kind::Exfat, &five).contains("-b 16777216"));
    let four = on_cards(4, 64 * G);
    assert!(command(Kind::F2fs, &four).contains("-s 6 -z 1"));
    let exfat = plan(Kind::Exfat, &four, None).unwrap();
    assert!(exfat.notes.iter().any(|note| note.contains("powers of two only")), "{:?}", exfat.notes);
    let unaligned = Geometry { data_offset_bytes: Some(M), ..four };
    let f2fs = plan(Kind::F2fs, &unaligned, None).unwrap();
    assert!(f2fs.notes[0].contains("within an erase unit of 4 MiB"), "{:?}", f2fs.notes);
}

#[test]
fn levels_without_stripes_are_told_none() {
    let geometry = Geometry { stripes: None, ..raid5(8 * G) };
    assert_eq!(command(Kind::Ext4, &geometry), "mkfs.ext4 -q -F -b 4096 X");
    assert_eq!(command(Kind::Xfs, &geometry), "mkfs.xfs -q -f -s size=512 -d noalign X");
    assert!(!command(Kind::Vfat, &geometry).contains("-R"));
    assert!(!command(Kind::Exfat, &geometry).contains("-b"));
}

#[test]
fn the_log_of_xfs_is_written_in_parts_of_a_chunk() {
    for (chunk, expected) in [(4 * K, 4 * K), (32 * K, 32 * K), (512 * K, 32 * K), (96 * K, 24 * K), (12 * K, 12 * K)] {
        let stripes = Some(Stripes { chunk_bytes: chunk, data_members: 3, has_parity: true });
        let words = command(Kind::Xfs, &Geometry { stripes, ..raid5(8 * G) });
        assert!(words.contains(&format!("-l su={expected}")), "{words}");
    }
}

#[test]
fn what_is_beyond_a_limit_is_refused_in_one_line() {
    let told = |kind, size_bytes| plan(kind, &raid5(size_bytes), None).unwrap_err().to_string();
    assert!(told(Kind::Xfs, 299 * M).starts_with("xfs needs at least 300 MiB, and the array has 299 MiB"));
    assert!(told(Kind::Vfat, 3 << 40).contains("vfat ends at 2.00 TiB, as FAT counts logical blocks in 32 bits"));
    for kind in Kind::ALL {
        let limits = kind.limits();
        assert!(plan(kind, &raid5(limits.least_bytes), None).is_ok(), "{kind}");
        assert!(plan(kind, &raid5(limits.least_bytes - 1), None).is_err(), "{kind}");
        let most = (limits.most_bytes)(512);
        assert!(plan(kind, &raid5(most), None).is_ok(), "{kind}");
        assert!(plan(kind, &raid5(most + 1), None).is_err(), "{kind}");
    }
    let large_blocks = Geometry { logical_block_bytes: 8192, ..raid5(G) };
    assert!(matches!(plan(Kind::Ext4, &large_blocks, None), Err(PlanError::Block { .. })));
    let blocks = Geometry { logical_block_bytes: 4096, ..raid5(3 << 40) };
    assert!(plan(Kind::Vfat, &blocks, None).is_ok(), "larger blocks count further");
}

#[test]
fn labels_that_cannot_be_kept_are_refused() {
    let fits = |kind, label: &str| plan(kind, &raid5(G), Some(label)).map_err(|error| error.to_string()).err();
    let longest = [(Kind::Ext4, 16), (Kind::Xfs, 12), (Kind::Btrfs, 255), (Kind::F2fs, 255), (Kind::Exfat, 11)];
    for (kind, most) in longest.into_iter().chain([(Kind::Ntfs, 32), (Kind::Vfat, 11)]) {
        assert_eq!(fits(kind, &"A".repeat(most)), None);
        let refused = fits(kind, &"A".repeat(most + 1)).expect("too long");
        assert!(refused.contains(&format!("{most} is the most")), "{refused}");
        for odd in ["", "-n", "a\nb", "\u{1b}[m"] {
            let refused = fits(kind, odd).expect("refused");
            assert!(!refused.contains(char::is_control), "{refused:?}");
        }
    }
    assert!(fits(Kind::Vfat, "pond").unwrap().contains("take `POND`"));
    assert!(fits(Kind::Vfat, "A.B").unwrap().contains("`.`"));
    assert_eq!(fits(Kind::Ext4, "gr\u{f6}\u{df}ter Teich"), None);
}

/// Where FAT's first cluster begins, as its boot sector says.
fn first_cluster_byte(path: &Path) -> u64 {
    let mut bytes = [0; 512];
    std::fs::File::open(path).unwrap().read_exact(&mut bytes).unwrap();
    let number = |at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0, |sum, &byte| sum * 256 + u64::from(byte))
    };
    let short = number(22, 2);
    let table = if short > 0 { short } else { number(36, 4) };
    let root = (number(17, 2) * 32).div_ceil(number(11, 2));
    (number(14, 2) + number(16, 1) * table + root) * number(11, 2)
}

/// The places from which each kind is made: the smallest, one that is as ragged as can be, and some
/// of each level.
fn places(kind: Kind) -> Vec<Geometry> {
    let least = kind.limits().least_bytes;
    let stripes = |parity_members, chunk, members| Stripes::of(Level::Striped { parity_members }, chunk, members);
    let mut places = vec![raid5(least), Geometry { stripes: None, ..raid5(least) }, raid5(least.max(330 * M) + 4096)];
    for (stripes, size_bytes) in [
        (stripes(0, 512 * K, 6), 700 * M),
        (stripes(2, 4 * K, 6), 600 * M),
        (stripes(1, 16 * M, 4), 640 * M),
        (stripes(1, 128 * K, 25), 1500 * M),
        (Stripes::nested(stripes(0, 64 * K, 2), stripes(1, 64 * K, 4)), 520 * M),
    ] {
        places.push(Geometry { stripes, ..raid5(size_bytes) });
    }
    places.push(on_cards(5, 2 * G));
    places.push(Geometry { logical_block_bytes: 4096, ..raid5(640 * M) });
    places
}

#[test]
fn needs_mkfs_every_plan_is_taken_and_stands_its_check() {
    let directory = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        if program(kind.mkfs(), kind.package()).is_err() {
            println!("SKIPPED: plans for {kind} need {} ({})", kind.mkfs(), kind.package());
            continue;
        }
        for geometry in places(kind) {
            let file = directory.path().join("array");
            std::fs::File::create(&file).unwrap().set_len(geometry.size_bytes).unwrap();
            let plan = plan(kind, &geometry, Some("POND")).unwrap();
            let identity = make(&plan, &file).unwrap_or_else(|error| panic!("{:?}: {error}", plan.command(&file)));
            assert_eq!((identity.kind.as_str(), identity.label.as_deref()), (kind.name(), Some("POND")));
            assert!(identity.uuid.is_some(), "{kind}");
            check(kind, &file);
            match kind {
                Kind::Vfat => check_fat(&plan, &geometry, &file),
                Kind::Ext4 => check_ext4(&geometry, &file),
                _ => {}
            }
        }
    }
}

/// Clusters begin at the best that the plan did not say was out of reach.
fn check_fat(plan: &MkfsPlan, geometry: &Geometry, file: &Path) {
    let first = first_cluster_byte(file);
    let reached = plan.arguments.iter().find(|it| it.words[0] == "-R");
    let aligned = |it: &&crate::geometry::Alignment| first.is_multiple_of(it.bytes);
    let best = geometry.alignments().iter().find(aligned).map(|it| shoal_text::format_size(it.bytes));
    match (reached, best) {
        (Some(argument), Some(best)) => assert!(argument.reason.contains(&format!("multiple of {best},")), "{plan:?}"),
        (reached, best) => assert_eq!((reached, best), (None, None), "{first}"),
    }
}

fn check_ext4(geometry: &Geometry, file: &Path) {
    let output = Command::new(program("dumpe2fs", "e2fsprogs").unwrap()).arg("-h").arg(file).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let number = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    assert_eq!(number("RAID stride:"), geometry.stripes.map(|it| it.chunk_bytes / 4096));
    assert_eq!(number("RAID stripe width:"), geometry.stripes.map(|it| it.width_bytes() / 4096));
}

fn check(kind: Kind, file: &Path) {
    let [name, options @ ..] = kind.check() else { panic!("a check has a program") };
    let Ok(path) = program(name, kind.package()) else { return };
    let output = Command::new(path).args(options).arg(file).output().unwrap();
    assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn needs_mkfs_what_was_there_before_is_gone_and_nothing_else_is_found() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(400 * M).unwrap();
    for kind in [Kind::Btrfs, Kind::Ext4, Kind::Xfs, Kind::F2fs, Kind::Vfat, Kind::Ntfs, Kind::Exfat, Kind::Ext4] {
        if program(kind.mkfs(), kind.package()).is_err() {
            println!("SKIPPED: what {kind} leaves needs {} ({})", kind.mkfs(), kind.package());
            continue;
        }
        make(&plan(kind, &raid5(400 * M), None).unwrap(), file.path()).unwrap();
        let found = shoal_drive::survey(file.path()).unwrap().findings;
        assert_eq!(found.len(), 1, "{kind}: {found:?}");
        assert_eq!(identify(file.path()).unwrap().unwrap().kind, kind.name());
    }
}
