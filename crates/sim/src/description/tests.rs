use proptest::prelude::*;

use super::*;
use crate::{Medium, find};

const CRUZER: &str = include_str!("../../drives/cruzer-titanium.toml");

/// The message for a text in which `old` became `new`.
fn refusal(old: &str, new: &str) -> String {
    assert!(CRUZER.contains(old), "{old}");
    parse_description(&CRUZER.replacen(old, new, 1)).expect_err(new).to_string()
}

#[test]
fn a_description_is_a_model_and_facts_with_their_sources() {
    let cruzer = parse_description(CRUZER).expect("it is in the catalogue");
    let Medium::Flash(flash) = &cruzer.model.medium else { panic!("a stick is flash") };
    assert_eq!(flash.bytes_per_s.read, 33_332_000);
    assert_eq!(cruzer.model.command_ns.read, 375_000);
    assert_eq!(cruzer.facts.price, Some(Price { usd_cents: 2000, date: "2008".to_owned() }));
    assert_eq!(cruzer.facts.power.active_mw, Some(750));
    assert_eq!(cruzer.origins["flash.read_rate"].status, Status::Solved);
}

#[test]
fn what_is_wrong_is_told_in_one_line_with_its_place_and_its_mend() {
    let rate = "read_rate = { value = 33.332, unit = \"MB/s\"";
    let cases = [
        (rate, "read_rate = { value = 33.332, unit = \"MiB\"", "`flash.read_rate`: \"MiB\" is no unit for it"),
        (rate, "read_rate = { value = -1, unit = \"MB/s\"", "`flash.read_rate`: -1 MB/s is out of range"),
        (rate, "read_rate = { value = nan, unit = \"MB/s\"", "`flash.read_rate`: NaN MB/s is out of range"),
        (
            rate,
            "read_rate = { value = 0, unit = \"MB/s\"",
            "`flash.read_rate`: 0 MB/s is no sensible value: from 0.001",
        ),
        (rate, "read_rate = { value = \"fast\", unit = \"MB/s\"", "`flash.read_rate`: a string is no number"),
        (rate, "read_rate = { value = 33.332", "`flash.read_rate`: it has no unit: add unit = one of \"MB/s\""),
        (rate, "read_rat = { value = 33.332, unit = \"MB/s\"", "`flash.read_rate` is missing"),
        ("status = \"solved\"", "status = \"guess\"", "`flash.read_rate`: unknown variant `guess`"),
        ("status = \"solved\"", "stat = \"solved\"", "`flash.read_rate`: unknown field `stat`"),
        ("date = \"2008\", ", "", "`facts.price`: it needs a date"),
        ("value = \"usb2\"", "value = \"usb9\"", "`drive.bus`: it is no bus: write one of usb2"),
        ("[flash]", "[flsh]", "a drive has either a section [flash] or a section [disk]"),
        ("[buffer]", "[bufer]", "`buffer.page` is missing"),
        ("name = \"cruzer-titanium\"", "name = \"Cruzer\"", "`name`: a name is lowercase letters"),
        ("[drive]", "colour = \"red\"\n[drive]", "`colour` is nothing that a drive has"),
        ("[drive]", "[drive", "line 4: "),
        ("value = 4001422, unit = \"sectors\"", "value = 9223372036854775807, unit = \"TiB\"", "`drive.size`: 92"),
        (
            "value = 1, unit = \"pages\"",
            "value = 4294967296, unit = \"pages\"",
            "`buffer.pages`: 4294967296 pages is no",
        ),
    ];
    for (old, new, wanted) in cases {
        let message = refusal(old, new);
        assert!(message.starts_with(wanted), "{new}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn nothing_is_sized_by_a_hostile_text() {
    let long = "#".repeat(TEXT_BYTES_MAX + 1);
    assert_eq!(parse_description(&long), Err(DescriptionError::TooLong { length: long.len() }));
    let stall = "\n[[flash.stall]]\n".repeat(LIST_PARTS_MAX + 1);
    let error = parse_description(&format!("{CRUZER}{stall}")).expect_err("too many stalls");
    assert_eq!(error, DescriptionError::List { path: "flash.stall".to_owned() });
    assert!(parse_description(&"[".repeat(60_000)).is_err());
    assert!(parse_description(&format!("a = {}", "[".repeat(60_000))).is_err());
}

#[test]
fn parameters_have_to_agree_with_each_other() {
    let disk = find("wd2500jb").expect("it is in the catalogue").to_text();
    let wrong = |old: &str, new: &str| {
        assert!(disk.contains(old), "{old}");
        parse_description(&disk.replacen(old, new, 1)).expect_err(new).to_string()
    };
    assert!(
        wrong("track_seek = { value = 2,", "track_seek = { value = 12,")
            .starts_with("`disk.average_seek`: it does not lie")
    );
    assert!(
        wrong("start = { value = 0,", "start = { value = 1,")
            .starts_with("`disk.zone`: there has to be one that starts")
    );
    assert!(wrong("size = { value = 250,", "size = { value = 100,").contains("beyond the end of the drive"));
}

#[test]
fn a_parameter_is_changed_by_the_end_of_its_path() {
    let cruzer = find("cruzer-titanium").expect("it is in the catalogue");
    let small = cruzer.with("size", "64M").expect("a small one");
    assert_eq!(small.model.size_bytes, 64 << 20);
    assert_eq!(small.origins["drive.size"].status, Status::Assumed);
    let fast = cruzer.with("flash.read_rate", "50MB/s").expect("a fast one");
    assert!(matches!(&fast.model.medium, Medium::Flash(flash) if flash.bytes_per_s.read == 50_000_000));
    let cached = cruzer.with("write_through", "true").expect("one that is safe");
    assert!(cached.model.write_through);
    let message = |name, value| cruzer.with(name, value).expect_err(value).to_string();
    let stalling = find("pi-zero-a").expect("it is in the catalogue");
    let message_of_two = stalling.with("every", "100").expect_err("it has two kinds of stall").to_string();
    assert!(message_of_two.starts_with("`every`: it may be `flash.stall.1.every` or"), "{message_of_two}");
    assert!(stalling.with("stall.1.every", "100").is_ok());
    assert!(message("colour", "red").starts_with("`colour` is nothing that a drive has"));
    assert!(message("size", "64X").starts_with("`drive.size`: \"X\" is no unit for it"));
    assert!(message("size", "100").starts_with("`drive.size`: 100 B is no sensible value"));
}

#[test]
fn a_smaller_disk_has_its_zones_in_proportion() {
    let disk = find("wd2500jb").map(|disk| disk.with("size", "1G").expect("a small one"));
    let Medium::Disk(disk) = disk.expect("it is in the catalogue").model.medium else { panic!("a disk") };
    assert_eq!(disk.zones.len(), 8);
    assert!(disk.zones.iter().all(|zone| zone.start_byte < 1 << 30));
}

#[test]
fn a_file_is_read_as_far_as_a_description_may_go() {
    let error = read_description(Path::new("/dev/zero")).expect_err("it never ends");
    assert_eq!(error, DescriptionError::TooLong { length: TEXT_BYTES_MAX + 1 });
}

/// What stands between two lines of a text.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).expect("it is there");
    rest.split_once(after).expect("it ends").0
}

#[test]
fn the_examples_of_the_documentation_are_right() {
    let text = include_str!("../../../../docs/drives.md");
    let description = parse_description(between(text, "```toml\n", "```")).expect("the example");
    assert_eq!(description.origins["flash.read_rate"].spread_ppm, Some(20_000));
    let fleets = between(text, "```\n", "```").lines().filter_map(|line| line.split_whitespace().next());
    let named = fleets.filter(|fleet| !fleet.contains(".toml"));
    let drives: Vec<usize> = named
        .map(|fleet| crate::parse_fleet(fleet.trim_start_matches(crate::PREFIX)).expect(fleet).descriptions.len())
        .collect();
    assert_eq!(drives, [6, 8, 6, 3]);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(at in 0..CRUZER.len(), length in 0_usize..40, put in "[\\[\\]{}=\".0-9a-z \n-]{0,12}") {
        let mut text = CRUZER.to_owned();
        let end = (at + length).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            text.replace_range(at..end, &put);
            if let Ok(description) = parse_description(&text) {
                prop_assert_eq!(parse_description(&description.to_text()), Ok(description));
            }
        }
    }
}

#[test]
fn any_drive_can_be_made_a_fake_and_reads_back_as_one() {
    let stick = crate::find("stick-64g").expect("it is in the catalogue");
    let fake = stick.with("fake.real", "8G").and_then(|fake| fake.with("fake.repeat", "16G")).expect("it makes sense");
    let known = crate::Fake { real_bytes: 8 << 30, repeat_bytes: Some(16 << 30), cache_bytes: 0 };
    assert_eq!(fake.model.fake, Some(known));
    assert_eq!(parse_description(&fake.to_text()).as_ref(), Ok(&fake));
    for (name, value, what) in [
        ("fake.real", "1000", "4 KiB"),
        ("fake.real", "5000", "4 KiB"),
        ("fake.real", "64T", "no fake"),
        ("fake.repeat", "8G", "fake.real"),
        ("fake.else", "8G", "fake.else"),
        ("fake.real.x", "8G", "fake.real.x"),
    ] {
        let refused = stick.with(name, value).expect_err(name).to_string();
        assert!(refused.contains(what), "{name}={value}: {refused}");
    }
}
