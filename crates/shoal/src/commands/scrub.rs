//! `shoal scrub`

use std::fmt::Write;

use shoal_documents::protocol::Command;
use shoal_documents::{
    ArrayDocument, BlameDocument, MatterDocument, MismatchDocument, RangeDocument, ScrubDocument, StateDocument,
};
use shoal_running::Opening;
use shoal_text::format_size;

use crate::args::{Cli, ScrubArgs};
use crate::commands::rebuild::has_work;
use crate::commands::status::{array_text, lacking, state_text};
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::setup::{check_first, reach, reach_running};

/// Compares parity and mirrors with the data. Exit status 1 if they disagree and were not repaired.
pub(crate) fn run(cli: &Cli, args: &ScrubArgs) -> Result<(), Failure> {
    if args.keep_data && !args.repair {
        return Err(Failure::usage("--keep-data says how to repair: give --repair, too"));
    }
    if args.stop {
        let array = reach_running(&args.array)?;
        let mut array = array.ok_or_else(|| Failure::usage("no process runs the array, so none scrubs it"))?;
        return output::document(cli, &array.execute(Command::StopScrub)?, state_text);
    }
    let opening = Opening { writable: args.repair, ..Opening::WRITABLE };
    check_first(cli, &args.array, opening, None, |array| {
        let array = array.execute(Command::Status)?.array;
        // What is to be filled is filled first.
        nothing_to_compare(&array).filter(|_| !has_work(&array)).map_or(Ok(()), Err)
    })?;
    let mut array = reach(cli, &args.array, opening, None)?;
    let state = array.execute(Command::Status)?;
    if state.background.is_some() && !array.goes_on_by_itself() {
        // Opening it for repair has taken up what was left to do.
        if state.array.needs_resync {
            output::warn(&format!("array {} is not in sync: a resync comes first, {RESYNC}", state.array.name));
        }
        run_background(cli, array.as_mut(), "resync")?.finished_or("start `shoal scrub` again")?;
    }
    let state = array.execute(Command::Status)?;
    let scrub = Command::Scrub { keep_data: args.keep_data };
    array.execute(scrub).map_err(|error| not_scrubbed(error.into(), &state))?;
    let scrub = run_background(cli, array.as_mut(), "scrub")?;
    let state = array.finish()?;
    scrub.finished_or("start `shoal scrub` again; what it repaired is repaired")?;
    let findings = state.scrub.ok_or_else(|| Failure::failed("the scrub is not known any more: start it again"))?;
    let document = ScrubDocument { findings, array: state.array };
    output::document(cli, &document, scrub_text)?;
    verdict(&document, args.repair).map_or(Ok(()), |why| Err(Failure::Shown(why)))
}

/// What a resync does.
const RESYNC: &str = "which makes parity and copies agree with the data, of copies with the first, whoever is wrong";

/// What is left to be done, if anything is.
fn verdict(document: &ScrubDocument, repair: bool) -> Option<String> {
    let findings = &document.findings;
    let [mismatched, unrepaired, unreadable] =
        [findings.mismatched_bytes, findings.unrepaired_bytes, findings.unreadable_bytes].map(format_size);
    if findings.mismatched_bytes > 0 && !findings.keep_data {
        let mend = match document.array.needs_resync {
            true => "the array is not in sync",
            false => "--repair --keep-data keeps the data, or what most copies hold",
        };
        return Some(format!("{mismatched} do not agree, {unreadable} cannot be read: see the list; {mend}"));
    }
    if findings.unrepaired_bytes > 0 {
        return Some(format!("{unrepaired} could not be repaired: see the list, and replace the drive"));
    }
    if findings.unreadable_bytes > 0 {
        return Some(format!("{unreadable} cannot be read, nor had from the others: see the list"));
    }
    if findings.unhealed_bytes > 0 {
        let unhealed = format_size(findings.unhealed_bytes);
        let mend = if repair { "--keep-data" } else { "--repair" };
        return Some(format!("{unhealed} cannot be read, and the others have it: {mend} writes it anew"));
    }
    let ended = "the scrub ended before it had compared everything: it was stopped, or a member failed; scrub again";
    (!findings.complete).then(|| ended.to_owned())
}

/// Whether the array, or one inside it, has parity or copies.
fn is_redundant(array: &ArrayDocument) -> bool {
    array.has_redundancy() || array.inner_arrays().any(is_redundant)
}

/// Why an array is not scrubbed.
fn not_scrubbed(failure: Failure, state: &StateDocument) -> Failure {
    let StateDocument { array, background, paused, .. } = state;
    if is_redundant(array) && (paused.is_some() || background.is_some()) {
        return failure;
    }
    nothing_to_compare(array).unwrap_or(failure)
}

/// Why there is nothing to hold an array's content against, if so: it has no redundancy, or has
/// lost all of it.
fn nothing_to_compare(array: &ArrayDocument) -> Option<Failure> {
    let ArrayDocument { name, level, redundancy, .. } = array;
    if !is_redundant(array) {
        return Some(Failure::Usage(format!("array {name} is {level}: it has no parity or copies to compare")));
    }
    (*redundancy > 0 && lacking(array) >= *redundancy).then(|| {
        Failure::Failed(format!(
            "array {name} is degraded, and nothing is left to compare: put a drive in with `shoal add`, and scrub when it is rebuilt"
        ))
    })
}

/// A range of a member, by its number, and by its drive where no array lies between.
fn range_text(array: &ArrayDocument, range: &RangeDocument) -> String {
    let RangeDocument { array: inner, role, offset, bytes } = range;
    let holder = inner.as_deref().map_or(Some(array), |name| array_inside(array, name));
    let member = holder.and_then(|holder| holder.members.get(usize::from(*role)));
    let drive = member.and_then(|member| member.drive.as_deref()).map_or(String::new(), |drive| format!(" ({drive})"));
    let of = inner.as_deref().map_or(String::new(), |name| format!(" of array {name}"));
    format!("member {role}{drive}{of}, {bytes} bytes at {offset}")
}

/// The array of this name among those inside.
fn array_inside<'a>(array: &'a ArrayDocument, name: &str) -> Option<&'a ArrayDocument> {
    let inner = || array.members.iter().filter_map(|member| member.array.as_deref());
    inner().find(|inner| inner.name == name).or_else(|| inner().find_map(|inner| array_inside(inner, name)))
}

/// Each range with what befell it, a line each.
fn list(text: &mut String, document: &ScrubDocument, ranges: &[RangeDocument], what: &str) {
    for range in ranges {
        let _ = writeln!(text, "{}: {what}", range_text(&document.array, range));
    }
}

/// What is wrong, as far as that can be told.
fn mismatch_text(mismatch: &MismatchDocument) -> &'static str {
    match (mismatch.matter, mismatch.blame) {
        (MatterDocument::Data, _) => "data that are probably wrong, as both parities agree without them",
        (MatterDocument::Parity, BlameDocument::Likely) => {
            "parity that is probably wrong, as the data agree with the other parity"
        }
        (MatterDocument::Parity, BlameDocument::Unknown) => {
            "parity that does not agree with the data, and either may be wrong"
        }
        (MatterDocument::Copy, BlameDocument::Likely) => "a copy that is probably wrong, as most copies hold the same",
        (MatterDocument::Copy, BlameDocument::Unknown) => {
            "a copy that does not agree with the first, and either may be wrong"
        }
    }
}

/// Each mismatch with what was done about it, a line each; and what can be done about those left.
fn list_mismatches(text: &mut String, document: &ScrubDocument) {
    let findings = &document.findings;
    for mismatch in &findings.mismatches {
        let (range, what) = (range_text(&document.array, &mismatch.range), mismatch_text(mismatch));
        let _ = match (mismatch.repaired, findings.keep_data, mismatch.matter) {
            (true, _, MatterDocument::Data) => writeln!(text, "{range}: {what}; kept, and both parities written anew"),
            (true, ..) => writeln!(text, "{range}: {what}; written anew"),
            (false, true, _) => writeln!(text, "{range}: {what}; could not be repaired, as a drive failed"),
            (false, false, _) => writeln!(text, "{range}: {what}; not repaired"),
        };
    }
    if findings.mismatches.iter().any(|found| found.blame == BlameDocument::Likely && !found.repaired) {
        *text += "if a drive is sure to have rotted: `shoal fail` it, and `shoal add` it again, which fills it from the others; but a \
                 block that was written over rot looks the same, and is lost by that\n";
    }
}

fn scrub_text(document: &ScrubDocument) -> String {
    let mut text = String::new();
    let findings = &document.findings;
    list_mismatches(&mut text, document);
    list(&mut text, document, &findings.healed, "could not be read, written anew");
    list(&mut text, document, &findings.unhealed, "cannot be read, and were not written anew");
    list(&mut text, document, &findings.unreadable, "cannot be read, nor had from the others");
    if document.array.needs_resync {
        let _ = writeln!(
            text,
            "the array is not in sync, after a crash or as it is new: nobody is named as wrong there; whatever opens it \
             for writing, --repair too, begins with a resync, {RESYNC}"
        );
    }
    let lacking = lacking(&document.array);
    if lacking > 0 {
        let are = if lacking == 1 { "member is" } else { "members are" };
        let _ = writeln!(
            text,
            "{lacking} {are} missing or being filled, and not compared: scrub again when the array is whole"
        );
    }
    let verdict = if findings.complete { "complete" } else { "stopped" };
    let mismatched = format_size(findings.mismatched_bytes);
    let _ = match (findings.keep_data, findings.mismatched_bytes > 0, findings.unrepaired_bytes) {
        (true, true, 0) => writeln!(text, "scrub {verdict}: {mismatched} disagreed, all mended"),
        (true, true, left) => writeln!(text, "scrub {verdict}: {mismatched} disagreed, {} still do", format_size(left)),
        _ => writeln!(text, "scrub {verdict}: {mismatched} disagree"),
    };
    text + &array_text(&document.array)
}
