//! `shoal scrub`

use std::fmt::Write;

use shoal_volume::{Event, ManageError, News, ScrubMode};

use crate::args::{Cli, ScrubArgs};
use crate::commands::status::{array_document, array_text};
use crate::documents::{ArrayDocument, MismatchDocument, RangeDocument, ScrubDocument};
use crate::drives::open_array;
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::size::format_size;

/// Places listed at most; beyond, only the number of bytes is counted.
const PLACES_MAX: usize = 1000;

/// Compares parity and mirrors with the data. Exit status 1 if they disagree and were not repaired.
pub(crate) fn run(cli: &Cli, args: &ScrubArgs) -> Result<(), Failure> {
    let mut array = open_array(cli, &args.array, args.repair, false)?;
    array.scrub(if args.repair { ScrubMode::Repair } else { ScrubMode::Check }).map_err(scrub_failure)?;
    let scrub = run_background(cli, &mut array, "scrub")?;
    let document = scrub_document(&scrub.news, array_document(&array.status()));
    array.close().map_err(Failure::failed)?;
    scrub.finished_or("start `shoal scrub` again; what it repaired is repaired")?;
    let (mismatched_bytes, unreadable) = (document.mismatched_bytes, document.unreadable.len());
    output::document(cli, &document, scrub_text)?;
    if mismatched_bytes > 0 && !args.repair || unreadable > 0 {
        return Err(Failure::Shown(format!(
            "{} do not agree with the data, {unreadable} ranges cannot be read: see the list, and use --repair",
            format_size(mismatched_bytes)
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

fn scrub_document(news: &[News], array: ArrayDocument) -> ScrubDocument {
    let mut document = ScrubDocument {
        complete: true,
        mismatched_bytes: 0,
        mismatches: Vec::new(),
        healed: Vec::new(),
        unreadable: Vec::new(),
        array,
    };
    for News { event, .. } in news {
        match event {
            Event::Mismatch(mismatch) if document.mismatches.len() < PLACES_MAX => {
                document.mismatches.push(MismatchDocument {
                    range: range(mismatch.role.0, &mismatch.member_range),
                    content_offset: mismatch.offset,
                    repaired: mismatch.repaired,
                });
            }
            Event::Healed { role, member_range } => document.healed.push(range(role.0, member_range)),
            Event::ScrubUnreadable { role, member_range } => document.unreadable.push(range(role.0, member_range)),
            Event::ScrubFinished { mismatched_bytes, completed } => {
                document.mismatched_bytes += mismatched_bytes;
                document.complete &= completed;
            }
            _ => {}
        }
    }
    document
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
