//! Changes of ranges of any length that bring no content: discards, zeros, holes. They are cut into
//! parts, one after the other, and each part has the client's deadline for itself; so a discard of
//! a whole disk neither fails for its length nor is cut short by the time that it takes.
//!
//! A long one is the business of a thread, as its parts have to be waited for. What fits a part
//! goes straight to the client.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::io::Errno;

use crate::limits::PART_BYTES_MAX;
use crate::{Answer, Client, Done, Operation};

/// What becomes of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nobody needs its content any more.
    Discard,
    /// It reads as zeros, and keeps its room.
    Zeroes,
    /// It reads as zeros, and gives up its room; refused where it cannot.
    Hole,
}

impl Change {
    fn part(self, offset: u64, length: u32) -> Operation {
        match self {
            Self::Discard => Operation::Discard { offset, length },
            Self::Zeroes => Operation::WriteZeroes { offset, length, may_discard: false },
            Self::Hole => Operation::FastZeroes { offset, length },
        }
    }
}

/// A range that is to change.
struct Range {
    change: Change,
    offset: u64,
    length: u64,
    done: Done,
}

/// Discards and zeros ranges of any length through a client, part by part. The thread ends with
/// this.
#[derive(Debug)]
pub(crate) struct Ranges {
    client: Client,
    long: Sender<Range>,
}

impl Ranges {
    pub(crate) fn start(client: Client) -> io::Result<Self> {
        let (long, ranges) = channel();
        let own = client.clone();
        std::thread::Builder::new().name("shoal-ranges".to_owned()).spawn(move || carry_out(&own, &ranges))?;
        Ok(Self { client, long })
    }

    /// Changes a range, which lies within the content. `done` is called once, by the client's
    /// rules.
    pub(crate) fn change(&self, change: Change, offset: u64, length: u64, done: Done) {
        match u32::try_from(length) {
            Ok(0) => done(Ok(Vec::new())),
            Ok(length) if length <= PART_BYTES_MAX => {
                self.client.submit(change.part(offset, length), done);
            }
            _ => {
                if let Err(unsent) = self.long.send(Range { change, offset, length, done }) {
                    (unsent.0.done)(Err(Errno::IO));
                }
            }
        }
    }
}

fn carry_out(client: &Client, ranges: &Receiver<Range>) {
    for Range { change, offset, length, done } in ranges {
        done(in_parts(client, change, offset, length).map(|()| Vec::new()));
    }
}

fn in_parts(client: &Client, change: Change, offset: u64, length: u64) -> Result<(), Errno> {
    parts(offset, length).try_for_each(|(start, length)| {
        let (tell, told) = channel();
        let done = move |answer: Answer| drop(tell.send(answer));
        client.submit(change.part(start, length), Box::new(done));
        told.recv().unwrap_or(Err(Errno::IO)).map(drop)
    })
}

/// Offsets and lengths. They end at multiples of the longest part, as drives like it.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = (u64, u32)> {
    let (most, end) = (u64::from(PART_BYTES_MAX), offset.saturating_add(length));
    let next = move |start: &u64| Some((start / most + 1) * most);
    std::iter::successors(Some(offset), next).take_while(move |start| *start < end).map(move |start| {
        let stop = ((start / most + 1) * most).min(end);
        (start, u32::try_from(stop - start).expect("a part is shorter"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_range_and_none_is_too_long() {
        let most = u64::from(PART_BYTES_MAX);
        for (offset, length) in [(0, 1), (0, most), (5, most), (most - 1, 2), (7, 5 * most + 3), (1 << 40, 1 << 33)] {
            let mut position = offset;
            for (start, part) in parts(offset, length) {
                assert_eq!(start, position);
                assert!(part > 0 && part <= PART_BYTES_MAX);
                position += u64::from(part);
            }
            assert_eq!(position, offset + length);
        }
        assert_eq!(parts(5, 0).count(), 0);
    }
}
