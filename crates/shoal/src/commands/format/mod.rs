//! `shoal format`: a file system that fits the array.
//!
//! The order is what keeps content safe: the array is looked at and refused if it holds something
//! or is in use; the plan is made, or refused, from what the array is; the array is attached, which
//! may be refused too; the plan is shown; and only then its old signatures go.

pub(crate) mod geometry;
mod text;

use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use shoal_attach::records::Attachment;
use shoal_attaching::{AttachOptions, Occupied, refuse_served};
use shoal_documents::protocol::Command;
use shoal_documents::{ArgumentDocument, FormatDocument, GeometryDocument, MadeDocument, StateDocument};
use shoal_filesystem::{Geometry, Identity, MakeError, MkfsPlan, PlanError, check_tools, make, plan};
use shoal_inventory::check_content;
use shoal_running::Opening;

use crate::args::{Cli, FormatArgs};
use crate::attaching::{attach, attachment_of, detach};
use crate::exit::Failure;
use crate::output;
use crate::setup::reach;
use text::{made_text, plan_text};

/// Shows the plan and carries it out.
pub(crate) fn run(cli: &Cli, args: &FormatArgs) -> Result<(), Failure> {
    // What has lost its front is attached anew.
    let already = attachment_of(&args.array)?.filter(Attachment::is_alive);
    if let Some(attachment) = &already {
        refuse_use(attachment)?;
    }
    let (state, mut geometry) = look(cli, args)?;
    if let Some(attachment) = &already {
        geometry.logical_block_bytes = geometry.logical_block_bytes.max(block_bytes(&attachment.device)?);
    }
    let mut document = document(&state, &geometry, planned(args, &geometry)?);
    if args.dry_run {
        return output::document(cli, &document, plan_text);
    }
    if already.is_none() {
        refuse_served(&state)?;
    }
    check_tools(args.fs).map_err(Failure::usage)?;
    document.made = Some(match already {
        Some(attachment) => {
            // It may have lost its server.
            let options =
                AttachOptions { force: args.force, read_only: attachment.read_only, ..AttachOptions::default() };
            make_on(cli, args, &document, geometry, &attach(cli, &args.array, &options)?)?
        }
        None => attach_and_make(cli, args, &document, geometry)?,
    });
    output::document(cli, &document, made_text)
}

/// The array as it is, without changing it. One whose content holds something is refused unless
/// forced.
fn look(cli: &Cli, args: &FormatArgs) -> Result<(StateDocument, Geometry), Failure> {
    let mut array = reach(cli, &args.array, Opening { writable: false, force: args.force, ..Opening::WRITABLE }, None)?;
    let state = array.execute(Command::Status)?;
    if !args.force {
        check_content(array.content(), &state.array.name)?;
    }
    let content = array.content();
    let (block_bytes, size_bytes) = (content.logical_block_bytes(), content.size_bytes());
    let geometry = geometry::geometry(&state, block_bytes, size_bytes, args.erase_unit)?;
    array.finish()?;
    Ok((state, geometry))
}

fn planned(args: &FormatArgs, geometry: &Geometry) -> Result<MkfsPlan, Failure> {
    plan(args.fs, geometry, args.label.as_deref()).map_err(|error: PlanError| Failure::usage(error))
}

/// Attaches the array for as long as it takes.
fn attach_and_make(
    cli: &Cli,
    args: &FormatArgs,
    plan: &FormatDocument,
    geometry: Geometry,
) -> Result<MadeDocument, Failure> {
    let attachment = attach(cli, &args.array, &AttachOptions { force: args.force, ..AttachOptions::default() })?;
    let made = make_on(cli, args, plan, geometry, &attachment);
    let detached = detach(&attachment);
    // What went wrong first is told first.
    let made = made?;
    detached.map(|()| made)
}

/// Shows the plan once nothing speaks against it any more, and carries it out.
fn make_on(
    cli: &Cli,
    args: &FormatArgs,
    plan: &FormatDocument,
    geometry: Geometry,
    attachment: &Attachment,
) -> Result<MadeDocument, Failure> {
    if attachment.read_only {
        let (name, device) = (&attachment.name, attachment.device.display());
        return Err(Failure::Refused(format!("array {name} is attached read-only at {device}: detach it first")));
    }
    // What is looked at is what is formatted.
    let _held = attachment.hold()?;
    refuse_use(attachment)?;
    let device = &attachment.device;
    let geometry = Geometry { logical_block_bytes: geometry.logical_block_bytes.max(block_bytes(device)?), ..geometry };
    if !cli.json {
        output::document(cli, plan, plan_text)?;
    }
    let Identity { uuid, label, .. } = make(&planned(args, &geometry)?, device).map_err(make_failure)?;
    Ok(MadeDocument { uuid, label, device: device.display().to_string() })
}

fn make_failure(error: MakeError) -> Failure {
    match error {
        MakeError::NoProgram { .. } => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

/// Refuses an array that is mounted, or that something else has claimed through its device.
fn refuse_use(attachment: &Attachment) -> Result<(), Failure> {
    let Attachment { name, device, .. } = attachment;
    if let Some(Occupied { what, mend }) = Occupied::mount_of(attachment)? {
        return Err(Failure::Refused(format!("array {name} is {what}: {mend}")));
    }
    let survey =
        shoal_drive::survey(device).map_err(|error| Failure::Failed(format!("{}: {error}", device.display())))?;
    match survey.findings.into_iter().find(|finding| matches!(finding, shoal_drive::Finding::InUse { .. })) {
        Some(holder) => {
            let device = device.display();
            Err(Failure::Refused(format!("array {name}, attached at {device}, is {holder}: release it first")))
        }
        None => Ok(()),
    }
}

/// The smallest unit of I/O of a device; files have none of their own.
fn block_bytes(device: &Path) -> Result<u32, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", device.display()));
    let file = File::open(device).map_err(failed)?;
    let is_device = file.metadata().map_err(failed)?.file_type().is_block_device();
    if is_device { rustix::fs::ioctl_blksszget(&file).map_err(|errno| failed(errno.into())) } else { Ok(512) }
}

fn document(state: &StateDocument, geometry: &Geometry, plan: MkfsPlan) -> FormatDocument {
    let argument = |argument: shoal_filesystem::Argument| ArgumentDocument {
        words: argument.words,
        reason: argument.reason,
        source: argument.source.to_owned(),
    };
    FormatDocument {
        array: state.array.name.clone(),
        array_uuid: state.array.uuid.clone(),
        kind: plan.kind.name().to_owned(),
        geometry: GeometryDocument {
            size_bytes: geometry.size_bytes,
            logical_block_bytes: geometry.logical_block_bytes,
            chunk_bytes: geometry.stripes.map(|stripes| stripes.chunk_bytes),
            stripe_bytes: geometry.stripes.map(|stripes| stripes.width_bytes()),
            erase_unit_bytes: geometry.erase_unit_bytes,
        },
        program: plan.kind.mkfs().to_owned(),
        arguments: plan.arguments.into_iter().map(argument).collect(),
        notes: plan.notes,
        made: None,
    }
}
