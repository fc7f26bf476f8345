//! A file is profiled like any drive. Nothing is asked of its speed: that is the machine's.

#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use shoal_drive::{Access, Arena, Drive, IoLoop};
use shoal_profile::{Given, STEP_BYTES_MAX, Watch, analyse, measure, plan};
use shoal_sim::{BusKind, parse_description};
use shoal_volume::RealWorld;

/// Ends after so many steps.
struct Impatience(u64);

impl Watch for Impatience {
    fn goes_on(&mut self, done: u64, _steps: u64) -> bool {
        done < self.0
    }
}

const SIZE_BYTES: u64 = 64 << 20;

/// A world with a file in it.
fn world(directory: &tempfile::TempDir, access: Access) -> (RealWorld, shoal_volume::DriveId) {
    let path = directory.path().join("image");
    if !path.exists() {
        std::fs::write(&path, vec![7_u8; SIZE_BYTES as usize]).unwrap();
    }
    let arena = Arena::new(STEP_BYTES_MAX as usize).unwrap();
    let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 16).unwrap(), arena);
    let drive = world.add_drive(Drive::open(&path, access).unwrap()).unwrap();
    (world, drive)
}

#[test]
fn a_file_is_described_and_its_description_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let (mut world, drive) = world(&directory, Access::Write);
    let probes = plan(SIZE_BYTES, Some(16 << 20), 1).unwrap();
    let observations = measure(&mut world, drive, probes, &mut Impatience(u64::MAX)).unwrap();
    let given = Given {
        name: "file".to_owned(),
        title: "a file".to_owned(),
        size_bytes: SIZE_BYTES,
        logical_block_bytes: 512,
        bus: BusKind::Direct,
        rotates: Some(false),
        date: "2026-01-01".to_owned(),
    };
    let found = analyse(&given, &observations).unwrap();
    assert_eq!(found.residuals.len(), observations.len());
    assert_eq!(parse_description(&found.description.to_text()), Ok(found.description));
}

#[test]
fn without_writing_a_file_stays_what_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (mut world, drive) = world(&directory, Access::Read);
    let probes = plan(SIZE_BYTES, None, 1).unwrap();
    let stopped = measure(&mut world, drive, probes, &mut Impatience(300)).unwrap_err();
    assert!(stopped.to_string().starts_with("stopped: "), "{stopped}");
    let content = std::fs::read(directory.path().join("image")).unwrap();
    assert!(content.iter().all(|&byte| byte == 7));
}
