//! The file itself.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

use crate::fronts::front::{Front, LONG_S, is_mounted};
use crate::serve::served::{Served, tool};
use crate::support::{Bay, has, pattern};

/// Whether an array can be a file here; says loudly if not.
pub(crate) fn is_possible(programs: &[&str]) -> bool {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let opened = File::options().read(true).write(true).open("/dev/fuse");
    if opened.is_err() || !has("fusermount3") {
        println!("SKIPPED: {name} needs /dev/fuse and fusermount3 (fuse3)");
        return false;
    }
    let missing = programs.iter().find(|program| !has(program));
    if let Some(program) = missing {
        println!("SKIPPED: {name} needs {program}");
    }
    missing.is_none()
}

/// A RAID5 of three files and one that waits, served.
pub(crate) fn pond(drive_bytes: u64) -> (Bay, Served) {
    let bay = Bay::with_sizes(&[drive_bytes; 4]);
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    let served = Served::start(&bay, "d0 d1 d2");
    (bay, served)
}

#[test]
fn needs_fuse_what_fio_writes_to_the_file_is_read_back() {
    if !is_possible(&["fio"]) {
        return;
    }
    let (bay, served) = pond(48 << 20);
    let front = Front::start(&bay, LONG_S);
    let file = format!("--filename={}", front.path());
    // What it keeps beside is to go with the test.
    let kept = format!("--aux-path={}", bay.path("").display());
    let verified = [&kept[..], "--name=load", "--rw=randwrite", "--size=12M", "--verify=crc32c", "--verify_fatal=1"];
    for (block, depth) in [("4k", "1"), ("1M", "1"), ("4k", "32"), ("1M", "32")] {
        let load = ["--ioengine=libaio", "--direct=1", "--bs", block, "--iodepth", depth, &file];
        tool("fio", &[&verified[..], &load].concat());
    }
    // Several at once that each wait, and through no page cache though nobody said so.
    let threads = ["--ioengine=psync", "--thread", "--numjobs=4", "--offset_increment=16M", "--bs=4k", &file];
    tool("fio", &[&verified[..], &threads].concat());
    front.stopped();
    served.stopped();
    assert_eq!(bay.json("scrub d0 d1 d2")["mismatched_bytes"], 0);
}

#[test]
fn needs_fuse_the_file_behaves_like_a_disk() {
    if !is_possible(&[]) {
        return;
    }
    let (bay, served) = pond(80 << 20);
    let front = Front::start(&bay, LONG_S);
    let file = File::options().read(true).write(true).open(&front.file).unwrap();
    let told = file.metadata().unwrap();
    let size = told.len();
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(
        (size, told.mode() & 0o777, told.uid()),
        (bay.json("status d0")["capacity_bytes"].as_u64().unwrap(), 0o600, own)
    );

    // Any place and length; what was written durably is on the drives, as a kill shows.
    let content = pattern(300_001, 3);
    let durable = rustix::fs::open(
        &front.file,
        rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::DSYNC,
        rustix::fs::Mode::empty(),
    );
    File::from(durable.unwrap()).write_all_at(&content, 1001).unwrap();
    served.kill();
    let served = Served::start(&bay, "d0 d1 d2");
    let mut back = vec![0; content.len()];
    file.read_exact_at(&mut back, 1001).unwrap();
    assert!(back == content, "a durable write is lost");

    holes_and_zeros_read_as_zeros(&file, &content);
    its_size_is_what_it_is(&file, size);
    drop(file);
    front.stopped();
    served.stopped();
}

fn holes_and_zeros_read_as_zeros(file: &File, content: &[u8]) {
    let zeroes = |flags, offset, length| fallocate(file, flags | FallocateFlags::KEEP_SIZE, offset, length);
    let mut back = vec![1; content.len() + 1];
    // With parity there are no holes; `discards` has an array that has some.
    assert_eq!(zeroes(FallocateFlags::PUNCH_HOLE, 8192, 100 << 20), Err(rustix::io::Errno::OPNOTSUPP));
    zeroes(FallocateFlags::ZERO_RANGE, 5000, 100_000).unwrap();
    zeroes(FallocateFlags::ZERO_RANGE, 200_000, 50_001).unwrap();
    file.read_exact_at(&mut back, 1000).unwrap();
    let mut expected = [&[0], content].concat();
    expected[4000..104_000].fill(0);
    expected[199_000..249_001].fill(0);
    assert!(back == expected);
    // Longer than what is written at a time.
    file.write_all_at(content, 70 << 20).unwrap();
    zeroes(FallocateFlags::ZERO_RANGE, 0, 100 << 20).unwrap();
    file.read_exact_at(&mut back, 70 << 20).unwrap();
    assert!(back.iter().all(|&byte| byte == 0));
}

fn its_size_is_what_it_is(file: &File, size: u64) {
    assert_eq!(file.write_at(&[1; 8192], size - 4096).unwrap(), 4096);
    assert_eq!(file.write_at(&[1], size).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(file.read_at(&mut [0; 8192], size - 4096).unwrap(), 4096);
    assert_eq!(file.read_at(&mut [0], size).unwrap(), 0);
    assert_eq!(file.set_len(size - 1).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(file.metadata().unwrap().len(), size);
}

#[test]
fn needs_fuse_a_server_that_comes_back_costs_no_byte() {
    if !is_possible(&["fio"]) {
        return;
    }
    let (bay, served) = pond(48 << 20);
    let front = Front::start(&bay, LONG_S);
    let mut load = Command::new("fio");
    load.current_dir(bay.path("")).arg(format!("--filename={}", front.path()));
    load.args(["--name=load", "--ioengine=libaio", "--direct=1", "--rw=randwrite", "--bs=4k", "--size=16M"]);
    load.args(["--iodepth=8", "--verify=crc32c", "--verify_fatal=1", "--rate_iops=2000"]);
    let load = std::thread::spawn(move || load.output().unwrap());
    std::thread::sleep(Duration::from_millis(700));
    served.kill();
    std::thread::sleep(Duration::from_millis(500));
    let served = Served::start(&bay, "d0 d1 d2");
    let output = load.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    front.stopped();
    served.stopped();
}

#[test]
fn needs_fuse_requests_fail_by_their_deadline_and_nothing_hangs() {
    if !is_possible(&[]) {
        return;
    }
    let (bay, served) = pond(16 << 20);
    let front = Front::start(&bay, 2);
    let file = File::options().read(true).write(true).open(&front.file).unwrap();
    served.kill();
    let start = Instant::now();
    let zeroes = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
    let failed = |result: std::io::Result<usize>| result.unwrap_err().kind() == std::io::ErrorKind::TimedOut;
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(failed(file.read_at(&mut [0; 4096], 0)), "a read"));
        scope.spawn(|| assert!(failed(file.write_at(&[0; 4096], 0)), "a write"));
        scope.spawn(|| assert!(failed(file.sync_all().map(|()| 0)), "an fsync"));
        scope.spawn(|| assert!(fallocate(&file, zeroes, 0, 1 << 20) == Err(rustix::io::Errno::TIMEDOUT), "zeros"));
    });
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?} instead of 2 s");
    // What the front knows by itself needs no server.
    assert!(file.metadata().is_ok());
    drop(file);
    front.stopped();
}

#[test]
fn needs_fuse_the_mount_goes_with_its_front_and_a_dead_one_is_undone() {
    if !is_possible(&["umount"]) {
        return;
    }
    let (bay, served) = pond(16 << 20);
    let front = Front::start(&bay, LONG_S);
    File::options().write(true).open(&front.file).unwrap().write_all_at(b"kept", 0).unwrap();
    front.killed();
    assert!(std::fs::read_dir(bay.path("front")).is_err(), "a dead mount answers");
    let front = Front::start(&bay, LONG_S);
    assert_eq!(&tool("head", &["-c", "4", front.path()]), b"kept");
    // One that lives is nobody's to take away.
    let directory = bay.path("front");
    assert!(!shoal_attach::fuse::undo_stale(&directory).unwrap() && is_mounted(&directory));
    // Told to end, it goes out of the tree at once, and serves whoever has it open until they close
    // it.
    let file = File::open(&front.file).unwrap();
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| front.stopped());
        wait_until(|| !is_mounted(&directory));
        let mut word = [0; 4];
        file.read_exact_at(&mut word, 0).unwrap();
        assert_eq!(&word, b"kept");
        assert!(!stopping.is_finished());
        drop(file);
    });
    // Unmounted by somebody else, it ends by itself.
    let front = Front::start(&bay, LONG_S);
    tool("umount", &["--force", directory.to_str().unwrap()]);
    front.ended();
    served.stopped();
}

#[test]
fn needs_fuse_a_user_without_rights_has_the_array_alone() {
    const NOBODY: u32 = 65534;
    if !is_possible(&[]) || !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs_fuse_a_user_without_rights... needs root, to be somebody else");
        return;
    }
    let (bay, served) = pond(16 << 20);
    // The socket is the server's owner's alone.
    let socket = bay.runtime().with_file_name("nbd.sock");
    for path in [&socket, &bay.runtime().parent().unwrap().to_owned(), &bay.path("")] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let front = Front::start_as(&bay, LONG_S, Some(NOBODY));
    let as_user = |script: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-ec", script, "sh", front.path()]);
        command.output().unwrap()
    };
    let read = as_user(r#"printf mine | dd of="$1" conv=notrunc,fsync status=none; head -c 4 "$1""#);
    assert_eq!(read.stdout, b"mine", "{}", String::from_utf8_lossy(&read.stderr));
    // Not even root, who gets no answer at all from another's file system.
    assert_eq!(File::open(Path::new(front.path())).unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    front.stopped();
    served.stopped();
}

/// A moment is enough, unless the machine is busy.
fn wait_until(happens: impl Fn() -> bool) {
    let start = Instant::now();
    while !happens() {
        assert!(start.elapsed() < Duration::from_secs(180), "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
