//! `shoal attach` and `shoal detach`: an array as a block device, or file, of this machine.

use shoal_attach::records::{Attachment, Standing};
use shoal_attaching::AttachOptions;
use shoal_documents::AttachDocument;
use shoal_text::format_size;

use crate::args::{ArrayArgs, AttachArgs, Cli, DetachArgs};
use crate::attaching::{attach, attachment_of, attachments, detach};
use crate::exit::Failure;
use crate::output;

/// Attaches an array, or finds that it is attached.
pub(crate) fn run(cli: &Cli, args: &AttachArgs) -> Result<(), Failure> {
    let options = AttachOptions {
        method: args.method,
        block_device: args.block_device,
        read_only: args.read_only,
        force: args.force,
        degraded: args.array.degraded,
        until_unmounted: false,
        deadline: args.deadline,
        write_back: args.write_back.size,
    };
    output::document(cli, &AttachDocument { attachment: attach(cli, &args.array, &options)? }, text)
}

fn text(document: &AttachDocument) -> String {
    let Attachment { name, device, method, size_bytes, file, is_block_device, passed_over, .. } = &document.attachment;
    let kind = if *is_block_device { "block device" } else { "file" };
    let over = file.as_ref().map_or(String::new(), |file| format!(", a loop device of {}", file.display()));
    let mut text =
        format!("{}\n  array {name}, {}, a {kind} by {method}{over}\n", device.display(), format_size(*size_bytes));
    for passed in passed_over {
        text += &format!("  not by {}: {}\n", passed.method, passed.reason);
    }
    text
}

/// Undoes it.
pub(crate) fn undo(cli: &Cli, args: &DetachArgs) -> Result<(), Failure> {
    let attachment = find(&args.array)?;
    let is_stopped = attachment.runs_the_array();
    detach(&attachment)?;
    output::document(cli, &AttachDocument { attachment }, move |document| {
        let Attachment { name, device, .. } = &document.attachment;
        let stopped = if is_stopped { ", and the array is at rest" } else { "" };
        format!("array {name} is no longer {}{stopped}\n", device.display())
    })
}

/// By the device or file, or by the array.
fn find(named: &ArrayArgs) -> Result<Attachment, Failure> {
    if let [only] = named.drives.as_slice() {
        let only = std::path::absolute(only).map_err(Failure::failed)?;
        let is_named =
            |attachment: &&Attachment| attachment.device == only || attachment.file.as_deref() == Some(only.as_path());
        let all = attachments()?;
        // Of several that had the name, the one that has it now.
        let has_it = |attachment: &&Attachment| is_named(attachment) && attachment.standing() != Standing::Gone;
        if let Some(found) = all.iter().find(has_it).or_else(|| all.iter().find(is_named)) {
            return Ok(found.clone());
        }
    }
    attachment_of(named)?.ok_or_else(|| Failure::usage("the array is not attached: there is nothing to undo"))
}
