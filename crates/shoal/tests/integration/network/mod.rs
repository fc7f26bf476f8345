//! The network study of an array: everything that goes over the link, its document, and what stays
//! of it when it is killed.

#[path = "../../../../study/tests/integration/browser/mod.rs"]
mod browser;
mod kernel;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::Bay;
use serde_json::Value;

/// What takes longer hangs, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);
/// Four transfers of this fit into the array.
const DRIVE_BYTES: u64 = 48 << 20;

/// A bay with an array of RAID5; `None` without what a study takes.
fn stage() -> Option<Bay> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: a network study needs root");
        return None;
    }
    for program in
        ["unshare", "ip", "tc", "nbdcopy", "ganesha.nfsd", "smbd", "smbclient", "vsftpd", "curl", "mkfs.ext4"]
    {
        let places = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
        if !places.iter().any(|place| Path::new(place).join(program).exists()) {
            eprintln!("SKIPPED: a network study of everything needs {program}");
            return None;
        }
    }
    let bay = Bay::with_sizes(&[DRIVE_BYTES; 4]);
    bay.done("create --level 5 --assume-clean --chunk 64K d0 d1 d2 d3");
    Some(bay)
}

/// Holds a document against a schema of the repository.
fn check(schema: &str, document: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{schema}.json"));
    let text = std::fs::read_to_string(path).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let errors: Vec<_> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?} in {document}");
}

#[test]
fn needs_root_every_workload_goes_over_the_link() {
    let Some(bay) = stage() else { return };
    let document =
        bay.json("network d0 d1 d2 d3 --force --link 1Gbit --size 6M --repeat 1 --as eide --with nbd,nfs,smb,ftp");
    check("network", &document);
    let of = |entry: &str| document[entry].as_array().unwrap().clone();
    assert_eq!(of("left_out"), Vec::<Value>::new());
    let rows: Vec<String> = of("rows").iter().map(|row| row["workload"].as_str().unwrap().to_owned()).collect();
    let expected = [
        "array-write",
        "array-read",
        "device-write",
        "device-read",
        "nbd-put",
        "nbd-get",
        "nfs-sync-put",
        "nfs-put",
        "nfs-async-put",
        "nfs-get",
        "smb-put",
        "smb-get",
        "ftp-put",
        "ftp-get",
    ];
    assert_eq!(rows, expected);
    for row in of("rows") {
        let rate = row["bytes_per_s"]["median"].as_u64().unwrap();
        assert!(rate > 0, "{row}");
        // No faster than the link, but for what its bucket lets through at once.
        let elapsed_ns = row["runs"][0]["elapsed_ns"].as_u64().unwrap();
        let most = u128::from(elapsed_ns) * 118_000_000 / 1_000_000_000 + (256 << 10);
        assert!(row["link_bits_per_s"].is_null() || u128::from(6_u64 << 20) <= most, "{row}");
    }
    let figures = document["published"]["figures"].as_array().unwrap();
    assert!(figures.iter().all(|figure| figure["measured"].is_number()), "{figures:?}");
    let state = bay.json("status d0 d1 d2 d3");
    assert_eq!(state["health"], "optimal");
    assert_eq!(state["needs_resync"], false, "the array was ended in order");
}

#[test]
fn an_array_is_not_overwritten_unless_told() {
    let bay = Bay::with_sizes(&[DRIVE_BYTES; 4]);
    bay.done("create --level 5 --assume-clean --chunk 64K d0 d1 d2 d3");
    bay.refused("network d0 d1 d2 d3 --size 6M", 3, &["would be lost", "--force"]);
    bay.refused("network d0 d1 d2 d3 --size 1G", 2, &["--size"]);
    let before = bay.snapshot();
    check("network-plan", &bay.json("network d0 d1 d2 d3 --size 6M --dry-run"));
    assert!(bay.snapshot() == before, "a dry run changed a file");
}

#[test]
fn drives_become_an_array_only_if_told_which() {
    let bay = Bay::with_sizes(&[DRIVE_BYTES; 3]);
    let before = bay.snapshot();
    bay.refused("network d0 d1 d2 --size 6M", 2, &["d0", "--level"]);
    bay.refused("network --level 7 d0 d1 d2 --size 6M", 2, &["7"]);
    bay.refused("network --level 5 d0 d1 d2 --size 60M", 2, &["--size"]);
    let plan = bay.json("network --level 5 d0 d1 d2 --size 6M --dry-run");
    check("network-plan", &plan);
    assert_eq!(plan["overwrites_array"], true);
    assert!(bay.snapshot() == before, "a refusal or a dry run changed a file");
    bay.done("create --level 1 --assume-clean d1 d2");
    bay.refused("network --level 5 d0 d1 d2 --size 6M", 3, &["d1", "would be lost", "--force"]);
}

#[test]
fn needs_root_an_array_is_made_for_the_study_and_its_report_renders() {
    let Some(bay) = stage() else { return };
    let page = bay.path("page.html");
    let line =
        "network --level 5 d0 d1 d2 d3 --force --link 1Gbit --size 6M --repeat 1 --with smb,nbd --report page.html";
    let document = bay.json(line);
    check("network", &document);
    for drive in ["d0", "d1", "d2", "d3"] {
        bay.refused(&format!("status {drive}"), 2, &[drive]);
    }
    let Some(browser) = browser::find("the network study's page") else { return };
    let rendered = browser::rendered(browser, &page);
    let shown = browser::content(&rendered);
    assert!(!shown.contains("class=\"error\""), "the page reports an error: {shown}");
    assert_eq!(shown.matches("role=\"img\"").count(), 2, "a chart of the array itself, and one of the link");
    for row in document["rows"].as_array().unwrap() {
        assert!(shown.contains(row["workload"].as_str().unwrap()), "{row}");
    }
}

#[test]
fn needs_root_nothing_stays_of_a_study_that_is_killed() {
    let Some(bay) = stage() else { return };
    let line = "--quiet network d0 d1 d2 d3 --force --link 10Mbit --size 12M --repeat 9 --with smb,nbd";
    let mut study = bay.command(line.split_whitespace()).spawn().unwrap();
    let place = wait_for(|| place_of(&bay.path("d0")), "the study has come to nothing");
    wait_for(|| std::fs::read_to_string("/proc/mounts").ok().filter(|_| place.join("source").exists()), "no content");
    // Servers are up a moment later.
    std::thread::sleep(Duration::from_secs(4));
    assert!(study.try_wait().unwrap().is_none(), "it ended before it could be killed");
    assert!(loop_devices(&place) > 0, "its file system lies on a loop device");
    study.kill().unwrap();
    study.wait().unwrap();
    let start = Instant::now();
    while !processes_with(&place).is_empty() || place.exists() || loop_devices(&place) > 0 {
        let left = processes_with(&place);
        assert!(start.elapsed() < PATIENCE, "left: {left:?}, {}", place.exists());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Whatever it wrote is gone, the array is not.
    assert_eq!(bay.json("status d0 d1 d2 d3")["health"], "optimal");
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>, otherwise: &str) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{otherwise}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes whose command line has a path in it.
fn processes_with(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&path.display().to_string())).collect()
}

/// The study's directory in memory, by the command line of its server.
fn place_of(member: &Path) -> Option<PathBuf> {
    let serving = processes_with(member).into_iter().find(|line| line.contains(" serve "))?;
    let socket = serving.split("unix:").nth(1)?.split(' ').next()?.to_owned();
    PathBuf::from(socket).parent().map(Path::to_owned)
}

/// How many loop devices lie on files below a directory.
fn loop_devices(place: &Path) -> usize {
    let entries = std::fs::read_dir("/sys/block").unwrap().flatten();
    let files = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("loop/backing_file")).ok());
    files.filter(|file| file.starts_with(&place.display().to_string())).count()
}
