//! Real power cuts: the kernel, or shoal, is killed while it writes to an array, and the other side assembles it.
//!
//! After each, every block that was acknowledged holds what was acknowledged, every other one what it held or what was
//! being written, and once the array is in sync again parity and copies agree. Each cut follows from its number, apart from where
//! exactly it falls; `SHOAL_CELLS=WORD` runs those alone whose name has the word in it.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../support/pool.rs"]
mod pool;
#[path = "../support/stage.rs"]
mod stage;
#[path = "../support/mod.rs"]
mod support;

mod history;
mod kernel_killed;
mod shoal_killed;

use pool::Cell;
use stage::Stage;

/// Of each kind.
const CUTS: u64 = 28;
const MEMBER_BYTES: u64 = 12 << 20;

/// What power is cut under: the options that shoal and mdadm share, and the number of members.
#[derive(Clone, Copy)]
struct Array {
    options: &'static str,
    members: usize,
}

const ARRAYS: [Array; 7] = [
    Array { options: "--level 5 --chunk 64K", members: 4 },
    Array { options: "--level 1", members: 2 },
    Array { options: "--level 6 --chunk 64K", members: 5 },
    Array { options: "--level 10 --chunk 64K", members: 4 },
    Array { options: "--level 5 --layout right-asymmetric --chunk 4K", members: 3 },
    Array { options: "--level 10 --layout f2 --chunk 32K", members: 3 },
    Array { options: "--level 6 --layout ddf-N-continue --chunk 16K", members: 6 },
];

#[test]
fn needs_kernel_power_is_cut_while_one_side_writes() {
    let Some(lab) = stage::lab("power is cut while one side writes") else { return };
    let cells = (0..CUTS).flat_map(|number| {
        let array = ARRAYS[number as usize % ARRAYS.len()];
        let name = |who| format!("cut {number}, {}, {who} is killed", array.options);
        [
            Cell::new(name("the kernel"), move |stage: &mut Stage| kernel_killed::cut(array, number, stage)),
            Cell::new(name("shoal"), move |stage: &mut Stage| shoal_killed::cut(array, number, stage)),
        ]
    });
    pool::run(&lab, cells.collect());
}
