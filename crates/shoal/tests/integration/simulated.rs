//! Simulated drives in the commands that ask for drives: what is told of them, and that nothing
//! passes for a measurement.

use std::time::Instant;

use crate::support::Bay;
use serde_json::Value;

/// Sequential, large, and long enough for windows of virtual time to be full.
const LOAD: &str = "--seconds 5 --warm-up 1 --repeat 1 --seed 7";

/// The one rate of a bench.
fn mb_per_s(bay: &Bay, line: &str) -> f64 {
    let document = bay.json(line);
    let [result] = document["results"].as_array().unwrap().as_slice() else { panic!("{document}") };
    result["bytes_per_s"].as_u64().unwrap() as f64 / 1e6
}

#[test]
fn a_new_array_tells_what_its_resync_takes_and_vanishes() {
    let bay = Bay::new(0);
    let line = "create --level 5 sim:cruzer-titanium:size=64M*3@usb2";
    let document = bay.json(line);
    assert_eq!(document["simulated"]["drives"], "sim:cruzer-titanium:size=64M*3@usb2");
    assert_eq!((&document["needs_resync"], &document["health"]), (&false.into(), &"optimal".into()));
    // Three drives are read whole; alone they would do 20 MB/s each, and the bus lets no more
    // through at once than 45.
    let resync_s = document["simulated"]["resync_ns"].as_u64().unwrap() as f64 / 1e9;
    let least_s = 3.0 * 62e6 / 53e6;
    assert!(resync_s > least_s && resync_s < 3.0 * least_s, "{resync_s} s");
    assert_eq!(bay.json(line), document, "the same array each time");
    let text = String::from_utf8(bay.done(line).stdout).unwrap();
    assert!(text.contains("SIMULATED: sim:") && text.contains("its resync") && text.contains("vanishes"), "{text}");
    let clean = bay.json("create --level 5 --assume-clean sim:cruzer-titanium:size=64M*3");
    assert_eq!(clean["simulated"]["resync_ns"], Value::Null);
    let logged = bay.json("create --level 5 --consistency-policy ppl --spares 1 sim:cruzer-titanium:size=64M*4");
    assert_eq!(logged["spares"].as_array().unwrap().len(), 1);
    bay.json("create --level 1 --bitmap internal sim:cruzer-titanium:size=64M*2");
    bay.json("create --level 50 sim:cruzer-titanium:size=64M*6");
    assert!(bay.snapshot().is_empty(), "something is left");
}

#[test]
fn arrays_are_as_fast_as_drives_and_buses_let_them() {
    let bay = Bay::new(0);
    let one = mb_per_s(&bay, &format!("bench sim:cruzer-titanium {LOAD}"));
    let bus = mb_per_s(&bay, &format!("bench sim:cruzer-titanium*6@usb2 --level 0 {LOAD}"));
    let buses = mb_per_s(&bay, &format!("bench sim:cruzer-titanium*6@usb2*2 --level 0 {LOAD}"));
    let written = mb_per_s(&bay, &format!("bench sim:cruzer-titanium*6@usb2 --level 0 --write {LOAD}"));
    assert!((18.0..21.0).contains(&one), "{one} MB/s");
    assert!((43.0..48.0).contains(&bus), "{bus} MB/s: six drives share what one bus lets through");
    assert!(buses > 1.7 * bus, "{buses} MB/s on two buses, {bus} MB/s on one");
    assert!((34.0..40.0).contains(&written), "{written} MB/s");
}

#[test]
fn a_benchmark_says_that_it_is_simulated_and_is_the_same_again() {
    let bay = Bay::new(0);
    let line = format!("bench sim:cruzer-titanium*2@usb2 sim:rally2 --random --mix 50 {LOAD}");
    let document = bay.json(&line);
    assert_eq!(document, bay.json(&line));
    let results = document["results"].as_array().unwrap();
    let names: Vec<_> = results.iter().map(|result| result["target"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sim:cruzer-titanium#0", "sim:cruzer-titanium#1", "sim:rally2#2"]);
    for result in results {
        assert_eq!(result["target"]["simulated"], "sim:cruzer-titanium*2@usb2,rally2");
        assert_eq!(result["target"]["kind"], "simulated");
        // Nothing that would be this machine's, and no judgement by it.
        assert!(result["cpu"].is_null() && result["cpu_ns_per_io"].is_null());
        assert_eq!(result["validity"]["reasons"].as_array().unwrap().len(), 0, "{}", result["validity"]);
    }
    let text = String::from_utf8(bay.done(&line).stdout).unwrap();
    assert_eq!(text.matches("SIMULATED").count(), 3, "{text}");
    let array = bay.json(&format!("bench sim:cruzer-titanium*4 --level 10 --layout f2 --chunk 64K {LOAD}"));
    let target = &array["results"][0]["target"];
    assert_eq!((&target["kind"], &target["layout"]), (&"array".into(), &"far=2".into()));
    assert_eq!((&target["chunk_bytes"], &target["simulated"]), (&65536.into(), &"sim:cruzer-titanium*4".into()));
}

#[test]
fn a_study_is_computed_and_is_the_same_again() {
    let bay = Bay::new(0);
    let line = "study sim:cruzer-titanium:size=128M*4@usb2 --levels 0,5 --chunks 64K,512K --members 3,4 --repeat 2 \
                --seconds 2 --size 48M --seed 3 --report report.html";
    let mut document = bay.json(line);
    let mut again = bay.json(line);
    assert!(document["started_unix_ns"].take().is_u64() && again["started_unix_ns"].take().is_u64());
    assert!(document == again, "two studies of one seed differ in more than their dates");
    assert_eq!(document["simulated"], "sim:cruzer-titanium:size=128M*4@usb2");
    assert_eq!(document["host"]["cores"], 0, "the machine is none of this");
    assert!(document["complete"].as_bool().unwrap(), "{}", document["warnings"]);
    // On one bus, all drives at once are no four times one drive.
    let of_reads = |summaries: &Value, rate: &str| {
        let is_of_reads = |summary: &&Value| summary["metric"] == "sequential_read";
        summaries.as_array().unwrap().iter().find(is_of_reads).unwrap()[rate]["median"].as_u64().unwrap()
    };
    let analysis = &document["analysis"];
    let alone = of_reads(&analysis["drives"][0]["workloads"], "bytes_per_s");
    let together = of_reads(&analysis["together"], "total_bytes_per_s");
    assert!(together * 10 < alone * 26, "{together} of four drives, {alone} of one");
    let arrays = document["arrays"].as_array().unwrap();
    assert_eq!(arrays.len(), 8);
    for array in arrays {
        assert_eq!(array["verification"]["wrong_blocks"], 0);
        assert!(array["verification"]["bytes"].as_u64().unwrap() > 32 << 20);
        for measurement in array["measurements"].as_array().unwrap() {
            assert_eq!(measurement["target"]["simulated"], document["simulated"]);
        }
    }
    assert_eq!(document["fault"]["verification"]["wrong_blocks"], 0);
    assert!(document["fault"]["rebuild_ns"].as_u64().unwrap() > 1_000_000_000, "{}", document["fault"]["rebuild_ns"]);
    let text = String::from_utf8(bay.done(&format!("{line} --quiet")).stdout).unwrap();
    assert!(text.starts_with("SIMULATED, all of it"), "{text}");
    let report = std::fs::read_to_string(bay.path("report.html")).unwrap();
    assert!(report.contains("\"simulated\":\"sim:cruzer-titanium:size=128M*4@usb2\""), "the report hides it");
}

#[test]
fn in_real_time_no_less_time_passes_than_is_told() {
    let bay = Bay::new(0);
    let start = Instant::now();
    let document = bay.json("bench sim:cruzer-titanium --write --bytes 8M --warm-up 0 --repeat 1 --real-time");
    let passed_ns = start.elapsed().as_nanos();
    let told_ns = document["results"][0]["elapsed_ns"].as_u64().unwrap();
    assert!(told_ns > 900_000_000, "8 MiB at 8 MB/s took {told_ns} ns");
    assert!(passed_ns >= u128::from(told_ns), "{told_ns} ns in {passed_ns} ns");
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let bay = Bay::new(2);
    let drives = "sim:cruzer-titanium*2";
    for line in ["examine", "status", "read", "write", "rebuild", "scrub", "recover"] {
        bay.refused(&format!("{line} {drives}"), 2, &[drives, "exist only while a command runs", "use them with"]);
    }
    bay.refused(&format!("fail --member d0 {drives}"), 2, &["exist only while a command runs"]);
    bay.refused(&format!("grow --raid-devices 3 {drives}"), 2, &["exist only while a command runs"]);
    bay.refused(&format!("bench d0 {drives}"), 2, &["d0 is a real drive", "give drives of one kind"]);
    bay.refused(&format!("create --level 0 d0 {drives}"), 2, &["d0 is a real drive"]);
    bay.refused(&format!("study d0 {drives}"), 2, &["d0 is a real drive"]);
    bay.refused("bench sim:no-such-drive", 2, &["no-such-drive"]);
    bay.refused("bench sim:cruzer-titanium*0", 2, &["cruzer-titanium*0"]);
    bay.refused("bench sim:cruzer-titanium*999999999", 2, &["from 1 to 1000"]);
    bay.refused("bench sim:cruzer-titanium*1000 sim:cruzer-titanium*1000", 2, &["more than 1000 drives"]);
    bay.refused("bench sim:", 2, &["character 1"]);
    bay.refused(&format!("bench {drives} --level 6"), 2, &["2 members are too few"]);
    bay.refused(&format!("bench {drives} --level 9"), 2, &["9"]);
    bay.refused(&format!("bench {drives} --raw"), 2, &["--raw is for real drives"]);
    bay.refused("bench d0 --level 0", 2, &["--level is for simulated drives", "shoal create"]);
    bay.refused("bench d0 --real-time", 2, &["--real-time is for simulated drives"]);
    bay.refused("create --level 1 sim:cruzer-titanium", 2, &["at least 2 members"]);
}
