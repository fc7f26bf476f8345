use proptest::prelude::*;

use super::syntax::{Segment, Which};
use super::*;
use crate::{BusKind, DriveModel};

fn fleet(text: &str) -> Fleet {
    parse_fleet(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The bus of each drive.
fn buses(text: &str) -> Vec<usize> {
    fleet(text).topology.drives.iter().map(|(_, bus)| *bus).collect()
}

/// Kind and upstream of each bus.
fn tree(text: &str) -> Vec<(BusKind, Option<usize>)> {
    fleet(text).topology.buses.iter().map(|bus| (bus.kind, bus.upstream)).collect()
}

#[test]
fn drives_are_dealt_in_turn() {
    assert_eq!(buses("cruzer-titanium*6@usb2*2"), [0, 1, 0, 1, 0, 1]);
    assert_eq!(tree("cruzer-titanium*6@usb2*2"), [(BusKind::Usb2, None); 2]);
    assert_eq!(buses("cruzer-titanium*6"), [0; 6]);
    assert_eq!(fleet("rally2").topology.drives.len(), 1);
}

#[test]
fn groups_share_the_buses_that_they_name() {
    assert_eq!(buses("rally2*2@usb2,cruzer-titanium"), [0, 0, 0]);
    assert_eq!(buses("rally2*2@usb2*2,cruzer-titanium@usb2#2"), [0, 1, 1]);
    assert_eq!(buses("rally2@usb2#2,cruzer-titanium@usb2#3,rally2"), [0, 1, 2]);
}

#[test]
fn buses_hang_on_buses() {
    let eide = "wd2500jb*8@pci/ata133*4";
    assert_eq!(buses(eide), [1, 2, 3, 4, 1, 2, 3, 4]);
    assert_eq!(tree(eide)[..2], [(BusKind::Pci, None), (BusKind::Ata133, Some(0))]);
    // Two roots with two hubs each: the roots take turns first.
    let hubs = "cruzer-titanium*4@usb2*2/usb2*2";
    assert_eq!(
        tree(hubs),
        [
            (BusKind::Usb2, None),
            (BusKind::Usb2, Some(0)),
            (BusKind::Usb2, None),
            (BusKind::Usb2, Some(2)),
            (BusKind::Usb2, Some(0)),
            (BusKind::Usb2, Some(2)),
        ]
    );
    assert_eq!(buses(hubs), [1, 3, 4, 5]);
}

#[test]
fn without_a_place_drives_are_plugged_in_as_their_bus_has_it() {
    assert_eq!(buses("ssd-sata-500g*3"), [0, 1, 2]);
    assert_eq!(buses("ssd-sata-500g,ssd-sata-500g@sata6,disk-7200"), [0, 1, 2]);
    assert_eq!(buses("wd2500jb*4"), [1, 1, 2, 2]);
    assert_eq!(tree("wd2500jb*4").len(), 3);
    let parted = parse_fleet("wd2500jb,wd2500jb").map(|fleet| fleet.topology.buses.len());
    assert_eq!(parted, Ok(3));
}

#[test]
fn parameters_are_changed() {
    let fleet = fleet("cruzer-titanium:size=64M:write_rate=4MB/s*2,rally2");
    let sizes: Vec<u64> = fleet.topology.drives.iter().map(|(model, _): &(DriveModel, _)| model.size_bytes).collect();
    assert_eq!(sizes, [64 << 20, 64 << 20, 2_000_000_000]);
    assert_eq!(fleet.descriptions[1].model, fleet.topology.drives[1].0);
}

#[test]
fn a_description_can_be_a_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/drives/rally2.toml");
    assert_eq!(fleet(&format!("{path}*2")).descriptions[1], *find("rally2").expect("it is in the catalogue"));
    let error = parse_fleet("./none.toml").expect_err("there is no such file").to_string();
    assert!(error.starts_with("./none.toml: it cannot be read: "), "{error}");
}

#[test]
fn errors_point_at_the_place_and_say_the_mend() {
    let cases = [
        ("", "at character 1 of ``: here should be a drive: write a name"),
        ("rally2,", "at character 8 of `rally2,`: here should be a drive"),
        (
            "rally2*",
            "at character 8 of `rally2*`: here should be how many drives: write a number, as *6, from 1 to 1000",
        ),
        ("rally2*0", "at character 8"),
        ("rally2*99999999999", "at character 8"),
        ("rally2@usb9", "at character 8 of `rally2@usb9`: `usb9` is no bus: write one of usb2,"),
        ("rally2@usb2#0", "at character 13 of"),
        ("rally2@usb2*2*3", "at character 14 of `rally2@usb2*2*3`: `*` is not expected here: write a comma"),
        ("rally2:size", "at character 8 of `rally2:size`: `size` changes nothing: write it as size=64M"),
        ("rally2:size=64X", "rally2: `drive.size`: \"X\" is no unit for it"),
        ("rally", "no drive is called `rally`; near names are `rally2`"),
        ("rally2*600,rally2*600", "these are more than 1000 drives"),
        ("rally2@usb2*40/usb2*40", "these are more than 1000 buses"),
        (
            "wd2500jb*8@pci/ata133*2",
            "an ATA channel takes two drives, and one of `wd2500jb*8@pci/ata133*2` would have 4",
        ),
        ("r\u{e4}lly2 *2", "at character 7 of"),
    ];
    for (text, wanted) in cases {
        let message = parse_fleet(text).expect_err(text).to_string();
        assert!(message.starts_with(wanted), "{text}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

fn segments() -> impl Strategy<Value = Segment> {
    let kinds =
        prop::sample::select(vec![BusKind::Usb2, BusKind::Usb3, BusKind::Pci, BusKind::Sata6, BusKind::FastNetwork]);
    let which = prop_oneof![(1_u32..9).prop_map(Which::UpTo), (1_u32..9).prop_map(Which::Number)];
    (kinds, which).prop_map(|(kind, which)| Segment { kind, which })
}

fn all_groups() -> impl Strategy<Value = Vec<Group>> {
    let drives = prop::sample::select(vec!["rally2", "cruzer-titanium", "./drives/a-b", "x.toml"]);
    let changes = prop::collection::vec(("[a-z_.]{1,8}", "[0-9a-zA-Z/.]{1,8}"), 0..3);
    let group = (drives, changes, 1_u32..50, prop::collection::vec(segments(), 0..4));
    let group =
        group.prop_map(|(drive, changes, count, place)| Group { drive: drive.to_owned(), changes, count, place });
    prop::collection::vec(group, 1..5)
}

proptest! {
    #[test]
    fn what_is_written_is_what_was_read(wanted in all_groups()) {
        let text = wanted.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        prop_assert_eq!(groups(&text), Ok(wanted), "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z0-9\u{e4},:*@/#=. -]{0,40}") {
        if let Ok(fleet) = parse_fleet(&text) {
            prop_assert_eq!(parse_fleet(&fleet.to_string()), Ok(fleet));
        }
    }
}
