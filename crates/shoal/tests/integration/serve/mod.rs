//! Arrays as network block devices, met by clients that others wrote: libnbd's tools, QEMU's, fio.

mod libnbd;
mod resident;
pub(crate) mod served;
mod tls;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Bay, has, names, pattern};
use served::{Served, tool};

/// Whether a client is there; says loudly if not.
fn is_there(program: &str, package: &str) -> bool {
    let is_there = has(program);
    if !is_there {
        println!("SKIPPED: {} needs {program} ({package})", std::thread::current().name().unwrap_or("a test"));
    }
    is_there
}

/// An array of four drives that holds a pattern, and the pattern.
fn pond(level: &str) -> (Bay, Vec<u8>) {
    let bay = Bay::new(4);
    bay.done(&format!("create --level {level} --chunk 64K --name pond {}", names(0..4)));
    let image = pattern(9_000_000, 7);
    bay.write(&format!("write {}", names(0..4)), &image);
    (bay, image)
}

#[test]
fn needs_nbdinfo_exports_are_told_as_they_are() {
    if !is_there("nbdinfo", "libnbd-bin") {
        return;
    }
    let (bay, _) = pond("5");
    let served = Served::start(&bay, &format!("--export pond --export ice=1M+2M:ro {}", names(0..4)));
    let told: serde_json::Value =
        serde_json::from_slice(&tool("nbdinfo", &["--json", "--list", &served.uri("")])).unwrap();
    let exports = told["exports"].as_array().unwrap();
    let field = |number: usize, name: &str| exports[number][name].clone();
    assert_eq!((field(0, "export-name"), field(1, "export-name")), ("pond".into(), "ice".into()));
    assert_eq!((field(0, "is_read_only"), field(1, "is_read_only")), (false.into(), true.into()));
    assert_eq!(field(1, "export-size"), 2 << 20);
    for able in
        ["can_flush", "can_fua", "can_multi_conn", "can_trim", "can_zero", "can_fast_zero", "can_df", "can_cache"]
    {
        assert_eq!(field(0, able), true, "{able}");
    }
    // Nobody knows which blocks were ever written, so all of it is data: one extent, as large as
    // the export.
    let map: serde_json::Value =
        serde_json::from_slice(&tool("nbdinfo", &["--map", "--json", &served.uri("pond")])).unwrap();
    let extents = map.as_array().unwrap();
    assert_eq!((extents.len(), &extents[0]["description"]), (1, &"data".into()));
    assert_eq!((&extents[0]["offset"], &extents[0]["length"]), (&0.into(), &field(0, "export-size")));
    if is_there("qemu-img", "qemu-utils") {
        let map = tool("qemu-img", &["map", "--output=json", "-f", "raw", &served.uri("pond")]);
        let map: serde_json::Value = serde_json::from_slice(&map).unwrap();
        assert_eq!((map.as_array().unwrap().len(), &map[0]["data"], &map[0]["zero"]), (1, &true.into(), &false.into()));
        assert_eq!(&map[0]["length"], &field(0, "export-size"));
    }
    served.stopped();
}

/// What is flushed through a write-back window is with the members, whatever becomes of the
/// process.
#[test]
fn needs_nbdcopy_what_is_flushed_through_a_window_survives_the_server() {
    if !is_there("nbdcopy", "libnbd-bin") {
        return;
    }
    for level in ["5", "6", "10"] {
        let (bay, _) = pond(level);
        let served = Served::start(&bay, &format!("--write-back 2M {}", names(0..4)));
        let other = pattern(7_654_321, 8);
        let copy = bay.path("copy");
        std::fs::write(&copy, &other).unwrap();
        // In small pieces, so that the window has work to do, and is filled several times.
        tool("nbdcopy", &["--flush", "--request-size=16384", copy.to_str().unwrap(), &served.uri("")]);
        let window = bay.json(&format!("status {}", names(0..4)))["write_back"].clone();
        assert_eq!((&window["window_bytes"], &window["dirty_bytes"]), (&(2 << 20).into(), &0.into()), "raid{level}");
        served.kill();
        let content = bay.done(&format!("read {}", names(0..4))).stdout;
        assert!(content.starts_with(&other), "raid{level} lost something");
    }
    let bay = Bay::new(2);
    let line = format!("serve --write-back 2M --engine kernel {}", names(0..2));
    bay.refused(&line, 2, &["--write-back is for shoal's own engine"]);
}

/// Who flushes as block devices are flushed need not ask for a window, and who wants none says so.
#[test]
fn arrays_on_flash_have_a_window_by_themselves_and_none_if_told_so() {
    let bay = Bay::new(4);
    bay.done(&format!("create --level 5 --chunk 64K {}", names(0..4)));
    let sticks = "sim:cruzer-titanium:size=16M*3@usb2";
    let cases = [
        (format!("{sticks} --level 5"), Some(32 << 20)),
        (format!("{sticks} --level 1"), Some(32 << 20)),
        (format!("{sticks} --level 0"), None),
        (format!("--write-back 0 {sticks} --level 5"), None),
        (names(0..4), None), // files: a disk's cache and scheduler are below them
    ];
    for (line, expected) in cases {
        let socket = bay.path("administered");
        let served = Served::start(&bay, &format!("--socket {} {line}", socket.display()));
        let status = bay.json(&format!("status --socket {}", socket.display()));
        let window_bytes = status["write_back"]["window_bytes"].as_u64();
        served.stopped();
        assert_eq!(window_bytes, expected, "{line}");
    }
}

#[test]
fn needs_nbdcopy_content_comes_out_and_goes_in() {
    if !is_there("nbdcopy", "libnbd-bin") {
        return;
    }
    for level in ["0", "5", "10"] {
        let (bay, image) = pond(level);
        let served = Served::start(&bay, &names(0..4));
        let copy = bay.path("copy");
        tool("nbdcopy", &[&served.uri(""), copy.to_str().unwrap()]);
        assert!(std::fs::read(&copy).unwrap().starts_with(&image), "raid{level} was read wrong");
        let other = pattern(7_654_321, 8);
        std::fs::write(&copy, &other).unwrap();
        tool("nbdcopy", &["--flush", copy.to_str().unwrap(), &served.uri("")]);
        served.stopped();
        let content = bay.done(&format!("read {}", names(0..4))).stdout;
        assert!(
            content.starts_with(&other) && content[other.len()..].starts_with(&image[other.len()..]),
            "raid{level}"
        );
        bay.done(&format!("status {}", names(0..4)));
    }
}

#[test]
fn needs_nbdcopy_simulated_drives_are_met_at_their_own_pace() {
    if !is_there("nbdcopy", "libnbd-bin") {
        return;
    }
    let bay = Bay::new(0);
    let served = Served::start(&bay, "sim:cruzer-titanium:size=16M*3@usb2 --level 5 --chunk 64K");
    let (there, back) = (bay.path("there"), bay.path("back"));
    let image = pattern(8_000_000, 9);
    std::fs::write(&there, &image).unwrap();
    tool("nbdcopy", &["--flush", there.to_str().unwrap(), &served.uri("")]);
    let start = std::time::Instant::now();
    tool("nbdcopy", &[&served.uri(""), back.to_str().unwrap()]);
    // The bus does not carry more than 13 packets a microframe, whoever asks.
    let bytes = std::fs::metadata(&back).unwrap().len() as f64;
    assert!(start.elapsed().as_secs_f64() > bytes / 53.248e6, "{bytes} bytes in {:?}", start.elapsed());
    assert!(std::fs::read(&back).unwrap().starts_with(&image));
    served.stopped();
}

#[test]
fn needs_qemu_io_requests_of_any_size_and_place_are_served() {
    if !is_there("qemu-io", "qemu-utils") || !is_there("qemu-img", "qemu-utils") {
        return;
    }
    let (bay, image) = pond("6");
    std::fs::write(bay.path("image"), &image).unwrap();
    let served = Served::start(&bay, &names(0..4));
    let compared =
        tool("qemu-img", &["compare", "-f", "raw", "-F", "raw", bay.path("image").to_str().unwrap(), &served.uri("")]);
    assert!(String::from_utf8(compared).unwrap().contains("identical"));
    let commands = [
        "write -P 0x5a 1000 7",
        "read -P 0x5a 1000 7",
        "write -f -P 0x11 100 300000",
        "write -z 4001 1000001",
        "read -P 0x11 100 3901",
        "read -P 0 4001 1000001",
        "discard 1M 2M",
        "flush",
    ];
    let mut arguments = vec!["-f", "raw"];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    let uri = served.uri("");
    arguments.push(&uri);
    let said = String::from_utf8(tool("qemu-io", &arguments)).unwrap();
    assert!(!said.contains("failed"), "{said}");
    served.stopped();
    assert_eq!(bay.json(&format!("scrub {}", names(0..4)))["mismatched_bytes"], 0);
}

#[test]
fn needs_fio_a_verified_load_goes_on_while_a_member_fails_and_is_rebuilt() {
    if !is_there("fio", "fio") {
        return;
    }
    if !String::from_utf8_lossy(&Command::new("fio").arg("--enghelp").output().unwrap().stdout).contains("nbd") {
        println!("SKIPPED: needs_fio... needs fio's nbd engine");
        return;
    }
    let bay = Bay::with_sizes(&[32 << 20; 4]);
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    let served = Served::start(&bay, "d0 d1 d2");
    let uri = format!("--uri={}", served.uri(""));
    let mut load = Command::new("fio");
    load.current_dir(bay.runtime());
    load.args(["--name=load", "--ioengine=nbd", &uri, "--rw=randwrite", "--bs=4k", "--size=24M", "--iodepth=8"]);
    load.args(["--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--rate_iops=2000", "--loops=2"]);
    let load = std::thread::spawn(move || load.output().unwrap());
    std::thread::sleep(std::time::Duration::from_millis(700));
    bay.done("fail --member d1 d0");
    assert_eq!(bay.json("status d0")["health"], "degraded");
    std::thread::sleep(std::time::Duration::from_millis(700));
    bay.done("add --drive d3 --no-rebuild d0");
    let output = load.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bay.done("rebuild d0");
    assert_eq!(bay.json("status d0")["health"], "optimal");
    served.stopped();
    assert_eq!(bay.json("scrub d0 d2 d3")["mismatched_bytes"], 0);
}

#[test]
fn needs_nbdcopy_what_was_flushed_survives_a_kill() {
    if !is_there("nbdcopy", "libnbd-bin") {
        return;
    }
    let (bay, _) = pond("5");
    let served = Served::start(&bay, &names(0..4));
    let image = pattern(8 << 20, 21);
    std::fs::write(bay.path("image"), &image).unwrap();
    tool("nbdcopy", &["--flush", bay.path("image").to_str().unwrap(), &served.uri("")]);
    served.kill();
    // The socket that was left behind is no obstacle.
    let served = Served::start(&bay, &names(0..4));
    tool("nbdcopy", &[&served.uri(""), bay.path("copy").to_str().unwrap()]);
    assert!(std::fs::read(bay.path("copy")).unwrap().starts_with(&image));
    served.stopped();
}

#[test]
fn what_would_be_unsafe_or_cannot_be_is_refused_in_one_line() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --name pond d0 d1");
    bay.refused("serve --nbd tcp:0.0.0.0:0 d0 d1", 3, &["0.0.0.0", "--tls-certificates"]);
    bay.refused("serve --tls-psk nowhere d0 d1", 1, &["nowhere", "pre-shared keys"]);
    std::fs::write(bay.path("keys"), "alice:00112233445566778899aabbccddeeff\nbob:short\n").unwrap();
    bay.refused("serve --tls-psk keys d0 d1", 1, &["keys", "every user of this machine", "chmod"]);
    std::fs::set_permissions(bay.path("keys"), Permissions::from_mode(0o600)).unwrap();
    bay.refused("serve --tls-psk keys d0 d1", 1, &["keys, line 2", "hexadecimal"]);
    let unclear = bay.run("serve --deadline 0 d0 d1");
    assert!(unclear.code == 2 && unclear.stderr.contains("--deadline"), "{}", unclear.stderr);
    bay.refused("serve --tls-certificates nowhere d0 d1", 1, &["nowhere/server-cert.pem"]);
    bay.refused("serve --nbd unix:d0 d0 d1", 3, &["d0", "no socket"]);
    let unclear = bay.run("serve --nbd pond d0 d1");
    assert!(unclear.code == 2 && unclear.stderr.contains("unix:PATH"), "{}", unclear.stderr);
    bay.refused("serve --export pond --export pond d0 d1", 2, &["two exports"]);
    bay.refused("serve --export pond=1M+1T d0 d1", 2, &["smaller range"]);
}

/// What a client has read, and keeps, would not be what the array holds.
#[test]
fn an_array_that_has_clients_is_not_overwritten_past_them() {
    let (bay, image) = pond("5");
    let served = Served::start(&bay, &names(0..4));
    let clients = |count: u64| {
        let begun = std::time::Instant::now();
        while bay.json("status d0")["running"]["nbd_clients"].as_u64().unwrap_or(0) != count {
            assert!(begun.elapsed() < crate::running::server::PATIENCE, "not {count} clients");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    clients(0);
    bay.write("write --offset 9M d0", &image[..4096]);
    let line = ["bench", "--seconds", "3600", "--repeat", "1", "--length", "1M", &served.uri("")];
    let mut client = bay.command(line).spawn().unwrap();
    clients(1);
    let write = bay.run_with("write d0", b"these bytes must not be written");
    assert_eq!(write.code, 3, "{}", write.stderr);
    write.is_one_line("write", &["pond", "is served to a client at unix:", "disconnect"]);
    let bench = "bench --write --force --bytes 64K --block-size 64K --warm-up 0 --repeat 1 d0";
    bay.refused_running(bench, 3, &["pond", "is served to a client at unix:", "disconnect"]);
    assert!(bay.done(&format!("read --length {} d0", image.len())).stdout == image);
    client.kill().unwrap();
    client.wait().unwrap();
    bay.write("write d0", &image[..4096]);
    served.stopped();
}
