//! `shoal scrub`

use std::fmt::Write;

use shoal_volume::{Event, ManageError, News, ScrubMode};

use crate::args::{Cli, ScrubArgs};
use crate::commands::status::{array_at_rest, array_document, array_text};
use crate::documents::{ArrayDocument, MismatchDocument, RangeDocument, ScrubDocument};
use crate::drives::open_array;
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::size::format_size;

/// Places listed at most, of each kind; beyond, only bytes are counted.
const PLACES_MAX: usize = 1000;

/// Compares parity and mirrors with the data. Exit status 1 if they disagree and were not repaired.
pub(crate) fn run(cli: &Cli, args: &ScrubArgs) -> Result<(), Failure> {
    let mut array = open_array(cli, &args.array, args.repair, false)?;
    array.scrub(if args.repair { ScrubMode::Repair } else { ScrubMode::Check }).map_err(scrub_failure)?;
    let mut document = empty_document(array_document(&array.status()));
    let scrub = run_background(cli, &mut array, "scrub", &mut |news| take_in(&mut document, &news))?;
    document.array = array_at_rest(&mut array)?;
    scrub.finished_or("start `shoal scrub` again; what it repaired is repaired")?;
    output::document(cli, &document, scrub_text)?;
    if document.mismatched_bytes > 0 && !args.repair || document.unreadable_bytes > 0 {
        return Err(Failure::Shown(format!(
            "{} do not agree with the data, {} cannot be read: see the list, and use --repair",
            format_size(document.mismatched_bytes),
            format_size(document.unreadable_bytes)
        )));
    }
    Ok(())
}

/// Asking for what the array cannot do endangers nothing.
fn scrub_failure(error: ManageError) -> Failure {
    match error {
        ManageError::Refused { .. } => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

fn empty_document(array: ArrayDocument) -> ScrubDocument {
    ScrubDocument {
        complete: true,
        mismatched_bytes: 0,
        mismatches: Vec::new(),
        healed_bytes: 0,
        healed: Vec::new(),
        unreadable_bytes: 0,
        unreadable: Vec::new(),
        array,
    }
}

/// Adds what happened to what is known.
fn take_in(document: &mut ScrubDocument, news: &News) {
    match &news.event {
        Event::Mismatch(mismatch) => list(
            &mut document.mismatches,
            MismatchDocument {
                range: range(mismatch.role.0, &mismatch.member_range),
                content_offset: mismatch.offset,
                repaired: mismatch.repaired,
            },
        ),
        Event::Healed { role, member_range, .. } => {
            document.healed_bytes += member_range.end - member_range.start;
            list(&mut document.healed, range(role.0, member_range));
        }
        Event::Lost { role, member_range, .. } => {
            document.unreadable_bytes += member_range.end - member_range.start;
            list(&mut document.unreadable, range(role.0, member_range));
        }
        Event::ScrubFinished { mismatched_bytes, completed } => {
            document.mismatched_bytes += mismatched_bytes;
            document.complete &= completed;
        }
        _ => {}
    }
}

fn list<T>(places: &mut Vec<T>, place: T) {
    if places.len() < PLACES_MAX {
        places.push(place);
    }
}

fn range(role: u16, range: &std::ops::Range<u64>) -> RangeDocument {
    RangeDocument { role, offset: range.start, bytes: range.end - range.start }
}

fn scrub_text(document: &ScrubDocument) -> String {
    let mut text = String::new();
    for mismatch in &document.mismatches {
        let done = if mismatch.repaired { "repaired" } else { "not repaired" };
        let RangeDocument { role, offset, bytes } = mismatch.range;
        let _ = writeln!(text, "member {role}, {bytes} bytes at {offset}: disagree with the data, {done}");
    }
    for RangeDocument { role, offset, bytes } in &document.healed {
        let _ = writeln!(text, "member {role}, {bytes} bytes at {offset}: could not be read, written anew");
    }
    for RangeDocument { role, offset, bytes } in &document.unreadable {
        let _ = writeln!(text, "member {role}, {bytes} bytes at {offset}: cannot be read, nor had from the others");
    }
    let verdict = if document.complete { "complete" } else { "stopped" };
    let _ = writeln!(text, "scrub {verdict}: {} disagree", format_size(document.mismatched_bytes));
    text + &array_text(&document.array)
}
