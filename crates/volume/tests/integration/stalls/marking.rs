//! A member that does not take its superblock while the array is being marked active.

use std::time::Duration;

use crate::stalls::rig::{LONG, Rig, pattern};

/// A write waits for the mark, and what is read or flushed meanwhile does not wait for the write.
#[test]
fn reads_pass_while_the_array_is_being_marked_active() {
    let mut rig = Rig::new("1", 2);
    rig.stall(1, Duration::from_secs(5));
    rig.write(0, 0, &pattern(4096, 1));
    rig.read(1, 65536, 4096);
    assert!(rig.answer(1, Duration::from_secs(1)).is_some_and(|answer| answer.result.is_ok()), "the other can be read");
    assert!(rig.answer(0, Duration::from_secs(1)).is_none(), "its superblocks are not written yet");
    assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()));
    rig.read(1, 0, 4096);
    assert_eq!(rig.answer(1, LONG).unwrap().result, Ok(()));
    assert_eq!(rig.bytes(1, 4096), pattern(4096, 1));
}
