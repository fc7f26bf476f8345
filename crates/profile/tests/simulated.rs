//! The proof: the profile of a simulated drive is the drive that was simulated.

#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use shoal_profile::{Given, Profile, STEP_BYTES_MAX, Watch, analyse, cost, measure, plan, together};
use shoal_sim::{Description, Flash, HostModel, Medium, Stall, Status, parse_description, parse_fleet};
use shoal_volume::{BufferPlan, Contents, SimulatedWorld, World};

struct Patience;

impl Watch for Patience {
    fn goes_on(&mut self, _done: u64, _steps: u64) -> bool {
        true
    }
}

/// A simulated drive and its profile.
fn profile(notation: &str, write_bytes: Option<u64>) -> (Description, Profile) {
    let fleet = parse_fleet(notation).unwrap();
    let truth = fleet.descriptions[0].clone();
    let buffers = BufferPlan::for_drives(1, 1, STEP_BYTES_MAX);
    let mut world =
        SimulatedWorld::new(&fleet.topology, &HostModel::default(), Contents::Discarded, buffers, 1).unwrap();
    let drive = world.drives()[0];
    let probes = plan(truth.model.size_bytes, write_bytes, 1).unwrap();
    let observations = measure(&mut world, drive, probes, &mut Patience).unwrap();
    let given = Given {
        name: "found".to_owned(),
        title: "what was found".to_owned(),
        size_bytes: truth.model.size_bytes,
        logical_block_bytes: truth.model.logical_block_bytes,
        bus: truth.model.bus,
        rotates: None,
        date: "2026-01-01".to_owned(),
    };
    (truth, analyse(&given, &observations).unwrap())
}

/// Within so many of a thousand.
#[track_caller]
fn assert_near(what: &str, found: u64, truth: u64, per_mille: u64) {
    let bound = truth * per_mille / 1000;
    assert!(found.abs_diff(truth) <= bound.max(1), "{what}: found {found}, is {truth}, bound {per_mille} per mille");
}

fn flash(description: &Description) -> &Flash {
    match &description.model.medium {
        Medium::Flash(flash) => flash,
        Medium::Disk(_) => panic!("it is flash"),
    }
}

/// Media rates, command and random costs within 1 %, buffers exactly.
fn assert_flash(notation: &str, write_bytes: u64) -> (Description, Profile) {
    let (truth, found) = profile(notation, Some(write_bytes));
    let (model, description) = (&truth.model, &found.description);
    assert_near("command.read", description.model.command_ns.read, model.command_ns.read, 10);
    assert_near("command.write", description.model.command_ns.write, model.command_ns.write, 10);
    assert_eq!(description.model.page_buffers, model.page_buffers);
    let (is, was) = (flash(description), flash(&truth));
    assert_near("read_rate", is.bytes_per_s.read, was.bytes_per_s.read, 10);
    assert_near("write_rate", is.bytes_per_s.write, was.bytes_per_s.write, 10);
    assert_near("random_read", is.random_ns.read, was.random_ns.read, 10);
    assert_near("random_write", is.random_ns.write, was.random_ns.write, 10);
    assert_eq!(is.stalls.len(), was.stalls.len());
    for stall in &was.stalls {
        let near = |other: &&Stall| other.duration_ns.abs_diff(stall.duration_ns) < stall.duration_ns / 100;
        let other = is.stalls.iter().find(near).unwrap_or_else(|| panic!("{stall:?} is not in {:?}", is.stalls));
        assert_near("every", u64::from(other.every_writes), u64::from(stall.every_writes), 30);
    }
    assert_eq!(is.allocation.is_some(), was.allocation.is_some());
    if let (Some(is), Some(was)) = (is.allocation, was.allocation) {
        assert_near("unit", is.unit_bytes, was.unit_bytes, 50);
        assert_near("copy_rate", is.copy_bytes_per_s, was.copy_bytes_per_s, 50);
        assert_eq!(is.open_units, was.open_units);
    }
    assert_eq!(is.fast_area.is_some(), was.fast_area.is_some());
    if let (Some(is), Some(was)) = (is.fast_area, was.fast_area) {
        assert_near("fast size", is.size_bytes, was.size_bytes, 20);
        assert_near("fast rate", is.write_bytes_per_s, was.write_bytes_per_s, 20);
        assert_near("drain rate", is.drain_bytes_per_s, was.drain_bytes_per_s, 50);
    }
    for residual in &found.residuals {
        assert!(residual.error.abs() < 0.03, "{residual:?}");
    }
    assert_eq!(parse_description(&description.to_text()).as_ref(), Ok(description));
    (truth, found)
}

#[test]
fn a_stick_of_one_buffer_is_found_again() {
    assert_flash("cruzer-titanium", 256 << 20);
    assert_flash("rundisk-1g", 256 << 20);
    assert_flash("apacer-4g", 256 << 20);
}

#[test]
fn pauses_are_found_again() {
    assert_flash("pi-zero-a", 1 << 30);
    assert_flash("pi-zero-c", 256 << 20);
}

#[test]
fn allocation_units_are_found_again() {
    assert_flash("sd-card-32g", 256 << 20);
    assert_flash("sd-card-32g:unit=2MiB:open=3:copy_rate=8MB/s", 256 << 20);
}

#[test]
fn a_fast_area_is_found_again() {
    assert_flash("stick-64g:fast_area.size=1GB", 4 << 30);
}

#[test]
fn more_buffers_are_told_from_one() {
    assert_flash("cruzer-titanium:pages=2", 256 << 20);
    assert_flash("cruzer-titanium:pages=4:read_rate=12MB/s", 256 << 20);
}

#[test]
fn a_disk_is_found_again() {
    let (truth, found) = profile("wd2500jb@ata133", Some(256 << 20));
    let (Medium::Disk(was), Medium::Disk(is)) = (&truth.model.medium, &found.description.model.medium) else {
        panic!("it is a disk");
    };
    assert_eq!(is.rotation_ns, was.rotation_ns);
    assert_eq!(is.zones.len(), was.zones.len());
    for (is, was) in is.zones.iter().zip(&was.zones) {
        assert_near("zone rate", is.bytes_per_s, was.bytes_per_s, 10);
        assert!(is.start_byte.abs_diff(was.start_byte) < 1 << 20);
    }
    // Means over hundreds of seeks that wait for half a turn, more or less.
    assert_near("track_seek", is.track_seek_ns, was.track_seek_ns, 150);
    assert_near("average_seek", is.average_seek_ns, was.average_seek_ns, 60);
    assert_near("full_seek", is.full_seek_ns, was.full_seek_ns, 60);
    let model = &found.description.model;
    assert_near("command.read", model.command_ns.read, truth.model.command_ns.read, 10);
    assert_near("command.write", model.command_ns.write, truth.model.command_ns.write, 10);
    assert_near("cache", u64::from(model.page_buffers), u64::from(truth.model.page_buffers), 100);
    assert_eq!(parse_description(&found.description.to_text()), Ok(found.description));
}

#[test]
fn what_the_bus_hides_is_said_to_be_not_measured() {
    let (_, found) = profile("ssd-sata-500g:fast_area.size=500MB", Some(4 << 30));
    let origins = &found.description.origins;
    assert_eq!(origins["flash.read_rate"].status, Status::NotMeasured);
    assert_eq!(origins["flash.write_rate"].status, Status::Measured);
    assert_near("write_rate", flash(&found.description).bytes_per_s.write, 310_000_000, 10);
    let (_, disk) = profile("disk-7200", None);
    assert_eq!(disk.description.origins["buffer.pages"].status, Status::NotMeasured);
}

#[test]
fn without_writing_writes_are_not_measured_and_nothing_is_written() {
    let probes = plan(1 << 30, None, 1).unwrap();
    assert_eq!(cost(&probes).written_bytes, 0);
    let (_, found) = profile("rally2", None);
    let not_measured = |path: &str| found.description.origins[path].status == Status::NotMeasured;
    assert!(["command.write", "flash.write_rate", "flash.random_write"].into_iter().all(not_measured));
    assert_near("read_rate", flash(&found.description).bytes_per_s.read, 57_565_000, 10);
    assert_eq!(parse_description(&found.description.to_text()), Ok(found.description));
}

#[test]
fn drives_on_one_bus_are_held_against_drives_that_share_nothing() {
    let fleet = parse_fleet("cruzer-titanium*3").unwrap();
    let buffers = BufferPlan::for_drives(3, 1, STEP_BYTES_MAX);
    let mut world =
        SimulatedWorld::new(&fleet.topology, &HostModel::default(), Contents::Discarded, buffers, 1).unwrap();
    let models = fleet.descriptions.iter().map(|description| description.model.clone());
    let drives: Vec<_> = world.drives().into_iter().zip(models).collect();
    let found = together(&mut world, &drives).unwrap();
    assert_near("on one bus", found.measured_bytes_per_s, found.predicted_bytes_per_s, 5);
    assert!(found.predicted_bytes_per_s * 10 < found.unshared_bytes_per_s * 9, "{found:?}");
}
