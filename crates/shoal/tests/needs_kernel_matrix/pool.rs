//! Runs cells on as many kernels as there are processors. A cell that fails costs the others nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use shoal_lab::Lab;

use crate::stage::Stage;

/// One story, and what it is called.
pub(crate) struct Cell {
    name: String,
    story: Box<dyn Fn(&mut Stage) + Send>,
}

impl Cell {
    pub(crate) fn new(name: String, story: impl Fn(&mut Stage) + Send + 'static) -> Self {
        Self { name, story: Box::new(story) }
    }
}

/// Runs them all, or those that SHOAL_CELLS selects; panics at the end if one did.
pub(crate) fn run(lab: &Lab, mut cells: Vec<Cell>) {
    if let Ok(word) = std::env::var("SHOAL_CELLS") {
        cells.retain(|cell| cell.name.contains(&word));
    }
    cells.reverse(); // the last is taken first
    let queue = Mutex::new(cells);
    let failed = Mutex::new(Vec::new());
    let kernels = thread::available_parallelism().map_or(1, |count| count.get().min(4));
    thread::scope(|scope| {
        for _ in 0..kernels {
            scope.spawn(|| {
                let mut stage = Stage::new(lab);
                while let Some(cell) = next(&queue) {
                    eprintln!("{}", cell.name);
                    if catch_unwind(AssertUnwindSafe(|| (cell.story)(&mut stage))).is_err() {
                        failed.lock().unwrap().push(cell.name);
                        stage = Stage::new(lab);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} cells failed:\n{}", failed.len(), failed.join("\n"));
}

fn next(queue: &Mutex<Vec<Cell>>) -> Option<Cell> {
    queue.lock().unwrap().pop()
}
