//! `shoal create`

use shoal_drive::Access;
use shoal_volume::{ArrayLevel, ArrayVolume, ConsistencyPolicy, CreateError, CreateOptions, Level, MinorVersion};

use crate::args::{Cli, CreateArgs};
use crate::commands::status::state_text;
use crate::documents::StateDocument;
use crate::drives::{check_wipeable, join, open_drives, open_options};
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::running::{Command, Handle, Host};

/// Makes an array and, where its level needs it, brings parity and mirrors in agreement with the data.
pub(crate) fn run(cli: &Cli, args: &CreateArgs) -> Result<(), Failure> {
    let level = ArrayLevel::parse(&args.level, args.layout.as_deref(), args.groups).map_err(Failure::usage)?;
    let members = args.drives.len().saturating_sub(args.spares);
    if level == ArrayLevel::Plain(Level::Raid1) && members < 2 {
        return Err(Failure::Usage(format!(
            "level 1 needs at least 2 members, of which {members} are given: add drives"
        )));
    }
    let drives = open_drives(&args.drives, Access::Read)?;
    check_wipeable(&args.drives, args.force)?;
    drop(drives);
    let opened = join(cli, open_drives(&args.drives, Access::Write)?, 1, 4096)?;
    let create = CreateOptions {
        level,
        chunk_bytes: args.chunk,
        spare_count: args.spares,
        name: args.name.clone(),
        homehost: homehost(),
        drive_bytes_limit: args.size,
        assume_clean: args.assume_clean,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    };
    let options = open_options(cli, true, false)?;
    let array =
        ArrayVolume::create(opened.world, opened.plan, &opened.drives, &create, &options).map_err(create_failure)?;
    let needs_resync = array.needs_resync();
    let mut array = Host::of(array, options.background);
    let mut resync = None;
    if needs_resync {
        array.execute(Command::Scrub { repair: true })?;
        resync = Some(run_background(cli, &mut array, "resync")?);
    }
    let document = StateDocument { scrub: None, ..array.finish()? };
    if let Some(resync) = resync {
        resync.finished_or("the array is there and can be used; `shoal scrub --repair` makes its redundancy whole")?;
    }
    output::document(cli, &document, state_text)
}

/// Who is at fault when an array cannot be made.
pub(crate) fn create_failure(error: CreateError) -> Failure {
    match error {
        CreateError::Request(_)
        | CreateError::Groups { .. }
        | CreateError::NestedSpares
        | CreateError::Spares { .. } => Failure::usage(error),
        CreateError::Write { .. } | CreateError::Open(_) | CreateError::Volume(_) => Failure::failed(error),
    }
}

/// The host's name without its domain, as mdadm uses it.
fn homehost() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let host = name.trim().split('.').next()?;
    (!host.is_empty()).then(|| host.to_owned())
}
