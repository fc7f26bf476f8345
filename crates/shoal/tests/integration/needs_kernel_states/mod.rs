//! Arrays that are not whole or not at rest: one side leaves them so, and the other goes on.
//!
//! A *cell* is a state, an array and who leaves it. Adding one: write its two stories beside the
//! others, each a function of an array and a stage that ends with a word for the table, and name
//! them in `STATES`. `SHOAL_CELLS=WORD` runs those cells alone whose name has the word in it. What
//! came of them is a table in `docs/compatibility.md`.

mod arrays;
mod bad_blocks;
mod members;
mod refused;
mod replacement;
mod resync;

use crate::support::pool;
use crate::support::pool::Cell;
use crate::support::stage;
use crate::support::stage::Stage;
use crate::support::table;
use arrays::{Array, MIRROR, RAID5, RAID6, RAID10};

type Story = fn(Array, &mut Stage) -> &'static str;

/// A state, the arrays that are left in it, and what becomes of them.
struct State {
    name: &'static str,
    arrays: &'static [Array],
    the_kernel_leaves_it: Story,
    /// None: the kernel alone gets into it.
    shoal_leaves_it: Option<Story>,
}

const REDUNDANT: &[Array] = &[MIRROR, RAID5, RAID6, RAID10];
const PARITY: &[Array] = &[RAID5];

const fn both(name: &'static str, arrays: &'static [Array], the_kernel: Story, shoal: Story) -> State {
    State { name, arrays, the_kernel_leaves_it: the_kernel, shoal_leaves_it: Some(shoal) }
}

const fn kernel_only(name: &'static str, arrays: &'static [Array], the_kernel: Story) -> State {
    State { name, arrays, the_kernel_leaves_it: the_kernel, shoal_leaves_it: None }
}

const STATES: &[State] = &[
    both(
        "degraded, with a stale member",
        REDUNDANT,
        members::kernel_leaves_it_degraded,
        members::shoal_leaves_it_degraded,
    ),
    both(
        "rebuilding, from its position",
        REDUNDANT,
        members::kernel_leaves_it_rebuilding,
        members::shoal_leaves_it_rebuilding,
    ),
    both("with a spare", REDUNDANT, members::kernel_leaves_a_spare, members::shoal_leaves_a_spare),
    both(
        "resyncing, from its checkpoint",
        REDUNDANT,
        resync::kernel_leaves_it_resyncing,
        resync::shoal_leaves_it_resyncing,
    ),
    both(
        "degraded, and not shut down",
        PARITY,
        refused::kernel_leaves_it_dirty_and_degraded,
        refused::shoal_leaves_it_dirty_and_degraded,
    ),
    kernel_only("with bad blocks", REDUNDANT, bad_blocks::kernel_leaves_bad_blocks),
    kernel_only("a member being replaced", REDUNDANT, replacement::kernel_leaves_it_replacing),
    kernel_only("being reshaped", PARITY, refused::kernel_leaves_it_reshaping),
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
            Cell::new(name("shoal leaves it"), move |stage| shoal.map_or("", |shoal| shoal(array, stage))),
        ]
    });
    let outcomes = pool::run(&lab, cells.collect());
    let rows = pairs.zip(outcomes.chunks(2)).map(|((state, array), left)| {
        [Some(state.name), Some(array.name), left[0], left[1]].map(|cell| cell.map(str::to_owned)).to_vec()
    });
    table::hold("states", &["state", "array", "the kernel leaves it", "shoal leaves it"], rows.collect());
}
