//! `--engine kernel`: arrays that shoal made, run by Linux's own md and administered by shoal, and
//! handed back.
//!
//! shoal makes and reads them on the host, and runs them in the guest, which has md. Whatever the
//! story, no loop device and no md device is left at its end.

mod growth;
mod logs;
mod words;

use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::support;
use crate::support::stage;
use crate::support::stage::Stage;
use crate::support::{has, pattern};
use words::{inside, said};

const MIB: u64 = 1 << 20;
const MIB_BYTES: usize = 1 << 20;

/// Level, members, and whether one of them may be lost.
const LEVELS: [(&str, usize, bool); 5] =
    [("0", 3, false), ("1", 2, true), ("5", 3, true), ("6", 4, true), ("10", 4, true)];

fn stage(what: &str) -> Option<Stage> {
    stage::lab(what).map(|lab| Stage::new(&lab))
}

/// An array of shoal's on drives `d0`, ..., with all of `content` at its start.
fn create(stage: &mut Stage, level: &str, count: usize, content: &[u8]) {
    stage.set(&vec![10 * MIB; count], 512);
    std::fs::write(stage.path("content"), content).unwrap();
    stage.shoal(&format!("create --level {level} --chunk 64K --assume-clean --name pond DRIVES"), None, None);
    stage.shoal("write DRIVES", Some("content"), None);
}

/// Changes what the content is to be.
fn expect(stage: &Stage, offset: u64, name: &str, bytes: &[u8]) {
    std::fs::write(stage.path(name), bytes).unwrap();
    let content = std::fs::File::options().write(true).open(stage.path("content")).unwrap();
    content.write_all_at(bytes, offset).unwrap();
}

fn json(stage: &Stage, name: &str) -> Value {
    serde_json::from_slice(&stage.bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn states(document: &Value) -> Vec<&str> {
    document["members"].as_array().unwrap().iter().map(|member| member["state"].as_str().unwrap()).collect()
}

/// shoal on the host finds the array in order, with the content that it is to have.
fn is_whole(stage: &mut Stage, what: &str) {
    let status = stage.json("status DRIVES");
    assert_eq!((&status["health"], &status["needs_resync"]), (&"optimal".into(), &false.into()), "{what}: {status}");
    assert_eq!(status["left_out"], Value::Array(Vec::new()), "{what}: {status}");
    let length = stage.bytes("content").len();
    stage.shoal(&format!("read --length {length} DRIVES"), None, Some("out"));
    stage.assert_same("out", "content");
}

#[test]
fn needs_kernel_runs_what_shoal_made_and_hands_it_back() {
    let Some(mut stage) = stage("arrays of all levels run by the kernel") else { return };
    for (level, count, is_redundant) in LEVELS {
        create(&mut stage, level, count, &pattern(6 * MIB_BYTES, 1));
        expect(&stage, MIB + 3 * 512, "first", &pattern(70 * 512, 2));
        expect(&stage, 4 * MIB, "second", &pattern(MIB_BYTES, 3));
        let drives = stage.drives();
        let middle = if is_redundant { loses_one(&mut stage) } else { "shoal write --offset 4M d0 <second".to_owned() };
        inside(
            &mut stage,
            &format!(
                "start run --engine kernel {drives}
                 shoal --json status d0 >running.json
                 shoal write --offset 1050112 d0 <first
                 {middle}
                 shoal read --length 6M d0 >out 2>out.json
                 cmp out content
                 shoal --json stop d0 >stopped.json"
            ),
        );
        let running = json(&stage, "running.json");
        assert!(said(&running["engine"]["name"]).starts_with("Linux md 6."), "raid{level}: {running}");
        assert!(running["running"]["process_id"].is_u64(), "raid{level}: {running}");
        assert_eq!(json(&stage, "stopped.json")["health"], "optimal", "raid{level}");
        if is_redundant {
            has_lost_one(&mut stage, level);
        }
        is_whole(&mut stage, &format!("raid{level} handed back"));
    }
}

/// What the guest does while member 1 fails and a spare is filled in its place.
fn loses_one(stage: &mut Stage) -> String {
    stage.add(10 * MIB);
    let drives = stage.drives();
    let spare = drives.rsplit(' ').next().unwrap();
    format!(
        "shoal fail --member d1 d0
         shoal write --offset 4M d0 <second
         shoal speed --max 1M --min 1K d0
         shoal add --no-rebuild --drive {spare} d0
         shoal --json status d0 >rebuilding.json
         shoal speed --max 1000M --min 100M d0
         shoal rebuild d0
         shoal --json scrub d0 >scrub.json
         shoal remove --member d1 d0"
    )
}

fn has_lost_one(stage: &mut Stage, level: &str) {
    let rebuilding = json(stage, "rebuilding.json");
    assert_eq!(states(&rebuilding)[1], "rebuilding", "raid{level}: {rebuilding}");
    assert_eq!(rebuilding["background"]["work"], "rebuild", "raid{level}: {rebuilding}");
    let scrub = json(stage, "scrub.json");
    assert_eq!(scrub["mismatched_bytes"], 0, "raid{level}: {scrub}");
    stage.lose(1);
}

/// The other way round: what shoal writes meanwhile is what the kernel finds, and parity and copies
/// agree.
#[test]
fn needs_kernel_takes_arrays_back_and_forth() {
    let Some(mut stage) = stage("arrays that go back and forth") else { return };
    create(&mut stage, "5", 3, &pattern(6 * MIB_BYTES, 1));
    for round in 2..4 {
        expect(&stage, round * MIB, "news", &pattern(MIB_BYTES + 512 * 5, round));
        stage.shoal(&format!("write --offset {} DRIVES", round * MIB), Some("news"), None);
        inside(
            &mut stage,
            "start run --engine kernel d0 d1 d2
             shoal read --length 6M d1 >out 2>out.json
             cmp out content
             shoal --json scrub d0 >scrub.json
             shoal stop d2",
        );
        assert_eq!(json(&stage, "scrub.json")["mismatched_bytes"], 0);
        is_whole(&mut stage, "handed back");
    }
}

#[test]
fn needs_kernel_is_served_by_nbd() {
    let Some(mut stage) = stage("an array of the kernel's by NBD") else { return };
    if !has("nbdcopy") {
        eprintln!("SKIPPED: an array of the kernel's by NBD: needs nbdcopy; `scripts/setup test` brings it");
        return;
    }
    create(&mut stage, "6", 4, &pattern(6 * MIB_BYTES, 1));
    expect(&stage, 0, "news", &pattern(6 * MIB_BYTES, 2));
    inside(
        &mut stage,
        "start serve --engine kernel --nbd unix:/run/nbd.sock --export pond d0 d1 d2 d3
         uri='nbd+unix:///pond?socket=/run/nbd.sock'
         nbdcopy news \"$uri\"
         nbdcopy \"$uri\" out
         cmp -n 6291456 out content
         shoal fail --member d3 d0
         nbdcopy \"$uri\" out
         cmp -n 6291456 out content
         shoal stop d0",
    );
    stage.lose(3);
    stage.shoal("read --length 6M DRIVES", None, Some("out"));
    stage.assert_same("out", "content");
}

#[test]
fn needs_kernel_goes_on_when_shoal_is_killed() {
    let Some(mut stage) = stage("an array of the kernel's without shoal") else { return };
    create(&mut stage, "1", 2, &pattern(3 * MIB_BYTES, 1));
    expect(&stage, 0, "news", &pattern(2 * MIB_BYTES, 2));
    inside(
        &mut stage,
        "start run --engine kernel d0 d1
         shoal write d0 <news
         cut_off
         [ -e /sys/block/md127/md ]
         shoal --json status d0 >orphan.json
         refused 3 'shoal run --engine kernel' shoal fail --member d1 d0
         refused 3 md127 shoal write d0 d1
         start run --engine kernel d0
         shoal --json status d1 >taken-over.json
         shoal read --length 3M d0 >out 2>out.json
         cmp out content
         cut_off
         shoal stop d1",
    );
    let orphan = json(&stage, "orphan.json");
    assert_eq!((&orphan["engine"]["device"], &orphan["running"]), (&"/dev/md127".into(), &Value::Null), "{orphan}");
    let taken = json(&stage, "taken-over.json");
    assert_eq!(taken["engine"]["device"], "/dev/md127", "{taken}");
    assert!(taken["running"]["process_id"].is_u64(), "{taken}");
    is_whole(&mut stage, "stopped without shoal");
}

/// Members that are re-added, replaced and failed once too often, as far as the kernel's rules go.
#[test]
fn needs_kernel_administers_members() {
    let Some(mut stage) = stage("members of arrays of the kernel's") else { return };
    stage.set(&[10 * MIB; 3], 512);
    std::fs::write(stage.path("content"), pattern(4 * MIB_BYTES, 1)).unwrap();
    stage.shoal("create --level 5 --chunk 64K --assume-clean --bitmap internal DRIVES", None, None);
    stage.shoal("write DRIVES", Some("content"), None);
    expect(&stage, MIB, "news", &pattern(MIB_BYTES, 2));
    stage.add(10 * MIB);
    inside(
        &mut stage,
        "start run --engine kernel d0 d1 d2
         shoal fail --member d1 d0
         refused 3 'no redundancy' shoal fail --member d2 d0
         shoal write --offset 1M d0 <news
         shoal re-add --drive d1 d0
         shoal --json status d0 >re-added.json
         shoal replace --member d0 --drive d3 d1
         shoal --json status d1 >replaced.json
         refused 2 'no member' shoal fail --member content d1
         refused 2 'let it fail first' shoal remove --member d2 d1
         shoal read --length 4M d1 >out 2>out.json
         cmp out content
         shoal remove --member d0 d1
         shoal stop d1",
    );
    assert_eq!(states(&json(&stage, "re-added.json")), ["in-sync"; 3]);
    let replaced = json(&stage, "replaced.json");
    assert_eq!(stage::name(replaced["members"][0]["drive"].as_str().unwrap()), "d3", "{replaced}");
    stage.lose(0);
    is_whole(&mut stage, "with other members");
}

/// An array that others assembled is taken over, and what they set up stays theirs; one that only
/// holds its devices is in nobody's way.
#[test]
fn needs_kernel_takes_over_what_others_assembled() {
    let Some(mut stage) = stage("an array of others") else { return };
    create(&mut stage, "5", 3, &pattern(3 * MIB_BYTES, 1));
    inside(
        &mut stage,
        "attach_all 512 d0 d1 d2
         mdadm --assemble --quiet /dev/md5 $DRIVES
         shoal --json status d0 >theirs.json
         start run --engine kernel d1
         shoal read --length 3M d0 >out 2>out.json
         cmp out content
         shoal stop d2
         [ -e /sys/block/loop0/loop ]
         mdadm --incremental --quiet /dev/loop0 || true
         losetup --detach-all
         [ \"$(cat /sys/block/md*/md/array_state)\" = inactive ]
         start run --engine kernel d0 d1 d2
         shoal read --length 3M d0 >out 2>out.json
         cmp out content
         shoal stop d2",
    );
    let theirs = json(&stage, "theirs.json");
    assert_eq!((&theirs["engine"]["device"], &theirs["health"]), (&"/dev/md5".into(), &"optimal".into()), "{theirs}");
    is_whole(&mut stage, "taken over from others");
}

/// Nothing is written to any member, whatever is asked for.
#[test]
fn needs_kernel_serves_for_reading_only() {
    let Some(mut stage) = stage("an array of the kernel's for reading only") else { return };
    create(&mut stage, "5", 3, &pattern(3 * MIB_BYTES, 1));
    let before = ["d0", "d1", "d2"].map(|drive| stage.bytes(drive));
    inside(
        &mut stage,
        "start serve --read-only --engine kernel --nbd unix:/run/nbd.sock d0 d1 d2
         refused 3 'reading only' shoal fail --member d1 d0
         refused 2 'reading only' shoal scrub d0
         shoal write d0 <content 2>refusal && exit 1
         shoal read --length 3M d0 >out 2>out.json
         cmp out content
         shoal stop d2",
    );
    assert!(before == ["d0", "d1", "d2"].map(|drive| stage.bytes(drive)), "a member was written to");
}

#[test]
fn needs_kernel_refuses_what_shoal_refuses() {
    let Some(mut stage) = stage("arrays that are not handed over") else { return };
    create(&mut stage, "5", 3, &pattern(MIB_BYTES, 1));
    // Cut off in the middle of writing, and one member short.
    std::fs::write(stage.path("news"), pattern(12 * MIB_BYTES, 2)).unwrap();
    stage.killed_while_active("write DRIVES", "news");
    inside(
        &mut stage,
        "refused 3 'not shut down cleanly' shoal run --engine kernel --degraded d0 d2
         start run --engine kernel --force d0 d2
         shoal --json status d0 >forced.json
         shoal stop d0",
    );
    assert_eq!(json(&stage, "forced.json")["health"], "degraded");
    stage.set(&[10 * MIB; 6], 512);
    stage.shoal("create --level 50 --chunk 64K --assume-clean DRIVES", None, None);
    inside(
        &mut stage,
        "refused 2 'array of arrays' shoal run --engine kernel d0 d1 d2 d3 d4 d5
         refused 2 simulated shoal run --engine kernel --level 0 'sim:cruzer-titanium*2'",
    );
}

#[test]
fn needs_kernel_is_measured_like_any_array() {
    let Some(mut stage) = stage("benchmarks and studies of arrays of the kernel's") else { return };
    create(&mut stage, "0", 3, &pattern(4 * MIB_BYTES, 1));
    inside(
        &mut stage,
        "shoal --json bench --engine kernel --seconds 1 --warm-up 0 --repeat 1 d0 d1 d2 >bench.json
         rm d0 d1 d2; truncate -s 20M d0 d1 d2
         shoal --json study --engine kernel --seconds 1 --repeat 1 --levels 0 --chunks 64K d0 d1 d2 >study.json",
    );
    let bench = json(&stage, "bench.json");
    assert!(said(&bench["results"][0]["target"]["engine"]).starts_with("Linux md 6."), "{bench}");
    assert!(bench["results"][0]["bytes"].as_u64().unwrap() > 0, "{bench}");
    let study = json(&stage, "study.json");
    assert!(said(&study["engine"]).starts_with("Linux md 6."), "{study}");
    assert_eq!(study["complete"], true, "{}", study["warnings"]);
    assert_eq!(study["arrays"][0]["verification"]["wrong_blocks"], 0);
    let fault = &study["fault"];
    assert_eq!((&fault["verification"]["wrong_blocks"], &fault["scrub_mismatched_bytes"]), (&0.into(), &0.into()));
}

/// Where there is no md, one line says what is missing.
#[test]
fn without_md_it_is_told_what_is_missing() {
    if std::path::Path::new("/proc/mdstat").exists() {
        eprintln!("SKIPPED: what is told where there is no md: needs a kernel without it");
        return;
    }
    let bay = support::Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    bay.refused("run --engine kernel d0 d1", 1, &["/proc/mdstat", "modprobe md_mod"]);
}
