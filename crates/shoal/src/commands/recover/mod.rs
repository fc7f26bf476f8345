//! `shoal recover`: finds the members of arrays among many files, says what can be made of them, and lets one see it
//! before anything is decided.
//!
//! Nothing is written but by `--apply`: arrays run over an overlay, in which superblocks are as the proposal wants
//! them. `--save` copies the content out and lists what is lost; `--apply` writes the proposed superblocks.

mod document;
mod plan;
mod rescue_map;
mod search;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use shoal_drive::{Access, Drive, survey_content};
use shoal_md::Choice;
use shoal_volume::transfer::{TransferError, read_to};
use shoal_volume::{ArrayVolume, Health, Superblock, Verdict, Volume, salvage};

pub(crate) use document::RecoverDocument;
use document::{FoundDocument, LostDocument, ProblemDocument, RecoverableDocument, SavedDocument};
use plan::{Group, Overlay, Plan, plans};
use search::{Found, Search};

use crate::args::{Cli, RecoverArgs};
use crate::commands::examine::role;
use crate::exit::Failure;
use crate::output;
use crate::setup::environment;
use shoal_documents::verdict_text;
use shoal_inventory::store;

/// Finds, proposes, shows; saves or applies if asked to.
pub(crate) fn run(cli: &Cli, args: &RecoverArgs) -> Result<(), Failure> {
    shoal_inventory::refuse(&args.paths)?;
    let search = Search::of(&args.paths)?;
    let mut plans = plans(cli, search.found)?;
    if let Some(wanted) = &args.array {
        plans.retain(|plan| plan.is_called(wanted));
    }
    if plans.is_empty() {
        let what = args.array.as_ref().map_or("an array".to_owned(), |name| format!("array {name}"));
        return Err(Failure::Usage(format!("no member of {what} was found: name other files, devices or directories")));
    }
    if plans.len() > 1 && (args.save.is_some() || args.apply) {
        return Err(Failure::Usage("there are several arrays: choose one with --array NAME or UUID".to_owned()));
    }
    let mut arrays = Vec::new();
    for plan in &plans {
        arrays.push(look_at(cli, plan, args)?);
    }
    let problems = search.problems.into_iter().map(|(drive, problem)| ProblemDocument { drive, problem }).collect();
    output::document(cli, &RecoverDocument { arrays, problems }, document::text)
}

fn look_at(cli: &Cli, plan: &Plan, args: &RecoverArgs) -> Result<RecoverableDocument, Failure> {
    let problem = plan.groups.iter().find_map(|group| group.proposal.as_ref().err()).map(ToString::to_string);
    let mut document = RecoverableDocument {
        members: plan.groups.iter().flat_map(members).collect(),
        array: None,
        problem,
        losses: losses(plan),
        needs_apply: !plan.mended().is_empty(),
        applied: false,
        content: None,
        saved: None,
    };
    if document.problem.is_none() {
        document.array = Some(shoal_documents::ArrayDocument::from(&plan.status(cli)?));
        let mut opened = plan.open(cli)?;
        document.content = opened.as_mut().ok().and_then(|array| content_of(array).ok());
        if let Some(file) = &args.save {
            document.saved = Some(save(&mut opened?, file)?);
        }
    } else if let (Some(problem), true) = (&document.problem, args.save.is_some() || args.apply) {
        return Err(Failure::Failed(problem.clone()));
    }
    if args.apply {
        apply(plan)?;
        document.applied = document.needs_apply;
    }
    Ok(document)
}

fn members(group: &Group) -> impl Iterator<Item = FoundDocument> + '_ {
    group.members.iter().enumerate().map(|(index, member)| {
        let (choice, reason) = choice(group, index);
        FoundDocument {
            drive: member.name.clone(),
            array_uuid: member.superblock.array_uuid.to_string(),
            says: role(member.superblock.own_use()),
            events: member.superblock.events,
            update_time_unix_s: member.superblock.update_time.seconds(),
            cut_off_bytes: member.size_bytes - member.present_bytes,
            hole_bytes: member.holes.iter().map(|hole| hole.end - hole.start).sum(),
            choice: choice.to_owned(),
            reason,
        }
    })
}

/// What is to become of a member, and why.
fn choice(group: &Group, index: usize) -> (&'static str, String) {
    match group.choice(index) {
        None => ("undecided", "the members contradict each other".to_owned()),
        Some(Choice::CopyOf(other)) => {
            ("leave out", format!("{} is the same member, and as fresh or fresher", group.members[other].name))
        }
        Some(Choice::Force { updates_missed, .. }) => {
            ("force", format!("the array went on without it for {updates_missed} updates, and needs it"))
        }
        Some(Choice::AsItSays(Verdict::InSync(role))) => ("use", format!("in sync as member {}", role.0)),
        Some(Choice::AsItSays(Verdict::Rebuilding { role, .. })) => {
            ("use", format!("being rebuilt as member {}", role.0))
        }
        Some(Choice::AsItSays(Verdict::Spare)) => ("use", "a spare".to_owned()),
        Some(Choice::AsItSays(verdict)) => ("leave out", verdict_text(verdict)),
    }
}

/// What the proposal cannot save.
fn losses(plan: &Plan) -> Vec<String> {
    let mut losses = Vec::new();
    for group in &plan.groups {
        let Ok(proposal) = &group.proposal else { continue };
        if proposal.health == Health::Failed {
            let missing = proposal.assembly.missing_roles().iter().map(|role| role.0.to_string()).collect::<Vec<_>>();
            losses.push(format!(
                "array {} cannot run: members {} are missing; look for them elsewhere",
                proposal.assembly.name(),
                missing.join(", ")
            ));
        }
        let forced =
            (0..).zip(&group.members).filter(|(index, _)| matches!(group.choice(*index), Some(Choice::Force { .. })));
        losses.extend(forced.map(|(_, member)| {
            format!(
                "what was written after {} had left: blocks that lie on it are old, and parity over them is wrong",
                member.name
            )
        }));
        if proposal.mended.is_empty() && proposal.assembly.is_dirty_and_degraded() {
            losses.push(format!(
                "array {} was being written when it stopped, and members are missing: blocks of those in stripes that were \
                 under way may be wrong",
                proposal.assembly.name()
            ));
        }
    }
    losses
}

/// What the content looks like.
fn content_of(array: &mut ArrayVolume<Overlay>) -> Result<Vec<String>, io::Error> {
    let found = survey_content(array.size_bytes(), |offset, bytes| {
        let mut sink: &mut [u8] = bytes;
        let length = sink.len() as u64;
        read_to(array, offset, length, &mut sink).map_err(io::Error::other)
    })?;
    Ok(found.iter().map(ToString::to_string).collect())
}

/// Copies the content into a new file, with holes where it is zeros or lost.
fn save(array: &mut ArrayVolume<Overlay>, path: &Path) -> Result<SavedDocument, Failure> {
    let at = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    let file = File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::Refused(format!("{} is there already: name another file", path.display()))
        }
        _ => at(error),
    })?;
    let (start, size_bytes) = (Instant::now(), array.size_bytes());
    file.set_len(size_bytes).map_err(at)?;
    let lost = salvage(array, 0..size_bytes, &mut |offset, bytes| write_sparse(&file, offset, bytes));
    let lost = lost.map_err(|error| match error {
        TransferError::Stream(error) => at(error),
        error => Failure::failed(error),
    })?;
    file.sync_all().map_err(at)?;
    let lost = lost.into_iter().map(|range| LostDocument { offset: range.start, bytes: range.end - range.start });
    let lost: Vec<_> = lost.collect();
    Ok(SavedDocument {
        file: path.display().to_string(),
        bytes: size_bytes - lost.iter().map(|lost| lost.bytes).sum::<u64>(),
        lost,
        elapsed_ns: u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
    })
}

/// Writes what is not zeros.
fn write_sparse(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    const PIECE_BYTES: usize = 64 << 10;
    for (place, piece) in (offset..).step_by(PIECE_BYTES).zip(bytes.chunks(PIECE_BYTES)) {
        if piece.iter().any(|byte| *byte != 0) {
            file.write_all_at(piece, place)?;
        }
    }
    Ok(())
}

/// Writes the proposed superblocks, if all drives can take them and are what they were.
fn apply(plan: &Plan) -> Result<(), Failure> {
    let mended = plan.mended();
    if let Some((member, _)) = mended.iter().find(|(member, _)| member.present_bytes < member.size_bytes) {
        let why = "it is cut off, and an array that runs needs all of it";
        return Err(Failure::Refused(format!("{}: {why}: copy it whole first, or use --save", member.name)));
    }
    let mut drives = Vec::new();
    for (member, _) in &mended {
        let drive = Drive::open(&member.path, Access::Write)?;
        is_unchanged(&drive, member)?;
        drives.push(drive);
    }
    for (drive, (member, superblock)) in drives.iter().zip(&mended) {
        let place = member.offset + superblock.super_offset_bytes();
        let written = drive.write_at(place, superblock.encode().as_slice()).and_then(|()| drive.sync());
        written.map_err(|error| Failure::Failed(format!("{}: {error}", member.name)))?;
    }
    drop(drives);
    let is_mended = |group: &&Group| group.used().iter().any(|(_, mended)| mended.is_some());
    plan.groups.iter().filter(is_mended).try_for_each(remember)
}

/// What this host has seen of it before would speak against what it was made to be now: its memory
/// begins with that. Of members that are not drives of their own nothing is known again, and
/// nothing remembered.
fn remember(group: &Group) -> Result<(), Failure> {
    if group.members.iter().all(|member| member.offset == 0 && member.holes.is_empty()) {
        shoal_inventory::remember(environment(), &group.applied(), true);
        return Ok(());
    }
    let array = group.members[0].superblock.array_uuid;
    store(environment()).map_or(Ok(()), |store| store.forget(array)).map_err(Failure::failed)
}

/// The member is still what the proposal was made of.
fn is_unchanged(drive: &Drive, member: &Found) -> Result<(), Failure> {
    let mut bytes = [0; shoal_md::SUPERBLOCK_BYTES];
    let place = member.offset + member.superblock.super_offset_bytes();
    drive.read_at(place, &mut bytes).map_err(|error| Failure::Failed(format!("{}: {error}", member.name)))?;
    let found: &Superblock = &member.superblock;
    if bytes == *found.encode() {
        return Ok(());
    }
    Err(Failure::Refused(format!("{} has changed while it was being looked at: start again", member.name)))
}
