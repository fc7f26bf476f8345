//! Real power cuts: the kernel, or shoal, is killed while it writes to an array, and the other side
//! assembles it.
//!
//! After each, every block that was acknowledged holds what was acknowledged, every other one what
//! it held or what was being written, and once the array is in sync again parity and copies agree.
//! Where an array has a partial-parity log, a drive is lost at the same time, too: then blocks that
//! were being written may hold anything, and all others hold what they should. Each cut follows
//! from its number, apart from where exactly it falls; `SHOAL_CUTS=N` makes N of each kind, and
//! `SHOAL_CELLS=WORD` runs those alone whose name has the word in it.

mod history;
mod kernel_killed;
mod shoal_killed;

use crate::support::pool;
use crate::support::pool::Cell;
use crate::support::stage;
use crate::support::stage::Stage;

/// Of each kind, unless told otherwise: three for each array, with other numbers.
const CUTS: u64 = 30;
const MEMBER_BYTES: u64 = 12 << 20;

/// What power is cut under: the options that shoal and mdadm share, and the number of members.
#[derive(Clone, Copy)]
struct Array {
    options: &'static str,
    members: usize,
    /// Which drive is lost with the power.
    lost: Option<usize>,
}

const fn array(options: &'static str, members: usize) -> Array {
    Array { options, members, lost: None }
}

const ARRAYS: [Array; 10] = [
    array("--level 5 --chunk 64K", 4),
    array("--level 1", 2),
    array("--level 6 --chunk 64K", 5),
    array("--level 10 --chunk 64K", 4),
    array("--level 5 --layout right-asymmetric --chunk 4K", 3),
    array("--level 10 --layout f2 --chunk 32K", 3),
    array("--level 6 --layout ddf-N-continue --chunk 16K --bitmap internal", 6),
    array("--level 1 --bitmap internal", 3),
    array("--level 5 --chunk 16K --consistency-policy ppl", 4),
    Array { lost: Some(1), ..array("--level 5 --chunk 32K --consistency-policy ppl", 4) },
];

#[test]
fn needs_kernel_power_is_cut_while_one_side_writes() {
    let Some(lab) = stage::lab("power is cut while one side writes") else { return };
    let cuts = std::env::var("SHOAL_CUTS").map_or(CUTS, |text| text.parse().expect("SHOAL_CUTS is a number"));
    let cells = (0..cuts).flat_map(|number| {
        let array = ARRAYS[number as usize % ARRAYS.len()];
        let lost = if array.lost.is_some() { ", a drive is lost" } else { "" };
        let name = |who| format!("cut {number}, {}{lost}, {who} is killed", array.options);
        [
            Cell::new(name("the kernel"), move |stage: &mut Stage| kernel_killed::cut(array, number, stage)),
            Cell::new(name("shoal"), move |stage: &mut Stage| shoal_killed::cut(array, number, stage)),
        ]
    });
    pool::run(&lab, cells.collect());
}
