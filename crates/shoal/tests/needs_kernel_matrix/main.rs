//! Arrays of every shape, made by one side and used by the other: shoal and Linux's own md.
//!
//! A *cell* is a shape and who makes it. The maker puts a file system with files on it, the other side reads every
//! byte, checks parity and copies, and writes; and the maker agrees with all of that. `SHOAL_CELLS=WORD` runs the
//! cells alone whose name has the word in it.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../support/stage.rs"]
mod stage;
#[path = "../support/mod.rs"]
mod support;

mod pool;
mod shapes;
mod turns;

use shoal_lab::Lab;

use pool::Cell;
use shapes::{SHAPES, Shape};
use stage::Stage;

#[test]
fn needs_kernel_every_shape_both_ways() {
    let Ok(lab) = Lab::find().map_err(|missing| eprintln!("SKIPPED: every shape both ways: needs {missing}")) else {
        return;
    };
    let cells: Vec<Cell> = SHAPES.iter().flat_map(cells_of).collect();
    pool::run(&lab, cells);
}

fn cells_of(shape: &'static Shape) -> [Cell; 2] {
    [
        Cell::new(format!("{shape} by the kernel"), |stage| the_kernel_makes_it(shape, stage)),
        Cell::new(format!("{shape} by shoal"), |stage| shoal_makes_it(shape, stage)),
    ]
}

fn the_kernel_makes_it(shape: &Shape, stage: &mut Stage) {
    stage.set(&shape.sizes_bytes(), shape.block_bytes);
    turns::kernel_creates(shape, stage);
    turns::shoal_agrees(shape, stage);
    turns::shoal_changes(stage);
    turns::kernel_agrees(shape, stage);
}

fn shoal_makes_it(shape: &Shape, stage: &mut Stage) {
    stage.set(&shape.sizes_bytes(), shape.block_bytes);
    turns::shoal_creates(shape, stage);
    turns::kernel_agrees(shape, stage);
    turns::kernel_changes(stage);
    turns::shoal_agrees(shape, stage);
}
