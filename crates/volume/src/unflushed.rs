//! What a client of a served volume was answered and has not flushed; and whether it may be lost,
//! as a drive has lost its power since.
//!
//! A host that outlives its drives (a powered hub fails, and not the host) goes on with what a
//! cache has forgotten. No volume can know that: it ends with its drives, and another one is opened
//! over them. So the client holds what it was answered against what the server says of its drives.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

/// By what a server says whether its drives went on: a word for each, which is another one when the
/// drive has lost its power. Drives are counted as they appear, and the words are their numbers;
/// [`NEWEST`] has the highest number that there is by now. As text `NAME=WORD,NAME=WORD`. What does
/// not look like that says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incarnation(BTreeMap<String, String>);

/// The name under which an [`Incarnation`] has the number of the drive that appeared last, of the
/// array or not.
pub const NEWEST: &str = "newest";

/// The word of what had nothing that it could lose: another word in its place costs nothing.
pub const NOTHING_TO_LOSE: &str = "nothing";

impl Incarnation {
    /// Of what a server says.
    pub fn parse(text: &str) -> Self {
        let pair = |pair: &str| pair.split_once('=').map(|(name, word)| (name.to_owned(), word.to_owned()));
        Self(text.split(',').filter_map(pair).collect())
    }

    /// Takes in what is told now. Whether a drive may have lost its power since with what a client
    /// was answered: one that was told of before, or one that has come to the array since, and
    /// appeared since.
    fn follow(&mut self, now: &Self) -> bool {
        let number = |word: &String| word.parse::<u64>().ok();
        let newest = self.0.get(NEWEST).and_then(number);
        let is_newer = |word: &String| number(word).zip(newest).is_some_and(|(number, newest)| number > newest);
        let mut has_lost = false;
        for (name, word) in &now.0 {
            let before = self.0.insert(name.clone(), word.clone());
            let is_other = |before: String| before != NOTHING_TO_LOSE && before != *word;
            has_lost |= name != NEWEST && before.map_or_else(|| is_newer(word), is_other);
        }
        // A drive that is not there now is remembered: it may come back with less than it had.
        has_lost
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, word)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={word}", if number > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// Up to where a flush covers what was answered: all that was answered before it was submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// Tells a client's next flush to fail, once, if a drive may have lost what was answered and not
/// flushed.
#[derive(Debug)]
pub struct Unflushed(Mutex<State>);

#[derive(Debug)]
struct State {
    answered: Mark,
    flushed: Mark,
    incarnation: Incarnation,
    /// Something that was answered and not flushed may be lost, and nobody was told.
    is_owed: bool,
}

impl Unflushed {
    /// Of a client that has begun with this incarnation.
    pub fn new(incarnation: Incarnation) -> Self {
        let nothing = Mark::default();
        Self(Mutex::new(State { answered: nothing, flushed: nothing, incarnation, is_owed: false }))
    }

    /// Of a client that takes the place of another, whose answers nobody knows: some of them may
    /// not be flushed.
    pub fn inherited(incarnation: Incarnation) -> Self {
        let this = Self::new(incarnation);
        this.answered();
        this
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done in there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A change of content was answered that a power cut may undo.
    pub fn answered(&self) {
        self.state().answered.0 += 1;
    }

    /// What a flush covers that is submitted now.
    pub fn mark(&self) -> Mark {
        self.state().answered
    }

    /// A server says that such a flush is done: what its client is to be told.
    pub fn flushed(&self, mark: Mark) -> Result<(), Errno> {
        let mut state = self.state();
        state.flushed = state.flushed.max(mark);
        if std::mem::take(&mut state.is_owed) { Err(Errno::IO) } else { Ok(()) }
    }

    /// Whether something was answered that no flush covers.
    pub fn is_behind(&self) -> bool {
        let state = self.state();
        state.answered > state.flushed
    }

    /// A server was agreed with.
    pub fn meet(&self, incarnation: &Incarnation) {
        let mut state = self.state();
        let has_lost = state.incarnation.follow(incarnation);
        state.is_owed |= has_lost && state.answered > state.flushed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(incarnation: &str) -> Unflushed {
        Unflushed::new(Incarnation::parse(incarnation))
    }

    fn flush(client: &Unflushed) -> Result<(), Errno> {
        client.flushed(client.mark())
    }

    #[test]
    fn one_flush_fails_when_a_drive_lost_its_power_with_something_that_was_not_flushed() {
        let client = client("a=1,b=1");
        client.answered();
        client.meet(&Incarnation::parse("a=1,b=1"));
        assert_eq!(flush(&client), Ok(()), "a server that was killed costs nothing");
        client.meet(&Incarnation::parse("a=1,b=2"));
        assert_eq!(flush(&client), Ok(()), "all of it was flushed");
        client.answered();
        client.meet(&Incarnation::parse("a=2,b=2"));
        assert_eq!(flush(&client), Err(Errno::IO));
        assert_eq!(flush(&client), Ok(()), "it is told once");
    }

    #[test]
    fn a_flush_covers_what_was_answered_before_it_was_submitted() {
        let client = client("a=1");
        client.answered();
        let mark = client.mark();
        client.answered();
        assert_eq!(client.flushed(mark), Ok(()));
        client.meet(&Incarnation::parse("a=2"));
        assert_eq!(flush(&client), Err(Errno::IO), "the second was not covered");
    }

    #[test]
    fn a_drive_that_is_missed_or_new_has_lost_nothing_until_it_is_back() {
        let client = client("a=1,b=1");
        client.answered();
        client.meet(&Incarnation::parse("a=1"));
        client.meet(&Incarnation::parse("a=1,c=5"));
        client.meet(&Incarnation::default());
        assert_eq!(flush(&client), Ok(()));
        client.answered();
        client.meet(&Incarnation::parse("a=1,b=2"));
        assert_eq!(flush(&client), Err(Errno::IO), "it was away, and comes back with less");
    }

    #[test]
    fn a_drive_that_came_to_the_array_meanwhile_has_lost_nothing_unless_it_appeared_since() {
        let client = client("a=1,newest=5");
        client.answered();
        client.meet(&Incarnation::parse("b=4,newest=6"));
        assert_eq!(flush(&client), Ok(()), "it has been there all the time");
        client.answered();
        client.meet(&Incarnation::parse("b=4,newest=6,process-7=outages-9"));
        assert_eq!(flush(&client), Ok(()), "nothing but drives is counted");
        client.answered();
        client.meet(&Incarnation::parse("c=7,newest=7"));
        assert_eq!(flush(&client), Err(Errno::IO), "nobody knows since when it has been a member");
        assert_eq!(flush(&client), Ok(()));
    }

    #[test]
    fn a_window_that_went_with_its_process_may_have_lost_something() {
        let client = client("a=1,newest=1");
        client.answered();
        client.meet(&Incarnation::parse("a=1,newest=1,write-back=of-17"));
        assert_eq!(flush(&client), Ok(()), "what came before it is with the drives");
        client.answered();
        client.meet(&Incarnation::parse("a=1,newest=1,write-back=of-18"));
        assert_eq!(flush(&client), Err(Errno::IO));
        assert_eq!(flush(&client), Ok(()));
        client.answered();
        let none = format!("a=1,newest=1,write-back={NOTHING_TO_LOSE}");
        client.meet(&Incarnation::parse(&none));
        assert_eq!(flush(&client), Err(Errno::IO), "the next process may have no window");
        client.answered();
        client.meet(&Incarnation::parse("a=1,newest=1,write-back=of-19"));
        assert_eq!(flush(&client), Ok(()), "without a window all that was answered is with the drives");
    }

    #[test]
    fn who_takes_the_place_of_another_believes_that_something_was_not_flushed() {
        let client = Unflushed::inherited(Incarnation::parse("a=1"));
        client.meet(&Incarnation::parse("a=2"));
        assert_eq!(flush(&client), Err(Errno::IO));
        let client = Unflushed::inherited(Incarnation::parse("a=1"));
        client.meet(&Incarnation::parse("a=1"));
        assert_eq!(flush(&client), Ok(()));
    }
}
