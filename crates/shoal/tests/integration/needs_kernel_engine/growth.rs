//! Arrays that grow while the kernel runs them and while they are written to.

use crate::needs_kernel_engine::words::inside;
use crate::needs_kernel_engine::{MIB, MIB_BYTES, expect, is_whole, json, said, stage};
use crate::support::pattern;
use crate::support::stage::Stage;

/// Room for md to move data in.
const DRIVE_BYTES: u64 = 40 * MIB;

/// An array with content, and drives beside it; gives its members and those as they are named.
fn create(stage: &mut Stage, level: &str, count: usize, more: usize, options: &str) -> (String, String) {
    stage.set(&vec![DRIVE_BYTES; count + more], 512);
    let named = |numbers: std::ops::Range<usize>| numbers.map(|number| format!("d{number}")).collect::<Vec<_>>();
    let (members, others) = (named(0..count).join(" "), named(count..count + more));
    std::fs::write(stage.path("content"), pattern(12 * MIB_BYTES, 1)).unwrap();
    stage.shoal(&format!("create --level {level} --chunk 64K --assume-clean {options} {members}"), None, None);
    stage.shoal(&format!("write {members}"), Some("content"), None);
    (members, others.iter().map(|name| format!("--drive {name} ")).collect())
}

#[test]
fn needs_kernel_grows_while_it_is_written_to() {
    let Some(mut stage) = stage("arrays that grow while the kernel runs them") else { return };
    for (level, count, more, how, options) in [
        ("5", 3, 1, "--raid-devices 4", ""),
        ("5", 3, 0, "--chunk 128K", ""),
        ("5", 3, 2, "--raid-devices 5", "--bitmap internal"),
        ("6", 4, 0, "--layout left-asymmetric", ""),
        ("4", 3, 1, "--raid-devices 4", ""),
        ("1", 2, 1, "--raid-devices 3", ""),
        ("10", 4, 2, "--raid-devices 6", ""),
    ] {
        let what = format!("raid{level} {how} {options}");
        let (members, add) = create(&mut stage, level, count, more, options);
        let before = stage.json(&format!("status {members}"))["capacity_bytes"].as_u64().unwrap();
        expect(&stage, MIB, "first", &pattern(MIB_BYTES + 512 * 5, 2));
        expect(&stage, 8 * MIB, "second", &pattern(3 * MIB_BYTES, 3));
        inside(
            &mut stage,
            &format!(
                "start run --engine kernel {members}
                 shoal speed --max 1M --min 1K d0
                 shoal grow --no-rebuild {how} {add} d0 >grown
                 shoal --json status d0 >growing.json
                 shoal write --offset 1M d0 <first
                 shoal write --offset 8M d0 <second
                 shoal speed --max 1000M --min 100M d0
                 shoal rebuild d0
                 shoal --json status d0 >grown.json
                 shoal read --length 12M d0 >out 2>out.json
                 cmp out content
                 shoal --json scrub d0 >scrub.json
                 shoal stop d0"
            ),
        );
        let after = has_grown(&stage, &what, level, count + more, before);
        is_whole(&mut stage, &what);
        assert_eq!(stage.json("status DRIVES")["capacity_bytes"], after, "{what}");
    }
}

/// What is told while it grows and afterwards; how much it holds then.
fn has_grown(stage: &Stage, what: &str, level: &str, members: usize, before: u64) -> u64 {
    let (growing, grown) = (json(stage, "growing.json"), json(stage, "grown.json"));
    let work = if level == "1" { "rebuild" } else { "reshape" };
    assert_eq!(said(&growing["background"]["work"]), work, "{what}: {growing}");
    assert_eq!(grown["members"].as_array().unwrap().len(), members, "{what}: {grown}");
    assert_eq!((said(&grown["health"]), &grown["background"]), ("optimal", &serde_json::Value::Null), "{what}");
    assert_eq!(json(stage, "scrub.json")["mismatched_bytes"], 0, "{what}");
    let after = grown["capacity_bytes"].as_u64().unwrap();
    assert_eq!(after > before, what.contains("--raid-devices") && level != "1", "{what}: {before} and {after} bytes");
    after
}

/// Whoever has it open reads and writes what has come to it.
#[test]
fn needs_kernel_uses_what_has_grown() {
    let Some(mut stage) = stage("what has come to an array of the kernel's") else { return };
    let (members, add) = create(&mut stage, "5", 3, 1, "");
    let before = stage.json(&format!("status {members}"))["capacity_bytes"].as_u64().unwrap();
    std::fs::write(stage.path("news"), pattern(MIB_BYTES, 7)).unwrap();
    inside(
        &mut stage,
        &format!(
            "start run --engine kernel {members}
             shoal grow --raid-devices 4 {add} d0 >grown
             shoal write --offset {before} d0 <news
             shoal read --offset {before} --length 1M d0 >out 2>out.json
             cmp out news
             refused 3 'that shape already' shoal grow --raid-devices 4 d0
             refused 3 'taking members away' shoal grow --raid-devices 3 d0
             refused 3 'as many drives' shoal grow --raid-devices 5 d0
             refused 2 'no layout' shoal grow --layout sideways d0
             shoal fail --member d1 d0 >failed
             refused 3 'rebuild it first' shoal grow --chunk 128K d0
             shoal stop d0"
        ),
    );
}

#[test]
fn needs_kernel_refuses_to_grow_what_linux_does_not() {
    let Some(mut stage) = stage("arrays that do not grow while the kernel runs them") else { return };
    for (level, options, why) in [
        ("linear", "", "at rest"),
        ("0", "", "RAID4 of a RAID0"),
        ("5", "--consistency-policy ppl", "partial parity log"),
    ] {
        let (members, add) = create(&mut stage, level, 3, 1, options);
        inside(
            &mut stage,
            &format!(
                "start run --engine kernel {members}
                 refused 3 '{why}' shoal grow --raid-devices 4 {add} d0
                 shoal stop d0"
            ),
        );
    }
}

/// Stopped in the midst of it, it goes on by either side.
#[test]
fn needs_kernel_stops_in_a_reshape_and_shoal_ends_it() {
    let Some(mut stage) = stage("a reshape that the kernel began for shoal") else { return };
    let (members, add) = create(&mut stage, "5", 3, 1, "");
    inside(
        &mut stage,
        &format!(
            "start run --engine kernel {members}
             shoal speed --max 2M --min 1K d0
             shoal grow --no-rebuild --raid-devices 4 {add} d0 >grown
             refused 3 'a reshape is under way' shoal grow --chunk 128K d0
             shoal --json stop d0 >stopped.json"
        ),
    );
    stage.refused("read DRIVES", &["shoal grow --continue"]);
    stage.shoal("grow --continue DRIVES", None, None);
    is_whole(&mut stage, "ended by shoal");
}
