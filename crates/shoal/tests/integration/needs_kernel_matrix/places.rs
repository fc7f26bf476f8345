//! Arrays of several terabytes, in sparse files: a few places are written and read instead of all
//! content. They are where numbers of sectors outgrow 32 bits, on the array and on a member, and
//! both ends. Redundancy is checked around them.

use crate::needs_kernel_matrix::shapes::Shape;
use crate::needs_kernel_matrix::turns;
use crate::support::pattern;
use crate::support::stage::Stage;

const PLACE_BYTES: u64 = 1 << 20;
/// The first byte whose sector number takes 33 bits.
const LIMIT: u64 = 512 << 32;

/// Creates the array, and writes its places.
pub(crate) fn kernel_creates(shape: &Shape, stage: &mut Stage) {
    turns::kernel_creates_with(shape, stage, "blockdev --getsize64 /dev/md0 >capacity");
    kernel_changes(stage);
}

/// Writes the places, with bytes of their own.
pub(crate) fn kernel_changes(stage: &mut Stage) {
    let offsets = put_places(stage, 1);
    let script: String = offsets
        .iter()
        .map(|offset| {
            let seek = offset / 4096;
            format!("dd if=place{offset} of=/dev/md0 bs=4K seek={seek} conv=notrunc oflag=direct status=none\n")
        })
        .collect();
    stage.kernel(&format!("mdadm --assemble --quiet /dev/md0 $DRIVES\n{script}\nmdadm --stop --quiet /dev/md0"));
}

/// Finds the array clean, the places as they should be, and redundancy right around them.
pub(crate) fn kernel_agrees(shape: &Shape, stage: &mut Stage) {
    let capacity = capacity(stage);
    let script: String = offsets(capacity)
        .iter()
        .map(|&offset| {
            let (skip, count) = (offset / 4096, PLACE_BYTES / 4096);
            let compared = format!("dd if=/dev/md0 bs=4K skip={skip} count={count} status=none | cmp place{offset} -");
            format!("{compared}\n{}\n", check_around(shape, offset, capacity))
        })
        .collect();
    let printed = if shape.has_redundancy() { "echo $found" } else { "" };
    turns::kernel_finds_it_clean(shape, stage, &format!("found=0\n{script}\n{printed}"));
}

/// Lines that check a window around a place, and add what they find to `found`.
fn check_around(shape: &Shape, offset: u64, capacity: u64) -> String {
    if !shape.has_redundancy() {
        return String::new();
    }
    // Copies that lie far apart are found by array offset, and parity by what one member holds of
    // the same share.
    let whole = if shape.level == "10" { "$(cat /sys/block/md0/size)" } else { "$(($(cat component_size) * 2))" };
    let (offset_mib, capacity_mib) = (offset >> 20, capacity >> 20);
    format!(
        "cd /sys/block/md0/md
         whole={whole}
         middle=$((whole / 2048 * {offset_mib} / {capacity_mib}))
         start=$((middle > 8 ? (middle - 8) * 2048 : 0))
         end=$(((middle + 8) * 2048))
         tell sync_min 0
         if [ $end -lt $whole ]; then tell sync_max $end; else tell sync_max max; fi
         tell sync_min $start
         tell sync_action check
         while [ \"$(cat sync_action)\" = check ]; do
             at=$(synced md0)
             if [ \"$at\" != none ] && [ \"$at\" -ge $end ]; then echo idle >sync_action; fi
             sleep 0.02
         done
         found=$((found + $(cat mismatch_cnt)))
         cd - >/dev/null"
    )
}

/// Creates the array, and writes its places.
pub(crate) fn shoal_creates(shape: &Shape, stage: &mut Stage) {
    let created = stage.json(&format!("create {} DRIVES", shape.options()));
    std::fs::write(stage.path("capacity"), created["capacity_bytes"].to_string()).unwrap();
    shoal_changes(stage);
}

/// Writes the places, with bytes of their own.
pub(crate) fn shoal_changes(stage: &mut Stage) {
    for offset in put_places(stage, 2) {
        stage.shoal(&format!("write --offset {offset} DRIVES"), Some(&format!("place{offset}")), None);
    }
}

/// Finds the array whole, and the places as they should be.
pub(crate) fn shoal_agrees(stage: &mut Stage) {
    turns::shoal_finds_it_clean(stage);
    for offset in offsets(capacity(stage)) {
        stage.shoal(&format!("read --offset {offset} --length {PLACE_BYTES} DRIVES"), None, Some("read"));
        stage.assert_same("read", &format!("place{offset}"));
    }
}

/// Makes a file of what is to be written at each place.
fn put_places(stage: &Stage, round: u64) -> Vec<u64> {
    let offsets = offsets(capacity(stage));
    for &offset in &offsets {
        let bytes = pattern(PLACE_BYTES as usize, offset + round);
        std::fs::write(stage.path(&format!("place{offset}")), bytes).unwrap();
    }
    offsets
}

fn capacity(stage: &Stage) -> u64 {
    std::fs::read_to_string(stage.path("capacity")).unwrap().trim().parse().unwrap()
}

/// Both ends, the middle, and across the limit: of the array, and of the members as far as their
/// shares are equal.
fn offsets(capacity: u64) -> Vec<u64> {
    let of_members = capacity / 5 * 4 + 8192;
    let mut offsets = vec![0, LIMIT - PLACE_BYTES / 2, capacity / 2, of_members, capacity - PLACE_BYTES];
    offsets.iter_mut().for_each(|offset| *offset -= *offset % 4096);
    offsets.retain(|offset| offset + PLACE_BYTES <= capacity);
    offsets
}
