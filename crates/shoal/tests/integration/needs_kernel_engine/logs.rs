//! Arrays with logs beside the data: the partial parity log, and a write journal on a drive of its
//! own.

use crate::needs_kernel_engine::words::inside;
use crate::needs_kernel_engine::{MIB, MIB_BYTES, expect, is_whole, json, said, stage, states};
use crate::support::pattern;

#[test]
fn needs_kernel_keeps_a_partial_parity_log() {
    let Some(mut stage) = stage("a partial parity log kept by the kernel") else { return };
    stage.set(&[20 * MIB; 3], 512);
    std::fs::write(stage.path("content"), pattern(6 * MIB_BYTES, 1)).unwrap();
    stage.shoal("create --level 5 --chunk 64K --assume-clean --consistency-policy ppl DRIVES", None, None);
    stage.shoal("write DRIVES", Some("content"), None);
    expect(&stage, MIB + 3 * 512, "first", &pattern(MIB_BYTES, 2));
    expect(&stage, 4 * MIB, "second", &pattern(MIB_BYTES, 3));
    stage.add(20 * MIB);
    inside(
        &mut stage,
        "start run --engine kernel d0 d1 d2
         shoal --json status d0 >running.json
         shoal write --offset 1050112 d0 <first
         shoal fail --member d1 d0
         cut_off
         shoal stop d0 >stopped
         start run --engine kernel d0 d2
         shoal write --offset 4M d0 <second
         shoal add --drive d3 d0
         shoal --json status d0 >added.json
         shoal --json scrub d0 >scrub.json
         shoal stop d0",
    );
    let running = json(&stage, "running.json");
    assert_eq!(said(&running["engine"]["consistency_policy"]), "ppl", "{running}");
    assert_eq!(states(&json(&stage, "added.json")), ["in-sync"; 3]);
    assert_eq!(json(&stage, "scrub.json")["mismatched_bytes"], 0);
    stage.lose(1);
    is_whole(&mut stage, "with a partial parity log");
}

/// The journal is the kernel's: shoal replays one, and hands it over as it found it.
#[test]
fn needs_kernel_keeps_a_write_journal() {
    let Some(mut stage) = stage("a write journal kept by the kernel") else { return };
    stage.set(&[20 * MIB; 4], 512);
    std::fs::write(stage.path("content"), pattern(6 * MIB_BYTES, 1)).unwrap();
    stage.kernel(
        "set -- $DRIVES
         mdadm --create --quiet --run /dev/md0 --level 5 --chunk 64 --raid-devices 3 $1 $2 $3 --write-journal $4
         settle md0
         dd if=content of=/dev/md0 bs=1M oflag=direct 2>/dev/null
         mdadm --stop --quiet /dev/md0",
    );
    expect(&stage, MIB, "news", &pattern(MIB_BYTES, 2));
    inside(
        &mut stage,
        "start run --engine kernel d0 d1 d2 d3
         shoal --json status d0 >running.json
         shoal write --offset 1M d0 <news
         shoal read --length 6M d1 >out 2>out.json
         cmp out content
         refused 3 'write journal' shoal grow --chunk 128K d0
         refused 2 'let it fail first' shoal remove --member d3 d0
         shoal --json scrub d0 >scrub.json
         shoal --json stop d0 >stopped.json",
    );
    let running = json(&stage, "running.json");
    assert_eq!(said(&running["engine"]["consistency_policy"]), "journal", "{running}");
    assert_eq!(json(&stage, "scrub.json")["mismatched_bytes"], 0);
    let length = stage.bytes("content").len();
    stage.shoal(&format!("read --length {length} DRIVES"), None, Some("out"));
    stage.assert_same("out", "content");
}
