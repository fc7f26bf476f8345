//! `shoal create`

mod simulated;
mod size;

use shoal_documents::ArrayDocument;
use shoal_drive::{Access, Drive};
use shoal_inventory::{Purpose, SimulatedDrives, Wipeable, forget_erased, host_memory, open_drives, own_name};
use shoal_running::{Handle, Host, HostWorld};
use shoal_text::format_size;
use shoal_volume::{
    ArrayLevel, ArrayVolume, ConsistencyPolicy, CreateOptions, Level, MinorVersion, Superblock, Trust, check_creation,
};

use crate::args::{ArrayArgs, BitmapPlace, Cli, CreateArgs, DEFAULT_NAME, Metadata, Policy};
use crate::attaching::check_overwritable;
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::named::arrays_of;
use crate::output;
use crate::progress::run_background;
use crate::setup::{environment, join, open_options};
use size::{size_text, tell_unused};

/// Makes an array and, where its level needs it, brings parity and mirrors in agreement with the
/// data.
pub(crate) fn run(cli: &Cli, args: &CreateArgs) -> Result<(), Failure> {
    let level = ArrayLevel::parse(&args.level, args.layout.as_deref(), args.groups).map_err(Failure::usage)?;
    let consistency = consistency(args)?;
    let simulated = SimulatedDrives::named(&args.drives)?;
    let drive_count = simulated.as_ref().map_or(args.drives.len(), SimulatedDrives::count);
    let members = drive_count.saturating_sub(args.spares);
    if level == ArrayLevel::Plain(Level::Raid1) && members < 2 {
        return Err(Failure::Usage(format!(
            "level 1 needs at least 2 members, of which {members} are given: add drives"
        )));
    }
    let create = CreateOptions {
        level,
        chunk_bytes: args.chunk,
        spare_count: args.spares,
        name: args.name.clone(),
        homehost: homehost(),
        drive_bytes_limit: args.size,
        assume_clean: args.assume_clean,
        metadata: metadata(args.metadata),
        consistency,
    };
    if consistency == ConsistencyPolicy::Ppl {
        output::warn(PPL_COST);
    }
    if let Some(drives) = simulated {
        return simulated::create(cli, &drives, &create);
    }
    make(cli, args, &create)
}

/// Refuses a drive of which more is to be used than there is.
fn refuse_small(drive: &Drive, size_bytes: u64) -> Result<(), Failure> {
    if drive.size_bytes() >= size_bytes {
        return Ok(());
    }
    let (path, has) = (drive.path().display(), format_size(drive.size_bytes()));
    Err(Failure::Usage(format!(
        "--size {}: {path} has {has}: give no more than the smallest drive has, or leave --size out to use all of it",
        format_size(size_bytes)
    )))
}

/// Makes it of real drives.
fn make(cli: &Cli, args: &CreateArgs, create: &CreateOptions) -> Result<(), Failure> {
    // What is no drive, or too small, or too few, is told before what a drive holds.
    let drives = open_drives(&args.drives, Access::Read)?;
    if let Some(size) = args.size {
        drives.iter().try_for_each(|drive| refuse_small(drive, size))?;
    }
    let sizes: Vec<_> = drives.iter().map(|drive| (drive.path().display().to_string(), drive.size_bytes())).collect();
    check_creation(&sizes, create)?;
    drop(drives);
    let wipeable = check_overwritable(&args.drives, &ArrayArgs::default(), args.force)?;
    let opened = join(cli, wipeable.open()?, 1, 4096)?;
    let options = open_options(cli, true, false)?;
    let world = HostWorld::Real(Box::new(opened.world));
    let array = ArrayVolume::create(world, opened.plan, &opened.drives, create, &options);
    let mut array = array?;
    tell_bereft(&wipeable);
    if let Some(memory) = host_memory(environment(), Purpose::Start(Trust::Known)) {
        array.remember_in(memory);
    }
    let (needs_resync, content_bytes) = (array.needs_resync(), array.drive_content_bytes());
    let mut array = Host::of(environment(), array, options.background);
    let resync = needs_resync.then(|| run_background(cli, &mut array, "resync")).transpose()?;
    let document = array.finish()?;
    if let Some(resync) = resync {
        resync.finished_or("the array is there and can be used; `shoal rebuild` goes on with its resync")?;
    }
    if args.name != DEFAULT_NAME {
        tell_namesakes(&document.array);
    }
    tell_unused(&sizes, create);
    let told = size_text(create, content_bytes) + &advice(args, create.level);
    output::document(cli, &document, |document| state_text(document) + &told)
}

/// Tells that another array of this machine has the name, too: neither is found by it from now on.
pub(super) fn tell_namesakes(array: &ArrayDocument) {
    let own = own_name(&array.name);
    // What cannot be looked at has no say in this.
    let others = arrays_of(own, None).unwrap_or_default();
    if others.iter().any(|other| other.to_string() != array.uuid) {
        output::warn(&format!("another array is called {own}, too: `shoal rename` gives one of them another name"));
    }
}

/// Tells of arrays that have lost members to the new one, as was meant; those that lost all are
/// forgotten.
fn tell_bereft(wiped: &Wipeable) {
    let former = wiped.former().iter();
    let lost: Vec<_> = former.filter_map(|it| Some((&it.path, it.superblock.clone()?))).collect();
    let superblocks: Vec<_> = lost.iter().map(|(_, superblock)| superblock.clone()).collect();
    let mut told = Vec::new();
    for superblock in &superblocks {
        if told.contains(&superblock.array_uuid) {
            continue;
        }
        told.push(superblock.array_uuid);
        let is_its = |(_, other): &&(_, Superblock)| other.array_uuid == superblock.array_uuid;
        let drives: Vec<_> = lost.iter().filter(is_its).map(|(path, _)| path.display().to_string()).collect();
        let (name, uuid) = (superblock.name(), superblock.array_uuid);
        output::warn(&format!("array {name}, uuid {uuid}, has lost {} to the new one", drives.join(", ")));
    }
    forget_erased(environment(), &superblocks);
}

/// How Linux runs the array, where mdadm does that in one line.
fn advice(args: &CreateArgs, level: ArrayLevel) -> String {
    let is_device = |path: &std::path::PathBuf| !path.is_file();
    if matches!(level, ArrayLevel::Nested { .. }) || !args.drives.iter().all(is_device) {
        return String::new();
    }
    let drives: Vec<_> = args.drives.iter().map(|path| path.display().to_string()).collect();
    let drives = drives.join(" ");
    format!("  run by Linux: mdadm --assemble /dev/md/{} {drives}, or shoal run --engine kernel {drives}\n", args.name)
}

/// Measured with `shoal bench --write` on image files whose flushes are slow: docs/limits.md.
const PPL_COST: &str = "every write will wait for the partial parity log: where flushes are slow, 18 to 29 % of the write \
                        speed is left; reads cost the same";

fn metadata(metadata: Metadata) -> MinorVersion {
    match metadata {
        Metadata::End => MinorVersion::End,
        Metadata::Start => MinorVersion::Start,
        Metadata::Start4K => MinorVersion::Start4K,
    }
}

/// What `--bitmap`, `--bitmap-chunk` and `--consistency-policy` say together, as mdadm understands
/// them.
fn consistency(args: &CreateArgs) -> Result<ConsistencyPolicy, Failure> {
    let chunk_bytes = args.bitmap_chunk;
    let bitmap = ConsistencyPolicy::Bitmap { chunk_bytes };
    let policy = match (args.consistency_policy, args.bitmap) {
        (None | Some(Policy::Bitmap), Some(BitmapPlace::Internal)) | (Some(Policy::Bitmap), None) => bitmap,
        (None | Some(Policy::Resync), None | Some(BitmapPlace::None)) => ConsistencyPolicy::Resync,
        (Some(Policy::Ppl), None | Some(BitmapPlace::None)) => ConsistencyPolicy::Ppl,
        (Some(Policy::Bitmap), Some(BitmapPlace::None)) => {
            return Err(Failure::usage("--consistency-policy bitmap needs a bitmap: leave --bitmap none out"));
        }
        (Some(Policy::Resync | Policy::Ppl), Some(BitmapPlace::Internal)) => {
            return Err(Failure::usage(
                "a bitmap is a consistency policy of its own: leave --bitmap internal or --consistency-policy out",
            ));
        }
    };
    match chunk_bytes {
        Some(_) if policy != bitmap => Err(Failure::usage("--bitmap-chunk needs a bitmap: give --bitmap internal too")),
        _ => Ok(policy),
    }
}

/// The host's name without its domain, as mdadm uses it.
pub(crate) fn homehost() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let host = name.trim().split('.').next()?;
    (!host.is_empty()).then(|| host.to_owned())
}
