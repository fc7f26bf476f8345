//! libnbd's own tests: its list of behaviours through the Python bindings, and its programs, built
//! from its source.
//!
//! Those programs start `nbdkit` and talk to it over its standard input; here they find a bridge to
//! shoal under that name. Which of them can be run is decided by what they want of that nbdkit: an
//! export of some size, and no plugin's behaviour. Others are given a socket.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::serve::served::{Served, tool};
use crate::support::{Bay, has, names};

/// Programs of libnbd's `tests/`, by the size of export that they want, in MiB.
const PROGRAMS: [(u64, &[&str]); 4] = [
    (
        1,
        &[
            "closure-lifetimes",
            "errors-bad-cookie",
            "errors-client-unknown-flags",
            "errors-client-zerosize",
            "errors-connect-twice",
            "errors-not-negotiating",
            "errors-notify-not-blocked",
            "errors-pread-structured",
            "errors-server-invalid-offset",
            "errors-server-unknown-flags",
            "errors-server-zerosize",
            "opt-abort",
            "pread-initialize",
            "read-write-flag",
        ],
    ),
    (2, &["shutdown-flags"]),
    (8, &["synch-parallel"]),
    (64, &["aio-parallel", "aio-parallel-load"]), // the latter writes where it likes
];

/// Whether Python has libnbd's bindings; says loudly if not.
fn has_bindings(test: &str) -> bool {
    let imported = Command::new("/usr/bin/python3").args(["-c", "import nbd"]).output();
    let has = imported.is_ok_and(|output| output.status.success());
    if !has {
        println!("SKIPPED: {test} needs libnbd for Python (python3-libnbd)");
    }
    has
}

#[test]
fn needs_libnbd_what_its_tests_ask_of_a_server_is_answered() {
    if !has_bindings("needs_libnbd_what_its_tests_ask_of_a_server_is_answered") {
        return;
    }
    let (bay, image) = crate::serve::pond("5");
    std::fs::write(bay.path("image"), image).unwrap();
    let served = Served::start(&bay, &format!("--export pond --export ice=1M+2M:ro {}", names(0..4)));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/serve/libnbd.py");
    let socket = served.socket().display().to_string();
    let told = tool("/usr/bin/python3", &[script, &socket, bay.path("image").to_str().unwrap()]);
    assert_eq!(String::from_utf8(told).unwrap().lines().filter(|line| line.ends_with(" ok")).count(), 9);
    served.stopped();
    assert_eq!(bay.json(&format!("scrub {}", names(0..4)))["mismatched_bytes"], 0);
}

/// The source that `scripts/setup test` has brought.
fn source() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/libnbd");
    source.join("tests").is_dir().then_some(source)
}

/// Builds one of the programs, which is to be busy for a second where it asks for ten.
fn build(source: &Path, name: &str, into: &Path) -> PathBuf {
    let code = std::fs::read_to_string(source.join("tests").join(name).with_extension("c")).unwrap();
    let (shorter, program) = (into.join(name).with_extension("c"), into.join(name));
    std::fs::write(&shorter, code.replace("#define RUN_TIME 10", "#define RUN_TIME 1")).unwrap();
    std::fs::write(into.join("config.h"), "#define PACKAGE_VERSION \"shoal\"\n").unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-w", "-I"]).arg(into).arg("-I").arg(source.join("tests"));
    for folder in ["include", "common/include"] {
        compiler.arg("-I").arg(source.join(folder));
    }
    compiler.arg(&shorter).arg(source.join("tests/requires.c")).arg("-o").arg(&program);
    let built = compiler.args(["-l:libnbd.so.0", "-lpthread"]).output().unwrap();
    assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
    program
}

#[test]
fn needs_libnbd_source_its_own_programs_find_nothing_wrong() {
    const TEST: &str = "needs_libnbd_source_its_own_programs_find_nothing_wrong";
    let Some(source) = source().filter(|_| has("cc")) else {
        println!("SKIPPED: {TEST} needs libnbd's source (scripts/setup test) and cc");
        return;
    };
    if !has_bindings(TEST) {
        return;
    }
    let bay = Bay::with_sizes(&[40 << 20; 3]);
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    // What the parallel ones begin with: every eight bytes say where they are.
    let content: Vec<u8> = (0..64_u64 << 20).step_by(8).flat_map(u64::to_be_bytes).collect();
    let bridge = bay.path("nbdkit");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/serve/bridge.py"), &bridge).unwrap();
    std::fs::set_permissions(&bridge, std::fs::Permissions::from_mode(0o755)).unwrap();
    let search = format!("{}:{}", bay.path("").display(), std::env::var("PATH").unwrap());
    for (size_mib, programs) in PROGRAMS {
        bay.write("write d0 d1 d2", &content);
        let served = Served::start(&bay, &format!("--export all=0+{size_mib}M d0 d1 d2"));
        for name in programs {
            let program = build(&source, name, &bay.path(""));
            let mut command = Command::new("timeout");
            command.arg("300").arg(program).arg(served.socket()).stdin(Stdio::null());
            let ended = command.env("PATH", &search).env("SHOAL_SOCKET", served.socket()).output().unwrap();
            assert!(ended.status.success(), "{name}: {}", String::from_utf8_lossy(&ended.stderr));
        }
        served.stopped();
    }
    assert_eq!(bay.json("scrub d0 d1 d2")["mismatched_bytes"], 0);
}
