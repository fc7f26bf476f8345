//! Runs cells on as many kernels as there are processors. A cell that fails costs the others
//! nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use shoal_lab::{Lab, Share};

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

/// Runs the cells that are [selected](Selection), and gives what each came to, `None` for those
/// that did not run. Panics at the end if one failed.
pub(crate) fn run(lab: &Lab, cells: Vec<Cell>) -> Vec<Option<&'static str>> {
    let selection = Selection::from_environment();
    let count = cells.len();
    let mut queue: Vec<_> =
        cells.into_iter().enumerate().filter(|(number, cell)| selection.has(*number, &cell.name)).collect();
    println!("{} of {count} cells", queue.len());
    queue.reverse(); // the last is taken first
    let (queue, outcomes) = (Mutex::new(queue), Mutex::new(vec![None; count]));
    let failed = Mutex::new(Vec::new());
    let kernels = thread::available_parallelism().map_or(1, |count| count.get().min(4));
    thread::scope(|scope| {
        for _ in 0..kernels {
            scope.spawn(|| {
                let mut stage = Stage::new(lab);
                while let Some((number, cell)) = next(&queue) {
                    match catch_unwind(AssertUnwindSafe(|| (cell.story)(&mut stage))) {
                        Ok(outcome) => outcomes.lock().unwrap()[number] = Some(outcome),
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
    outcomes.into_inner().unwrap()
}

/// Which cells run.
struct Selection {
    /// `SHOAL_CELLS`: those whose name has one of these words, between `|`, in it.
    words: Option<String>,
    share: Share,
}

impl Selection {
    fn from_environment() -> Self {
        Self { words: std::env::var("SHOAL_CELLS").ok(), share: Share::from_environment() }
    }

    fn has(&self, number: usize, name: &str) -> bool {
        self.words.as_ref().is_none_or(|words| words.split('|').any(|word| name.contains(word)))
            && self.share.has(number)
    }
}

fn next<T>(queue: &Mutex<Vec<T>>) -> Option<T> {
    queue.lock().unwrap().pop()
}
