//! Keeps books while arrays run, without ever making them wait for long.
//!
//! The file system that books lie on may be slower than the members, or hang. So a thread writes,
//! and the array goes on with what need not wait. What is not durable after [`PATIENCE`] is given
//! up, and told: an array that cannot be written to helps nobody. The book is old then, and what it
//! says still true.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use shoal_md::Uuid;

use crate::book::Book;
use crate::lock::{Hold, Lock, LockError};
use crate::store::{Store, StoreError};

/// How long an array's superblocks wait for what this host remembers of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Another process of this host has the array: which, if it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The process.
    pub process_id: Option<u32>,
}

/// Who remembers arrays for those who run them.
pub trait Keeper: Send {
    /// What is remembered of an array; none if nothing is, or it cannot be read, which is a remark.
    fn recall(&mut self, array: Uuid) -> Option<Book>;
    /// Holds an array for as long as this is there, if no other process of this host does. That it
    /// cannot be known is a remark. Who keeps nothing keeps nobody away.
    fn hold(&mut self, _array: Uuid, _hold: Hold) -> Result<(), Taken> {
        Ok(())
    }
    /// Begins to make a book durable, and recalls it at once.
    fn keep(&mut self, book: Book);
    /// Whether all that was to be kept is durable, or has been given up, which is a remark.
    fn is_settled(&mut self) -> bool;
    /// Why what was to be kept last is not durable, once it has settled; none: it is.
    fn trouble(&mut self) -> Option<String>;
    /// What people should know, a sentence each, once.
    fn take_remarks(&mut self) -> Vec<String>;
}

/// Reads books, and keeps nothing: for those who only look.
#[derive(Debug)]
pub struct Reader {
    store: Store,
    remarks: Vec<String>,
}

impl Reader {
    /// Of the books in this store.
    pub fn new(store: Store) -> Self {
        Self { store, remarks: Vec::new() }
    }
}

impl Keeper for Reader {
    fn recall(&mut self, array: Uuid) -> Option<Book> {
        read(&self.store, array, &mut self.remarks)
    }

    fn keep(&mut self, _book: Book) {}

    fn is_settled(&mut self) -> bool {
        true
    }

    fn trouble(&mut self) -> Option<String> {
        None
    }

    fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }
}

/// Keeps books in files.
#[derive(Debug)]
pub struct FileKeeper {
    store: Store,
    known: BTreeMap<Uuid, Option<Book>>,
    writer: Option<Writer>,
    held: BTreeMap<Uuid, Option<Lock>>,
    remarks: Vec<String>,
}

/// The thread, and what it has not done yet.
#[derive(Debug)]
struct Writer {
    books: Sender<Book>,
    done: Receiver<Result<(), StoreError>>,
    outstanding: usize,
    /// When it was given the last one.
    since: Instant,
    /// It was waited for in vain, and is not any more until it has caught up.
    is_given_up: bool,
    /// Its last word was a failure: which.
    failure: Option<String>,
}

impl FileKeeper {
    /// Of the books in this store.
    pub fn new(store: Store) -> Self {
        Self { store, known: BTreeMap::new(), writer: None, held: BTreeMap::new(), remarks: Vec::new() }
    }

    /// The thread is started when there is something to write: most who look at an array change
    /// nothing.
    fn writer(&mut self) -> Option<&mut Writer> {
        if self.writer.is_none() {
            self.writer = Writer::start(self.store.clone());
        }
        self.writer.as_mut()
    }

    /// Takes in what the thread has done.
    fn look(&mut self) {
        let Some(writer) = &mut self.writer else { return };
        loop {
            match writer.done.try_recv() {
                Ok(result) => {
                    writer.outstanding -= 1;
                    writer.is_given_up &= writer.outstanding > 0;
                    let failure = result.err().map(|error| error.to_string());
                    if let Some(error) = failure.as_ref().filter(|_| writer.failure.is_none()) {
                        self.remarks.push(format!("what this host sees of the array is not remembered: {error}"));
                    }
                    writer.failure = failure;
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    writer.outstanding = 0;
                    return;
                }
            }
        }
    }
}

impl Drop for FileKeeper {
    fn drop(&mut self) {
        self.held.values().flatten().for_each(Lock::lets_go);
        // The process may end next, and the thread with it.
        while !self.is_settled() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Keeper for FileKeeper {
    fn recall(&mut self, array: Uuid) -> Option<Book> {
        if !self.known.contains_key(&array) {
            let book = read(&self.store, array, &mut self.remarks);
            self.known.insert(array, book);
        }
        self.known[&array].clone()
    }

    fn hold(&mut self, array: Uuid, hold: Hold) -> Result<(), Taken> {
        if self.held.contains_key(&array) {
            return Ok(());
        }
        let lock = match self.store.lock(array, hold) {
            Ok(lock) => Some(lock),
            Err(LockError::Taken { process_id }) => return Err(Taken { process_id }),
            Err(LockError::Store(error)) => {
                self.remarks.push(format!(
                    "nothing keeps another process of this host from starting the array with other members: {error}"
                ));
                None
            }
        };
        self.held.insert(array, lock);
        // What was read before may be older than what the one before has written.
        self.known.remove(&array);
        Ok(())
    }

    fn keep(&mut self, book: Book) {
        if self.recall(book.array()).as_ref() == Some(&book) {
            return;
        }
        self.known.insert(book.array(), Some(book.clone()));
        let Some(writer) = self.writer() else {
            self.remarks
                .push("what this host sees of the array is not remembered: no thread can be started".to_owned());
            return;
        };
        if writer.books.send(book).is_ok() {
            writer.outstanding += 1;
            writer.since = Instant::now();
        }
    }

    fn is_settled(&mut self) -> bool {
        self.look();
        let Some(writer) = &mut self.writer else { return true };
        if writer.outstanding == 0 || writer.is_given_up {
            return true;
        }
        writer.is_given_up = writer.since.elapsed() >= PATIENCE;
        if writer.is_given_up {
            let seconds = PATIENCE.as_secs();
            self.remarks.push(format!(
                "what this host sees of the array is not remembered: the directory for it has not answered for {seconds} s"
            ));
        }
        writer.is_given_up
    }

    fn trouble(&mut self) -> Option<String> {
        self.look();
        let writer = self.writer.as_ref()?;
        let late = || format!("the directory for it has not answered for {} s", PATIENCE.as_secs());
        writer.failure.clone().or_else(|| writer.is_given_up.then(late))
    }

    fn take_remarks(&mut self) -> Vec<String> {
        self.look();
        std::mem::take(&mut self.remarks)
    }
}

impl Writer {
    /// None if the system has no more threads.
    fn start(store: Store) -> Option<Self> {
        let (books, to_write) = channel::<Book>();
        let (tell, done) = channel();
        let work = move || {
            for book in to_write {
                if tell.send(store.write(&book)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("shoal-memory".to_owned()).spawn(work).ok()?;
        let (since, outstanding) = (Instant::now(), 0);
        Some(Self { books, done, outstanding, since, is_given_up: false, failure: None })
    }
}

fn read(store: &Store, array: Uuid, remarks: &mut Vec<String>) -> Option<Book> {
    store.read(array).unwrap_or_else(|error| {
        remarks.push(format!("what this host remembers of the array cannot be used: {error}"));
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Sight;

    const ARRAY: Uuid = Uuid([9; 16]);

    fn book(events: u64) -> Book {
        Book::of(Sight { array: ARRAY, events, members: Vec::new(), others: Vec::new() })
    }

    fn wait(keeper: &mut FileKeeper) {
        while !keeper.is_settled() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_kept_is_recalled_at_once_and_by_others_when_it_is_settled() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().to_owned());
        let mut keeper = FileKeeper::new(store.clone());
        assert_eq!(keeper.recall(ARRAY), None);
        for events in 1..20 {
            keeper.keep(book(events));
            assert_eq!(keeper.recall(ARRAY), Some(book(events)));
        }
        wait(&mut keeper);
        assert_eq!(Reader::new(store).recall(ARRAY), Some(book(19)));
        assert_eq!((keeper.take_remarks(), keeper.trouble()), (Vec::<String>::new(), None));
    }

    #[test]
    fn who_wants_an_array_waits_for_a_keeper_that_ends() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().to_owned());
        let mut keeper = FileKeeper::new(store.clone());
        keeper.hold(ARRAY, Hold::Alone).unwrap();
        // A thread that takes its time over a book.
        let (books, to_write) = channel::<Book>();
        let (tell, done) = channel();
        let slow = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            tell.send(Ok(())).unwrap();
            drop(to_write);
        });
        let since = Instant::now();
        keeper.writer = Some(Writer { books, done, outstanding: 1, since, is_given_up: false, failure: None });
        let ending = std::thread::spawn(move || drop(keeper));
        while !std::fs::read_to_string(store.path(ARRAY).with_extension("lock")).unwrap().contains("lets go") {
            std::thread::yield_now();
        }
        drop(store.lock(ARRAY, Hold::Alone).unwrap());
        ending.join().unwrap();
        slow.join().unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_told_once_and_waited_for_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("no directory");
        std::fs::write(&file, "").unwrap();
        let mut keeper = FileKeeper::new(Store::new(file));
        for events in 1..4 {
            keeper.keep(book(events));
            wait(&mut keeper);
        }
        assert!(keeper.trouble().is_some());
        let remarks = keeper.take_remarks();
        assert!(matches!(&remarks[..], [one] if one.contains("not remembered")), "{remarks:?}");
    }

    #[test]
    fn what_cannot_be_read_is_told_and_counts_for_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().to_owned());
        std::fs::write(store.path(ARRAY), "nonsense").unwrap();
        let mut keeper = FileKeeper::new(store.clone());
        assert_eq!((keeper.recall(ARRAY), keeper.recall(ARRAY)), (None, None));
        assert_eq!(keeper.take_remarks().len(), 1);
        keeper.keep(book(1));
        wait(&mut keeper);
        assert_eq!(Reader::new(store).recall(ARRAY), Some(book(1)), "it is mended by what is seen next");
    }
}
