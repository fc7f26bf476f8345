//! Arrays that are not whole or not at rest: one side leaves them so, and the other goes on.
//!
//! A *cell* is a state, an array and who leaves it. Adding one: write its two stories beside the others, each a function
//! of an array and a stage that ends with a word for the table, and name them in `STATES`. `SHOAL_CELLS=WORD` runs
//! those cells alone whose name has the word in it. What came of them is a table in `docs/compatibility.md`.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../support/pool.rs"]
mod pool;
#[path = "../support/stage.rs"]
mod stage;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/table.rs"]
mod table;

mod arrays;
mod members;

use arrays::{Array, MIRROR, RAID5, RAID6, RAID10};
use pool::Cell;
use stage::Stage;

type Story = fn(Array, &mut Stage) -> &'static str;

/// A state, and what becomes of arrays that are left in it.
struct State {
    name: &'static str,
    arrays: &'static [Array],
    the_kernel_leaves_it: Story,
    shoal_leaves_it: Story,
}

const REDUNDANT: &[Array] = &[MIRROR, RAID5, RAID6, RAID10];

const STATES: &[State] = &[
    State {
        name: "degraded, with a stale member",
        arrays: REDUNDANT,
        the_kernel_leaves_it: members::kernel_leaves_it_degraded,
        shoal_leaves_it: members::shoal_leaves_it_degraded,
    },
    State {
        name: "rebuilding, from its position",
        arrays: REDUNDANT,
        the_kernel_leaves_it: members::kernel_leaves_it_rebuilding,
        shoal_leaves_it: members::shoal_leaves_it_rebuilding,
    },
    State {
        name: "with a spare",
        arrays: REDUNDANT,
        the_kernel_leaves_it: members::kernel_leaves_a_spare,
        shoal_leaves_it: members::shoal_leaves_a_spare,
    },
];

#[test]
fn needs_kernel_every_state_both_ways() {
    let Some(lab) = stage::lab("every state both ways") else { return };
    let pairs = STATES.iter().flat_map(|state| state.arrays.iter().map(move |&array| (state, array)));
    let cells = pairs.clone().flat_map(|(state, array)| {
        let name = |who| format!("{} {}, {who}", array.name, state.name);
        let (kernel, shoal) = (state.the_kernel_leaves_it, state.shoal_leaves_it);
        [
            Cell::new(name("the kernel leaves it"), move |stage| kernel(array, stage)),
            Cell::new(name("shoal leaves it"), move |stage| shoal(array, stage)),
        ]
    });
    let Some(outcomes) = pool::run(&lab, cells.collect()) else { return };
    let rows = pairs
        .zip(outcomes.chunks(2))
        .map(|((state, array), left)| [state.name, array.name, left[0], left[1]].map(str::to_owned).to_vec());
    table::hold("states", &["state", "array", "the kernel leaves it", "shoal leaves it"], rows.collect());
}
