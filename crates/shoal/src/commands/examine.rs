//! `shoal examine`

use std::fmt::Write;
use std::path::PathBuf;

use shoal_documents::{ExamineDocument, ExaminedDocument, SuperblockDocument};
use shoal_inventory::{Look, NoMember, PATIENCE, Silence, look_within};
use shoal_md::{Features, MemberUse, Superblock};
use shoal_text::{Outside, format_size};
use shoal_volume::layout_name;

use crate::args::{Cli, ExamineArgs};
use crate::exit::Failure;
use crate::output;

/// Shows the superblock on each drive. Exit status 1 if a drive has none.
pub(crate) fn run(cli: &Cli, args: &ExamineArgs) -> Result<(), Failure> {
    shoal_inventory::refuse(&args.drives)?;
    // In threads of their own: a drive that hangs is not waited for without limit.
    let looks = look_within(&args.drives, PATIENCE);
    let document = ExamineDocument { drives: args.drives.iter().zip(looks).map(examined).collect() };
    output::document(cli, &document, text)?;
    match document.drives.iter().find_map(|drive| Some((&drive.drive, drive.problem.as_ref()?))) {
        None => Ok(()),
        Some((drive, problem)) => Err(Failure::Shown(problem_line(drive, problem))),
    }
}

/// Some problems name the drive themselves.
fn problem_line(drive: &str, problem: &str) -> String {
    if problem.starts_with(drive) { problem.to_owned() } else { format!("{drive}: {problem}") }
}

fn examined((path, look): (&PathBuf, Look)) -> ExaminedDocument {
    let drive = path.display().to_string();
    let problem = match look {
        Look::Member(seen) => {
            return ExaminedDocument { drive, superblock: Some(describe(&seen.superblock)), problem: None };
        }
        Look::No(NoMember::Open(error)) => error.to_string(),
        Look::No(NoMember::Superblock { problem, .. }) => problem.to_string(),
        Look::Silent => Silence { path: path.clone() }.to_string(),
    };
    ExaminedDocument { drive, superblock: None, problem: Some(problem) }
}

fn describe(superblock: &Superblock) -> SuperblockDocument {
    let level = superblock.level().expect("verified superblocks have a known level");
    let chunk_bytes = superblock.chunk_bytes();
    let recovering = superblock.features.any_of(Features::RECOVERY_OFFSET);
    SuperblockDocument {
        version: superblock.version().to_string(),
        features: superblock.features.names().iter().map(|&name| name.to_owned()).collect(),
        array_uuid: superblock.array_uuid.to_string(),
        name: superblock.name(),
        creation_time_unix_s: superblock.creation_time.seconds(),
        level: level.to_string(),
        layout: layout_name(level),
        chunk_bytes: (chunk_bytes > 0).then_some(chunk_bytes),
        raid_devices: superblock.raid_devices,
        used_member_bytes: superblock.size_sectors * 512,
        data_offset_bytes: superblock.data_offset_bytes(),
        data_bytes: superblock.data_size_sectors * 512,
        super_offset_bytes: superblock.super_offset_bytes(),
        device_uuid: superblock.device_uuid.to_string(),
        dev_number: superblock.dev_number,
        role: role(superblock.own_use()),
        recovery_offset_bytes: recovering.then(|| superblock.recovery_offset_sectors.saturating_mul(512)),
        clean: superblock.is_clean(),
        update_time_unix_s: superblock.update_time.seconds(),
        events: superblock.events,
    }
}

pub(crate) fn role(member_use: MemberUse) -> String {
    match member_use {
        MemberUse::Active(role) => format!("role {}", role.0),
        MemberUse::Spare => "spare".to_owned(),
        MemberUse::Faulty => "faulty".to_owned(),
        MemberUse::Journal => "journal".to_owned(),
        MemberUse::Unknown(value) => format!("unknown ({value:#x})"),
    }
}

fn text(document: &ExamineDocument) -> String {
    let mut text = String::new();
    for drive in &document.drives {
        let _ = writeln!(text, "{}:", Outside(&drive.drive));
        match &drive.superblock {
            Some(superblock) => describe_text(&mut text, superblock),
            None => {
                let _ = writeln!(text, "  {}", Outside(drive.problem.as_deref().unwrap_or_default()));
            }
        }
    }
    text
}

fn describe_text(text: &mut String, it: &SuperblockDocument) {
    let optional_size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), format_size);
    let lines = [
        ("Version", it.version.clone()),
        ("Array UUID", it.array_uuid.clone()),
        ("Name", Outside(&it.name).to_string()),
        ("Raid Level", it.level.clone()),
        ("Layout", it.layout.clone().unwrap_or_else(|| "-".to_owned())),
        ("Chunk Size", optional_size(it.chunk_bytes)),
        ("Raid Devices", it.raid_devices.to_string()),
        ("Used Dev Size", format_size(it.used_member_bytes)),
        ("Avail Dev Size", format_size(it.data_bytes)),
        ("Data Offset", format_size(it.data_offset_bytes)),
        ("Super Offset", format_size(it.super_offset_bytes)),
        ("State", if it.clean { "clean" } else { "active" }.to_owned()),
        ("Device UUID", it.device_uuid.clone()),
        ("Device Role", it.role.clone()),
        ("Events", it.events.to_string()),
    ];
    for (name, value) in lines {
        let _ = writeln!(text, "  {name:>15} : {value}");
    }
    if !it.features.is_empty() {
        let _ = writeln!(text, "  {:>15} : {}", "Features", it.features.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use shoal_volume::{Level, MinorVersion};

    use super::*;

    #[test]
    fn a_number_that_no_drive_could_hold_is_shown() {
        let member = |number: u8| shoal_md::NewMember {
            drive: number.to_string(),
            size_bytes: 64 << 20,
            uuid: shoal_md::Uuid([number; 16]),
        };
        let creation = shoal_md::plan_creation(&shoal_md::CreateRequest {
            level: Level::Raid1,
            chunk_bytes: None,
            members: vec![member(1), member(2)],
            spares: Vec::new(),
            name: "pond".to_owned(),
            homehost: None,
            array_uuid: shoal_md::Uuid([9; 16]),
            creation_time: shoal_md::Timestamp::from_seconds(1_700_000_000),
            clean: true,
            minor: MinorVersion::Start4K,
            consistency: shoal_md::ConsistencyPolicy::Resync,
        });
        let mut superblock =
            shoal_md::Membership::of_creation(&creation.expect("two drives are a mirror")).superblocks()[0].clone();
        superblock.recovery_offset_sectors = u64::MAX;
        assert_eq!(describe(&superblock).recovery_offset_bytes, None, "it is not being filled");
        superblock.features = superblock.features | Features::RECOVERY_OFFSET;
        assert_eq!(describe(&superblock).recovery_offset_bytes, Some(u64::MAX));
    }
}
