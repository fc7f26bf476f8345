//! Running arrays, measured.

use crate::running::server::Server;
use crate::support::{Bay, pattern};

const LOAD: &str = "--bytes 256K --block-size 64K --warm-up 0 --repeat 1";

#[test]
fn an_array_that_nobody_serves_is_not_measured_behind_its_back() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    for line in ["bench d0", "bench d0 d1 d2", "bench --force --write d0", "bench --scan . d0"] {
        bay.refused_running(&format!("{line} {LOAD}"), 3, &["run by another process", "`shoal stop`", "`shoal serve`"]);
    }
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
    bay.done(&format!("bench d0 d1 d2 {LOAD}"));
}

#[test]
fn an_array_that_is_served_is_measured_through_its_server() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(1 << 20, 1));
    let server = Server::start_as(&bay, "serve", "d0 d1 d2");
    for members in ["d0", "d1 d2", "--scan . d0"] {
        let measured = bay.json(&format!("bench {members} {LOAD}"));
        let result = &measured["results"][0];
        assert_eq!(
            (&result["target"]["kind"], &result["target"]["level"]),
            (&"array".into(), &"5".into()),
            "{measured}"
        );
        assert_eq!(result["read"]["errors"], 0, "{measured}");
    }
    bay.refused_running(&format!("bench --write d0 {LOAD}"), 3, &["data", "would be lost"]);
    let measured = bay.json(&format!("bench --write --force d0 {LOAD}"));
    assert_eq!(measured["results"][0]["write"]["errors"], 0, "{measured}");
    // What was written to measure may be lost.
    bay.done(&format!("bench --write d0 {LOAD}"));
    // What people keep is no more overwritten than at rest.
    bay.write("write d0", &b"dear diary, today an array was measured\n".repeat(200));
    bay.refused_running(&format!("bench --write d0 {LOAD}"), 3, &["text", "would be lost"]);
    let mut head = vec![0; 4096];
    head[1080..1082].copy_from_slice(&[0x53, 0xef]);
    bay.write("write d0", &head);
    bay.refused_running(&format!("bench --write d0 {LOAD}"), 3, &["ext", "would be lost"]);
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
    assert_eq!(bay.json("scrub d0 d1 d2")["mismatched_bytes"], 0);
}

#[test]
fn a_bench_that_is_interrupted_in_its_warm_up_ends_in_order() {
    let bay = Bay::new(1);
    for more in ["", "--write"] {
        let ran = bay.interrupted(&format!("--json bench --warm-up 600 --repeat 1 {more} d0"), || true);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        assert!(ran.json()["results"].is_array(), "{}", ran.stderr);
    }
}
