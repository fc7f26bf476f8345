//! `shoal scrub`

use std::fmt::Write;

use crate::args::{Cli, ScrubArgs};
use crate::commands::status::{array_text, state_text};
use crate::documents::{RangeDocument, ScrubDocument};
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::running::{Command, Opening, reach, reach_running};
use crate::size::format_size;

/// Compares parity and mirrors with the data. Exit status 1 if they disagree and were not repaired.
pub(crate) fn run(cli: &Cli, args: &ScrubArgs) -> Result<(), Failure> {
    if args.stop {
        let array = reach_running(&args.array)?;
        let mut array = array.ok_or_else(|| Failure::usage("no process runs the array, so none scrubs it"))?;
        return output::document(cli, &array.execute(Command::StopScrub)?, state_text);
    }
    let opening = Opening { writable: args.repair, ..Opening::WRITABLE };
    let mut array = reach(cli, &args.array, opening, None)?;
    if array.execute(Command::Status)?.background.is_some() && !array.goes_on_by_itself() {
        // Opening it for repair has taken up what was left to do.
        run_background(cli, array.as_mut(), "resync")?.finished_or("start `shoal scrub` again")?;
    }
    array.execute(Command::Scrub { repair: args.repair })?;
    let scrub = run_background(cli, array.as_mut(), "scrub")?;
    let state = array.finish()?;
    scrub.finished_or("start `shoal scrub` again; what it repaired is repaired")?;
    let findings = state.scrub.ok_or_else(|| Failure::failed("the scrub is not known any more: start it again"))?;
    let document = ScrubDocument { findings, array: state.array };
    output::document(cli, &document, scrub_text)?;
    let findings = &document.findings;
    if findings.mismatched_bytes > 0 && !args.repair || findings.unreadable_bytes > 0 {
        return Err(Failure::Shown(format!(
            "{} do not agree with the data, {} cannot be read: see the list, and use --repair",
            format_size(findings.mismatched_bytes),
            format_size(findings.unreadable_bytes)
        )));
    }
    Ok(())
}

fn scrub_text(document: &ScrubDocument) -> String {
    let mut text = String::new();
    let findings = &document.findings;
    for mismatch in &findings.mismatches {
        let done = if mismatch.repaired { "repaired" } else { "not repaired" };
        let RangeDocument { role, offset, bytes } = mismatch.range;
        let _ = writeln!(text, "member {role}, {bytes} bytes at {offset}: disagree with the data, {done}");
    }
    for RangeDocument { role, offset, bytes } in &findings.healed {
        let _ = writeln!(text, "member {role}, {bytes} bytes at {offset}: could not be read, written anew");
    }
    for RangeDocument { role, offset, bytes } in &findings.unreadable {
        let _ = writeln!(text, "member {role}, {bytes} bytes at {offset}: cannot be read, nor had from the others");
    }
    let verdict = if findings.complete { "complete" } else { "stopped" };
    let _ = writeln!(text, "scrub {verdict}: {} disagree", format_size(findings.mismatched_bytes));
    text + &array_text(&document.array)
}
