//! `shoal read` and `shoal write`: raw access to an array's content.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use rustix::fs::{FileType, SeekFrom, Stat, fstat, seek};
use shoal_attaching::refuse_served;
use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, HealthDocument, TransferDocument};
use shoal_inventory::find_signature;
use shoal_running::{Handle, Opening};
use shoal_text::{Outside, format_ns, format_rate, format_size};
use shoal_volume::transfer::{TransferError, read_to, write_from};
use shoal_volume::{Incomplete, Volume};

use crate::args::{Cli, ReadArgs, WriteArgs};
use crate::attaching::refuse_occupied;
use crate::exit::Failure;
use crate::output;
use crate::setup::{check_first, reach};

/// Writes content to standard output. With `--json` the document goes to standard error, as the
/// content has the other.
pub(crate) fn read(cli: &Cli, args: &ReadArgs) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::usage("content is no text for a terminal: send it to a file (`> FILE`) or a program"));
    }
    let opening = Opening { writable: false, incomplete: Incomplete::Read, ..Opening::WRITABLE };
    let mut array = reach(cli, &args.array, opening, None)?;
    tell_write_hole(&array.execute(Command::Status)?.array);
    let array = array.content();
    let rest = array.size_bytes().checked_sub(args.offset).ok_or_else(|| beyond(args.offset, array.size_bytes()))?;
    let length = args.length.unwrap_or(rest);
    if length > rest {
        return Err(Failure::Usage(format!(
            "{length} bytes from offset {} on end beyond the content, which has {rest} there",
            args.offset
        )));
    }
    let start = Instant::now();
    let mut sink = io::BufWriter::new(io::stdout().lock());
    let sent = read_to(array, args.offset, length, &mut sink).and_then(|()| Ok(sink.flush()?));
    match sent {
        // Whoever reads has had enough, as `head` does: not our failure.
        Err(TransferError::Stream(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            // Content before the fault is right, and is not held back.
            let _ = sink.flush();
            let nothing_sent = matches!(error, TransferError::Content { offset, .. } if offset <= args.offset);
            let message = error.to_string();
            return Err(if nothing_sent { Failure::Failed(message) } else { Failure::Shown(message) });
        }
        Ok(()) => {}
    }
    if cli.json {
        let document = TransferDocument { offset: args.offset, bytes: length, elapsed_ns: elapsed_ns(start) };
        let printed = serde_json::to_string_pretty(&document).map_err(Failure::failed)?;
        writeln!(io::stderr().lock(), "{printed}").map_err(Failure::failed)?;
    }
    Ok(())
}

/// What a missing member held is made of parity, which a crash may have left behind the data;
/// nothing on the members says where, but for a partial parity log, and then nothing is in doubt.
fn tell_write_hole(array: &ArrayDocument) {
    if array.has_write_hole() {
        output::warn(&format!(
            "array {} is degraded and was not shut down cleanly: where it was being written, blocks of the missing member may be wrong, \
             flushed ones too; give the missing drive too",
            array.name
        ));
    }
    array.members.iter().filter_map(|member| member.array.as_deref()).for_each(tell_write_hole);
}

fn elapsed_ns(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Writes standard input to an array's content.
pub(crate) fn write(cli: &Cli, args: &WriteArgs) -> Result<(), Failure> {
    refuse_occupied(&args.array)?;
    let opening = Opening { force: args.force, ..Opening::WRITABLE };
    let check = |array: &mut dyn Handle| {
        let state = array.execute(Command::Status)?.array;
        refuse_incomplete(&state)?;
        refuse_no_room(args.offset, array.content().size_bytes())?;
        match args.force {
            true => Ok(()),
            false => refuse_file_system(array.content(), &state.name),
        }
    };
    check_first(cli, &args.array, opening, None, check)?;
    let mut array = reach(cli, &args.array, opening, None)?;
    refuse_served(&array.execute(Command::Status)?)?;
    check(array.as_mut())?;
    let start = Instant::now();
    let written = write_from(array.content(), args.offset, &mut io::stdin().lock());
    let elapsed_ns = elapsed_ns(start);
    // Closed in either case: what was written before an error is to be found clean.
    let closed = array.finish();
    let bytes = written.map_err(|error| transfer_failure(error, args.offset))?;
    closed?;
    let document = TransferDocument { offset: args.offset, bytes, elapsed_ns };
    output::document(cli, &document, |document| {
        let rate = u128::from(document.bytes) * 1_000_000_000 / u128::from(document.elapsed_ns.max(1));
        format!(
            "{} written in {}, {}\n",
            format_size(document.bytes),
            format_ns(document.elapsed_ns),
            format_rate(u64::try_from(rate).unwrap_or(u64::MAX))
        )
    })
}

fn beyond(offset: u64, size_bytes: u64) -> Failure {
    Failure::Usage(format!("offset {offset} is beyond the content, which ends at byte {size_bytes}"))
}

/// What is left of an array that has lost too much is read, and never written.
fn refuse_incomplete(array: &ArrayDocument) -> Result<(), Failure> {
    if array.health != HealthDocument::Failed {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "array {} lacks more members than its level survives, and is not written to, whatever is forced: give the others too; \
         `shoal recover` shows what can be had without them",
        array.name
    )))
}

/// Files are put on a file system by way of a mount. Content that cannot be read may be healed by
/// what is written.
fn refuse_file_system(content: &mut dyn Volume, array: &str) -> Result<(), Failure> {
    match find_signature(content) {
        Ok(Some(finding)) => Err(Failure::Refused(format!(
            "array {} {finding}, which would be damaged: `shoal mount` makes its files accessible; --force writes over it",
            Outside(array)
        ))),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// An offset beyond the content, and a file on standard input that has more than there is room for,
/// are refused before anything is written. How much a pipe has nobody knows.
fn refuse_no_room(offset: u64, size_bytes: u64) -> Result<(), Failure> {
    if offset > size_bytes {
        return Err(beyond(offset, size_bytes));
    }
    let stdin = io::stdin();
    let kind = |it: &Stat| FileType::from_raw_mode(it.st_mode);
    let file = match fstat(&stdin) {
        Ok(it) if kind(&it) == FileType::Directory => {
            return Err(Failure::usage("the input is a directory: give a file, or a program's output"));
        }
        Ok(it) if kind(&it) == FileType::RegularFile => it,
        _ => return Ok(()),
    };
    let position = seek(&stdin, SeekFrom::Current(0)).unwrap_or(0);
    let (length, room) = (u64::try_from(file.st_size).unwrap_or(0).saturating_sub(position), size_bytes - offset);
    if length <= room {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the input has {length} bytes, and the content has room for {room} from byte {offset} on: nothing was written"
    )))
}

fn transfer_failure(error: TransferError, offset: u64) -> Failure {
    match error {
        TransferError::Range { size_bytes, moved_bytes: 0, .. } => Failure::Usage(format!(
            "the input has more than the content has room for from byte {offset} on, {} bytes: nothing was written",
            size_bytes - offset
        )),
        TransferError::Range { size_bytes, moved_bytes, .. } => Failure::Failed(format!(
            "the input has more than the content has room for, which ends at byte {size_bytes}: its first {moved_bytes} bytes were \
             written, from byte {offset} on"
        )),
        _ => Failure::failed(error),
    }
}
