//! Runs cells on as many kernels as there are processors. A cell that fails costs the others nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use shoal_lab::Lab;

use crate::support::stage::Stage;

/// A story: what it is called, and how it goes. It ends with a word on how far it got, or panics.
pub(crate) struct Cell {
    name: String,
    story: Box<dyn Fn(&mut Stage) -> &'static str + Send>,
}

impl Cell {
    pub(crate) fn new(name: String, story: impl Fn(&mut Stage) -> &'static str + Send + 'static) -> Self {
        Self { name, story: Box::new(story) }
    }
}

/// Runs them all, and gives what each came to; panics at the end if one did. Nothing is given if SHOAL_CELLS selected
/// some of them: those whose name has one of its parts, between `|`, in it.
pub(crate) fn run(lab: &Lab, cells: Vec<Cell>) -> Option<Vec<&'static str>> {
    let selected = std::env::var("SHOAL_CELLS").ok();
    let count = cells.len();
    let chosen =
        |cell: &Cell| selected.as_ref().is_none_or(|words| words.split('|').any(|word| cell.name.contains(word)));
    let mut queue: Vec<_> = cells.into_iter().enumerate().filter(|(_, cell)| chosen(cell)).collect();
    queue.reverse(); // the last is taken first
    let (queue, outcomes) = (Mutex::new(queue), Mutex::new(vec![""; count]));
    let failed = Mutex::new(Vec::new());
    let kernels = thread::available_parallelism().map_or(1, |count| count.get().min(4));
    thread::scope(|scope| {
        for _ in 0..kernels {
            scope.spawn(|| {
                let mut stage = Stage::new(lab);
                while let Some((number, cell)) = next(&queue) {
                    match catch_unwind(AssertUnwindSafe(|| (cell.story)(&mut stage))) {
                        Ok(outcome) => outcomes.lock().unwrap()[number] = outcome,
                        Err(_) => {
                            eprintln!("that was: {}", cell.name);
                            failed.lock().unwrap().push(cell.name);
                            stage = Stage::new(lab);
                        }
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {count} cells failed:\n{}", failed.len(), failed.join("\n"));
    selected.is_none().then(|| outcomes.into_inner().unwrap())
}

fn next<T>(queue: &Mutex<Vec<T>>) -> Option<T> {
    queue.lock().unwrap().pop()
}
