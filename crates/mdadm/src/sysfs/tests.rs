//! Trees that Linux 6.1 showed, recorded file by file as `name:line`.

use shoal_volume::ParityLayout;

use super::*;

/// A recorded tree, understood.
pub(crate) fn recorded(name: &str) -> Snapshot {
    Snapshot::parse(&lines(name)).unwrap()
}

fn lines(name: &str) -> Lines {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/trees/{name}.tree"));
    let mut lines = Lines::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (name, line) = line.split_once(':').unwrap();
        let whole = lines.entry(name.to_owned()).or_default();
        if !whole.is_empty() {
            whole.push('\n');
        }
        whole.push_str(line);
    }
    lines
}

#[test]
fn a_tree_is_read_from_files_as_it_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    for (name, line) in lines("raid10-two-failed") {
        let path = directory.path().join(&name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, line + "\n").unwrap();
    }
    assert_eq!(Snapshot::read(directory.path()).unwrap(), recorded("raid10-two-failed"));
}

#[test]
fn an_array_at_rest() {
    let snapshot = recorded("raid5-clean");
    assert_eq!((snapshot.array_state.as_str(), snapshot.degraded), ("clean", 0));
    assert_eq!((snapshot.action, snapshot.completed, snapshot.needs_resync), (Action::Idle, None, false));
    assert_eq!(snapshot.component_bytes, 39936 << 10);
    assert_eq!(snapshot.consistency_policy, "resync");
    let names = [0, 1, 2].map(|role| snapshot.member(role).unwrap().name.as_str());
    assert_eq!(names, ["loop0", "loop1", "loop2"]);
    assert_eq!(snapshot.spares().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["loop3"]);
    assert!(!snapshot.is_inactive() && !snapshot.is_read_only());
}

#[test]
fn a_member_that_is_filled_is_not_in_sync() {
    let snapshot = recorded("raid5-recovering");
    assert_eq!((snapshot.action, snapshot.completed), (Action::Recover, Some((10_000 * 512, 79_872 * 512))));
    let member = snapshot.member(1).unwrap();
    assert_eq!((member.name.as_str(), member.is_in_sync), ("loop3", false));
    assert_eq!(member.recovered_bytes, Some(20_000 * 512));
    assert!(snapshot.devices.iter().any(|device| device.name == "loop1" && device.is_faulty && device.slot.is_none()));
    assert_eq!(snapshot.spares().count(), 0);
}

#[test]
fn a_replacement_is_beside_the_member_that_it_replaces() {
    let snapshot = recorded("raid5-replacing");
    assert_eq!(snapshot.member(0).unwrap().name, "loop0");
    assert_eq!(snapshot.replacement(0).unwrap().name, "loop3");
    assert_eq!((snapshot.replacement(1), snapshot.spares().count()), (None, 0));
}

#[test]
fn a_level_without_redundancy_says_nothing_of_synchronisation() {
    let snapshot = recorded("raid0");
    assert_eq!((snapshot.action, snapshot.completed, snapshot.degraded), (Action::Idle, None, 0));
    assert!(recorded("raid0-readonly").is_read_only());
}

#[test]
fn a_resync_is_due_until_it_is_complete() {
    let under_way = recorded("raid1-resyncing");
    assert_eq!((under_way.action, under_way.needs_resync), (Action::Resync, true));
    let waiting = recorded("raid1-readonly-unsynced");
    assert_eq!((waiting.action, waiting.needs_resync), (Action::Idle, true));
}

#[test]
fn bad_blocks_and_corrected_errors_are_counted() {
    let snapshot = recorded("raid10-two-failed");
    let member = snapshot.member(0).unwrap();
    assert_eq!((member.bad_bytes, member.corrected_errors), (8 * 512, 3));
    assert_eq!(super::bad_bytes("16 8\n100 1\nnonsense\n200"), 9 * 512);
}

#[test]
fn a_shape_that_changes_is_what_it_becomes() {
    let shape = |changed: &[(&str, &str)]| {
        let mut lines = lines("raid5-clean");
        for (name, line) in [("level", "raid5"), ("layout", "2"), ("chunk_size", "65536")].iter().chain(changed) {
            lines.insert((*name).to_owned(), (*line).to_owned());
        }
        Snapshot::parse(&lines).unwrap()
    };
    let level = Level::Raid5(ParityLayout::LeftSymmetric);
    let rests = Shape { level, chunk_bytes: 64 << 10, members: 3, is_changing: false };
    assert_eq!((shape(&[]).shape, shape(&[]).is_reshaping()), (Some(rests), false));
    let grows = shape(&[("raid_disks", "4 (3)"), ("chunk_size", "131072 (65536)")]);
    assert_eq!(grows.shape, Some(Shape { chunk_bytes: 128 << 10, members: 4, is_changing: true, ..rests }));
    assert!(grows.is_reshaping());
    for foreign in [("level", "raid7"), ("layout", "77"), ("chunk_size", "much"), ("raid_disks", "-1")] {
        assert_eq!(shape(&[foreign]).shape, None, "{foreign:?}");
    }
}

#[test]
fn what_is_not_understood_is_named() {
    for (name, line) in [
        ("sync_action", "dancing"),
        ("sync_completed", "many / 7"),
        ("sync_completed", "5"),
        ("degraded", "-1"),
        ("dev-loop0/slot", "first"),
        ("component_size", "99999999999999999999"),
    ] {
        let mut lines = lines("raid5-clean");
        lines.insert(name.to_owned(), line.to_owned());
        let error = Snapshot::parse(&lines).unwrap_err().to_string();
        assert!(error.contains(line.split(" /").next().unwrap()), "{name}: {error}");
    }
    let mut lines = lines("raid5-clean");
    lines.remove("array_state");
    assert!(Snapshot::parse(&lines).unwrap_err().to_string().contains("array_state"));
}

#[test]
fn sizes_are_bounded_before_they_are_multiplied() {
    let mut lines = lines("raid5-clean");
    lines.insert("mismatch_cnt".to_owned(), u64::MAX.to_string());
    lines.insert("component_size".to_owned(), u64::MAX.to_string());
    lines.insert("sync_completed".to_owned(), format!("{} / {}", u64::MAX, u64::MAX));
    let snapshot = Snapshot::parse(&lines).unwrap();
    assert_eq!((snapshot.mismatched_bytes, snapshot.component_bytes), (u64::MAX, u64::MAX));
}
