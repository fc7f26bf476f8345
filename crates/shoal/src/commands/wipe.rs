//! `shoal wipe`: ends what drives were, after it has said what that is.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use shoal_drive::{Access, Drive, ERASED_END_BYTES, Finding};
use shoal_inventory::{Former, forget_erased, open_drives};
use shoal_memory::Member;
use shoal_text::{Outside, format_size};
use shoal_volume::Superblock;

use crate::args::{Cli, WipeArgs};
use crate::attaching::check_erasable;
use crate::exit::Failure;
use crate::output;
use crate::setup::environment;

/// `wipe`: what drives were, or would lose.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WipeDocument {
    /// Nothing was written.
    dry_run: bool,
    /// In the order in which they were given.
    drives: Vec<WipedDocument>,
    /// Arrays that this host has forgotten: all members that it remembered of them were wiped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    forgotten_arrays: Vec<String>,
}

/// What one drive was.
#[derive(Debug, Serialize, JsonSchema)]
struct WipedDocument {
    /// The drive.
    drive: String,
    /// Its size.
    size_bytes: u64,
    /// The array that it was a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    member_of: Option<MemberOfDocument>,
    /// What it was known by.
    signatures: Vec<SignatureDocument>,
}

/// The array of a drive.
#[derive(Debug, Serialize, JsonSchema)]
struct MemberOfDocument {
    /// `homehost:name`.
    name: String,
    /// Its UUID.
    uuid: String,
    /// The array counts on what the drive holds, as far as this host knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    counts_on_it: bool,
}

impl MemberOfDocument {
    fn of(superblock: &Superblock) -> Self {
        // What is wrong with what this host remembers is told when the array is opened.
        let book = environment().store().and_then(|store| store.read(superblock.array_uuid).ok().flatten());
        let is_it = |member: &Member| member.uuid == superblock.device_uuid && member.role.is_some();
        let counts_on_it = book.is_some_and(|book| book.members().iter().any(is_it));
        Self { name: superblock.name(), uuid: superblock.array_uuid.to_string(), counts_on_it }
    }
}

/// Bytes by which a drive is known.
#[derive(Debug, Serialize, JsonSchema)]
struct SignatureDocument {
    /// What it says that the drive holds.
    what: String,
    /// Where it lies.
    offset: u64,
}

/// Ends what the drives were; or says what that is.
pub(crate) fn run(cli: &Cli, args: &WipeArgs) -> Result<(), Failure> {
    let sizes: Vec<_> = open_drives(&args.drives, Access::Read)?.iter().map(Drive::size_bytes).collect();
    let erasable = check_erasable(&args.drives, args.force)?;
    let former = erasable.former();
    let drives = former.iter().zip(sizes).map(|(former, size)| wiped_document(former, size)).collect();
    let mut document = WipeDocument { dry_run: args.dry_run, drives, forgotten_arrays: Vec::new() };
    if args.dry_run {
        // Refused as it would be then: nobody else has them.
        drop(erasable.open()?);
        return output::document(cli, &document, text);
    }
    // They are nobody else's while people think it over.
    let drives = erasable.open()?;
    if !args.yes {
        ask(&document)?;
        erasable.confirm(&drives)?;
    }
    for (index, drive) in drives.iter().enumerate() {
        drive.erase_marks().map_err(|error| half_done(&args.drives, index, &error))?;
    }
    drop(drives);
    let superblocks: Vec<_> = former.iter().filter_map(|former| former.superblock.clone()).collect();
    let forgotten = forget_erased(environment(), &superblocks);
    document.forgotten_arrays = forgotten.iter().map(ToString::to_string).collect();
    output::document(cli, &document, text)
}

/// A drive did not take it: those before it are wiped, and those behind are as they were.
fn half_done(drives: &[PathBuf], failed: usize, error: &io::Error) -> Failure {
    let list =
        |drives: &[PathBuf]| drives.iter().map(|drive| drive.display().to_string()).collect::<Vec<_>>().join(" ");
    let mut text = format!("{error}: check the drive, and whether it is protected against writing, and wipe it again");
    if failed > 0 {
        text += &format!("; wiped are {}", list(&drives[..failed]));
    }
    if failed + 1 < drives.len() {
        text += &format!("; not wiped are {}", list(&drives[failed + 1..]));
    }
    Failure::Failed(text)
}

/// Asks whoever sits at the terminal.
fn ask(document: &WipeDocument) -> Result<(), Failure> {
    let refused = |why: &str| Failure::Refused(format!("nothing was wiped: {why}"));
    if !io::stdin().is_terminal() {
        return Err(refused("nobody can be asked here; --dry-run shows what would go, and --yes says that it may"));
    }
    let question = format!("{}Wipe? Type yes: ", held(document));
    let mut error_output = io::stderr().lock();
    // What cannot be asked is not answered with yes.
    let asked = error_output.write_all(shoal_text::lines(&question).as_bytes()).and_then(|()| error_output.flush());
    let mut answer = String::new();
    asked.and_then(|()| io::stdin().lock().read_line(&mut answer)).map_err(Failure::failed)?;
    if answer.trim() == "yes" { Ok(()) } else { Err(refused("the answer was not yes")) }
}

fn wiped_document(former: &Former, size_bytes: u64) -> WipedDocument {
    let signature = |finding: &Finding| match finding {
        Finding::Signature { what, offset } => Some(SignatureDocument { what: what.clone(), offset: *offset }),
        Finding::InUse { .. } => None,
    };
    let member_of = former.superblock.as_ref().map(MemberOfDocument::of);
    WipedDocument {
        drive: former.path.display().to_string(),
        size_bytes,
        member_of,
        signatures: former.signatures.iter().filter_map(signature).collect(),
    }
}

/// What the drives hold, or held.
fn held(document: &WipeDocument) -> String {
    let mut text = String::new();
    for WipedDocument { drive, size_bytes, member_of, signatures } in &document.drives {
        text += &format!("{}: {}\n", Outside(drive), format_size(*size_bytes));
        for SignatureDocument { what, offset } in signatures {
            text += &format!("  {what} (at byte {offset})\n");
        }
        if let Some(MemberOfDocument { name, uuid, counts_on_it }) = member_of {
            text += &format!("  member of array {}, uuid {uuid}\n", Outside(name));
            if *counts_on_it {
                text += "  that array counts on it: without it less can be lost, or all is lost\n";
            }
        }
        if signatures.is_empty() && member_of.is_none() {
            text += "  no signature that shoal knows\n";
        }
    }
    text
}

fn text(document: &WipeDocument) -> String {
    let ends = format_size(ERASED_END_BYTES);
    let told = if document.dry_run {
        format!(
            "nothing was written; without --dry-run the first and last {ends} of each drive are erased, and these marks with them\n"
        )
    } else {
        format!("wiped: that, and the first and last {ends} of each drive; what lies between was not erased\n")
    };
    let forgotten = document.forgotten_arrays.iter();
    let forgotten: String = forgotten.map(|uuid| format!("array {uuid} is gone, and forgotten here\n")).collect();
    held(document) + &told + &forgotten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wiped_and_what_is_not_is_told_where_a_drive_fails() {
        let drives = ["a", "b", "c"].map(PathBuf::from);
        let error = io::Error::other("b: it does not take it");
        let text = |failed| half_done(&drives, failed, &error).to_string();
        assert!(text(1).ends_with("; wiped are a; not wiped are c"), "{}", text(1));
        assert!(text(0).ends_with("; not wiped are b c") && text(2).ends_with("; wiped are a b"), "{}", text(0));
    }
}
