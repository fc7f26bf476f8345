//! Arrays of every shape, made by one side and used by the other: shoal and Linux's own md.
//!
//! A *cell* is a shape and who makes it. The maker puts a file system with files on it, the other
//! side reads every byte, checks parity and copies, and writes; and the maker agrees with all of
//! that. `SHOAL_CELLS=WORD` runs those cells alone whose name has the word in it. What came of them
//! is a table in `docs/compatibility.md`.

mod places;
mod shapes;
mod turns;

use crate::support::pool;
use crate::support::pool::Cell;
use crate::support::stage;
use crate::support::stage::Stage;
use crate::support::table;
use shapes::{SHAPES, Shape};

const HEAD: [&str; 8] =
    ["level", "layout", "members", "chunk", "metadata", "blocks", "the kernel makes it", "shoal makes it"];

#[test]
fn needs_kernel_every_shape_both_ways() {
    let Some(lab) = stage::lab("every shape both ways") else { return };
    let cells = SHAPES.iter().flat_map(|shape| {
        [
            Cell::new(format!("{shape}, the kernel makes it"), |stage| the_kernel_makes_it(shape, stage)),
            Cell::new(format!("{shape}, shoal makes it"), |stage| shoal_makes_it(shape, stage)),
        ]
    });
    let outcomes = pool::run(&lab, cells.collect());
    let rows = SHAPES.iter().zip(outcomes.chunks(2)).map(|(shape, made)| {
        let outcomes = made.iter().map(|outcome| outcome.map(str::to_owned));
        shape.columns().into_iter().map(Some).chain(outcomes).collect()
    });
    table::hold("shapes", &HEAD, rows.collect());
}

fn the_kernel_makes_it(shape: &Shape, stage: &mut Stage) -> &'static str {
    stage.set(&shape.sizes_bytes(), shape.block_bytes);
    if shape.is_huge() {
        places::kernel_creates(shape, stage);
        places::shoal_agrees(stage);
        places::shoal_changes(stage);
        places::kernel_agrees(shape, stage);
        return "places read and written";
    }
    turns::kernel_creates(shape, stage);
    turns::shoal_agrees(shape, stage);
    if !shape.can_be_written() {
        turns::shoal_refuses_to_write(stage);
        return "read; not written";
    }
    turns::shoal_changes(stage);
    turns::kernel_agrees(shape, stage);
    "read and written"
}

fn shoal_makes_it(shape: &Shape, stage: &mut Stage) -> &'static str {
    if !shape.can_be_written() {
        return "";
    }
    stage.set(&shape.sizes_bytes(), shape.block_bytes);
    if shape.is_huge() {
        places::shoal_creates(shape, stage);
        places::kernel_agrees(shape, stage);
        places::kernel_changes(stage);
        places::shoal_agrees(stage);
        return "places read and written";
    }
    turns::shoal_creates(shape, stage);
    turns::kernel_agrees(shape, stage);
    turns::kernel_changes(stage);
    turns::shoal_agrees(shape, stage);
    "read and written"
}
