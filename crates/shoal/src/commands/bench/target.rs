//! What `shoal bench` measures: plain files and devices, or the array that they are members of.

use shoal_bench::{Conditions, TargetDescription, TargetKind, Workload};
use shoal_drive::{Access, Drive, DriveKind};
use shoal_volume::{ArrayVolume, DriveVolume, Health, RealWorld, Volume, World, layout_name};

use crate::args::{ArrayArgs, BenchArgs, Cli};
use crate::drives::{array_failure, check_wipeable, is_member, join, member_paths, open_drives, open_options};
use crate::exit::Failure;

/// Something to be measured.
pub(super) struct Target {
    pub(super) description: TargetDescription,
    pub(super) conditions: Conditions,
    kind: Kind,
}

enum Kind {
    Drive(Box<DriveVolume<RealWorld>>),
    Array(Box<ArrayVolume<RealWorld>>),
}

/// Opens what the arguments name. Nothing is written.
pub(super) fn open(cli: &Cli, args: &BenchArgs, workload: &Workload) -> Result<Vec<Target>, Failure> {
    let access = if workload.read_percent < 100 { Access::Write } else { Access::Read };
    if args.raw || !are_members(args)? {
        if access == Access::Write {
            check_wipeable(&args.targets, args.force)?;
        }
        let drives = open_drives(&args.targets, access)?;
        return drives.into_iter().map(|drive| plain(cli, drive, workload)).collect();
    }
    let named = ArrayArgs { drives: args.targets.clone(), scan: args.scan.clone(), socket: None };
    let drives = open_drives(&member_paths(&named)?, access)?;
    Ok(vec![array(cli, drives, workload, access == Access::Write && !args.force)?])
}

/// Whether the targets are members of an array: all of them, or none.
fn are_members(args: &BenchArgs) -> Result<bool, Failure> {
    let drives = open_drives(&args.targets, Access::Read)?;
    let (members, others): (Vec<&Drive>, Vec<&Drive>) = drives.iter().partition(|drive| is_member(drive));
    match (members.first(), others.first()) {
        (Some(member), Some(other)) => Err(Failure::Usage(format!(
            "{} is a member of an array and {} is not: give the members of one array, or use --raw for the drives themselves",
            member.path().display(),
            other.path().display()
        ))),
        (None, Some(other)) if args.scan.is_some() => Err(Failure::Usage(format!(
            "{} is no member of an array: leave --scan out to measure it by itself",
            other.path().display()
        ))),
        (member, _) => Ok(member.is_some()),
    }
}

fn plain(cli: &Cli, drive: Drive, workload: &Workload) -> Result<Target, Failure> {
    let kind = match drive.kind() {
        DriveKind::File => TargetKind::File,
        DriveKind::BlockDevice => TargetKind::Device,
    };
    let conditions = Conditions { buffered: !drive.is_direct(), ..Conditions::default() };
    let name = drive.path().display().to_string();
    let opened = join(cli, vec![drive], workload.depth, workload.block_size_bytes)?;
    let volume = DriveVolume::new(opened.world, opened.drives[0], opened.plan);
    let description = TargetDescription {
        name,
        kind,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: None,
    };
    Ok(Target { description, conditions, kind: Kind::Drive(Box::new(volume)) })
}

fn array(cli: &Cli, drives: Vec<Drive>, workload: &Workload, spare_content: bool) -> Result<Target, Failure> {
    let writable = workload.read_percent < 100;
    let opened = join(cli, drives, workload.depth, workload.block_size_bytes)?;
    let buffered = opened.drives.iter().any(|&drive| !opened.world.facts(drive).direct);
    let options = open_options(cli, writable, false)?;
    let mut volume = ArrayVolume::open(opened.world, opened.plan, &opened.drives, &options).map_err(array_failure)?;
    if spare_content {
        crate::drives::check_content(&mut volume)?;
    }
    let status = volume.status();
    let conditions = Conditions {
        buffered,
        unwritten: None,
        degraded: status.health != Health::Optimal,
        resyncing: volume.progress().is_some(),
    };
    let description = TargetDescription {
        name: status.name,
        kind: TargetKind::Array,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: Some(status.level.to_string().trim_start_matches("raid").to_owned()),
        layout: layout_name(status.level),
        chunk_bytes: (status.chunk_bytes > 0).then_some(u64::from(status.chunk_bytes)),
        member_count: Some(u32::try_from(status.members.len()).unwrap_or(u32::MAX)),
        simulated: None,
    };
    Ok(Target { description, conditions, kind: Kind::Array(Box::new(volume)) })
}

impl Target {
    pub(super) fn volume(&self) -> &dyn Volume {
        match &self.kind {
            Kind::Drive(volume) => volume.as_ref(),
            Kind::Array(volume) => volume.as_ref(),
        }
    }

    pub(super) fn volume_mut(&mut self) -> &mut dyn Volume {
        match &mut self.kind {
            Kind::Drive(volume) => volume.as_mut(),
            Kind::Array(volume) => volume.as_mut(),
        }
    }

    /// Leaves an array in order.
    pub(super) fn close(self) -> Result<(), Failure> {
        match self.kind {
            Kind::Drive(_) => Ok(()),
            Kind::Array(volume) => volume.close().map(drop).map_err(Failure::failed),
        }
    }
}
