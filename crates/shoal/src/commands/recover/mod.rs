//! `shoal recover`: finds the members of arrays among many files, says what can be made of them,
//! and lets one see it before anything is decided.
//!
//! Nothing is written but by `--apply`: arrays run over an overlay, in which superblocks are as the
//! proposal wants them. `--save` copies the content out and lists what is lost; `--apply` writes
//! the proposed superblocks.

mod document;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use shoal_documents::{ArrayDocument, Extent, Fault, HasFault, verdict_text};
use shoal_inventory::hold;
use shoal_md::{Choice, Uuid};
use shoal_recover::{
    Content, Group, Overlay, Reader, RecoveryPlan, Search, apply, changed, content_of, losses, plans,
    refuse_incomplete, save, unreadable,
};
use shoal_running::{ClaimError, runner};
use shoal_volume::{ArrayVolume, Verdict, Volume};

pub(crate) use document::RecoverDocument;
use document::{
    FoundDocument, LEAVE_OUT, LostDocument, ProblemDocument, RecoverableDocument, SavedDocument, UnreadableDocument,
};

use crate::args::{Cli, RecoverArgs};
use crate::commands::examine::role;
use crate::exit::Failure;
use crate::output;
use crate::progress::{bytes_bar, interrupt_flag};
use crate::setup::environment;

/// Finds, proposes, shows; saves or applies if asked to.
pub(crate) fn run(cli: &Cli, args: &RecoverArgs) -> Result<(), Failure> {
    shoal_inventory::refuse(&args.paths)?;
    let search = Search::of(&args.paths)?;
    let reader = Reader { io_engine: cli.io_engine(), parity: cli.parity()? };
    let mut arrays: Vec<_> = search.found.iter().map(|found| found.superblock.array_uuid).collect();
    arrays.sort();
    arrays.dedup();
    let plans = plans(&reader, search.found, environment().store().as_ref()).map_err(|why| by_whom(&arrays, why));
    let mut plans = plans?;
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
        arrays.push(look(cli, &reader, plan, args)?);
    }
    let problems = search.problems.into_iter().map(|(drive, problem)| ProblemDocument { drive, problem }).collect();
    let document = RecoverDocument { arrays, problems };
    output::document(cli, &document, document::text)?;
    let mut shortfalls = document.arrays.iter().filter_map(|array| array.saved.as_ref()?.shortfall());
    shortfalls.next().map_or(Ok(()), |shortfall| Err(Failure::Shown(shortfall)))
}

/// With the name of whoever has the array, if its members are busy on account of that.
fn by_whom(arrays: &[Uuid], why: impl HasFault + Into<Failure>) -> Failure {
    if why.fault() != Fault::Busy {
        return why.into();
    }
    match arrays.iter().find_map(|&array| runner(environment(), array)) {
        Some(ClaimError::RunsAlready { name, uuid, process_id, command }) => {
            let command = command.map_or(String::new(), |command| format!(" (`{command}`)"));
            Failure::Busy(format!(
                "array {name} is busy: process {process_id}{command} runs it: `shoal stop --uuid {uuid}` first, or give copies of its \
                 members"
            ))
        }
        Some(other) => other.into(),
        None => hold(environment(), arrays).map_or_else(Failure::from, |_| why.into()),
    }
}

/// The array as it would run, with what its members lack.
fn described(plan: &RecoveryPlan, reader: &Reader, content: Option<&Content>) -> Result<ArrayDocument, Failure> {
    let extent = match content {
        Some(Content { unreadable, .. }) if !unreadable.is_empty() => Extent::Part,
        _ => Extent::Whole,
    };
    let incomplete = plan.incomplete();
    let is_incomplete = |drive: &str| incomplete.contains(&drive);
    Ok(ArrayDocument::from(&plan.status(reader)?).with_incomplete(&is_incomplete, extent))
}

fn look(cli: &Cli, reader: &Reader, plan: &RecoveryPlan, args: &RecoverArgs) -> Result<RecoverableDocument, Failure> {
    let problem = plan.groups.iter().find_map(|group| group.proposal.as_ref().err()).map(ToString::to_string);
    if let (Some(problem), true) = (&problem, args.save.is_some() || args.apply) {
        return Err(Failure::Failed(problem.clone()));
    }
    if args.apply {
        // Before much is copied in vain.
        refuse_incomplete(plan)?;
    }
    let content = if problem.is_none() { unreadable(plan, reader)? } else { None };
    let mut document = RecoverableDocument {
        members: plan.groups.iter().flat_map(members).collect(),
        array: None,
        problem,
        losses: losses(plan, content.as_ref()).iter().map(ToString::to_string).collect(),
        unreadable: content.as_ref().map(UnreadableDocument::from),
        needs_apply: !plan.mended().is_empty(),
        applied: false,
        content: None,
        saved: None,
    };
    if document.problem.is_none() {
        document.array = Some(described(plan, reader, content.as_ref())?);
        let mut opened = plan.open(reader)?;
        let found = opened.as_mut().ok().and_then(|array| content_of(array).ok());
        document.content = found.map(|found| found.iter().map(ToString::to_string).collect());
        if let Some(file) = &args.save {
            let unreadable = content.map(|content| content.unreadable).unwrap_or_default();
            let saved = saved(cli, &mut opened?, file, &unreadable)?;
            document.saved = Some(SavedDocument { changed: changed(plan), ..saved });
        }
    }
    if args.apply {
        document.applied = applied(plan)?;
    }
    Ok(document)
}

/// Writes the superblocks that are proposed; whether there were any.
fn applied(plan: &RecoveryPlan) -> Result<bool, Failure> {
    let arrays: Vec<_> = plan.groups.iter().map(|group| group.members[0].superblock.array_uuid).collect();
    apply(environment(), plan).map_err(|why| by_whom(&arrays, why))?;
    let is_applied = !plan.mended().is_empty();
    if !is_applied {
        output::warn("nothing was applied: the superblocks say already what is proposed");
    }
    Ok(is_applied)
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
            cut_off_bytes: member.cut_off_bytes(),
            hole_bytes: member.hole_bytes(),
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
            (LEAVE_OUT, format!("{} is the same member, and as fresh or fresher", group.members[other].name))
        }
        Some(Choice::Force { updates_missed, .. }) => {
            ("force", format!("the array went on without it for {updates_missed} updates, and needs it"))
        }
        Some(Choice::AsItSays(Verdict::InSync(role))) => ("use", format!("in sync as member {}", role.0)),
        Some(Choice::AsItSays(Verdict::Rebuilding { role, .. })) => {
            ("use", format!("being rebuilt as member {}", role.0))
        }
        Some(Choice::AsItSays(Verdict::Spare)) => ("use", "a spare".to_owned()),
        Some(Choice::AsItSays(_)) if group.members[index].is_spoilt => {
            (LEAVE_OUT, "its file was cut short or deleted while the array ran".to_owned())
        }
        Some(Choice::AsItSays(verdict)) => (LEAVE_OUT, verdict_text(verdict)),
    }
}

/// Copies the content into a file.
fn saved(
    cli: &Cli,
    array: &mut ArrayVolume<Overlay>,
    path: &Path,
    unreadable: &[Range<u64>],
) -> Result<SavedDocument, Failure> {
    let (start, size_bytes) = (Instant::now(), array.size_bytes());
    let signalled = interrupt_flag()?;
    let bar = bytes_bar(cli, size_bytes, "save");
    let mut tell = |done_bytes| {
        bar.set_position(done_bytes);
        if signalled.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let lost = save(array, path, unreadable, &mut tell);
    bar.finish_and_clear();
    let lost = LostDocument::all(&lost?);
    Ok(SavedDocument {
        file: path.display().to_string(),
        bytes: size_bytes - lost.iter().map(|lost| lost.bytes).sum::<u64>(),
        lost,
        changed: Vec::new(),
        elapsed_ns: u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
    })
}
