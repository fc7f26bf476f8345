//! What `shoal bench` measures: plain files and devices, or the array that they are members of;
//! simulated drives, alone or as an array that is made for the occasion.

use std::path::Path;

use shoal_bench::{Conditions, TargetDescription, TargetKind, Workload, check_range};
use shoal_documents::protocol::Command;
use shoal_drive::{Access, Drive, DriveKind};
use shoal_inventory::{SimulatedDrives, SimulatedOpened, check_measurable, host_memory, is_member, open_drives};
use shoal_mdadm::KernelVolume;
use shoal_running::{Engine, EngineChoice, Members, Opening, claim_for_kernel};
use shoal_volume::{
    ArrayLevel, ArrayStatus, ArrayVolume, BufferPlan, Contents, DriveVolume, Health, Volume, World, layout_name,
};

use super::access::access;
use super::directory::FileInDirectory;
use super::remote::{self, Named};
use super::running;
use super::whose::Whose;
use crate::args::{ArrayArgs, BenchArgs, Cli, EngineArg, SimulatedArgs};
use crate::attaching::{check_overwritable, refuse_occupied};
use crate::exit::Failure;
use crate::labbook;
use crate::setup::{check_first, environment, join, open_members, open_options, reach_running};
use crate::simulated::{descriptions, refuse_options};
use crate::temporary_array::temporary_array;

/// Something to be measured.
pub(super) struct Target {
    pub(super) description: TargetDescription,
    pub(super) conditions: Conditions,
    pub(super) whose: Whose,
    kind: Kind,
}

enum Kind {
    Drive(Box<dyn Volume>),
    Array(Box<dyn Array>),
}

/// An array in any world.
trait Array: Volume {
    /// Leaves it in order.
    fn close(self: Box<Self>) -> Result<(), Failure>;
}

impl Array for KernelVolume {
    fn close(mut self: Box<Self>) -> Result<(), Failure> {
        Engine::rest(self.as_mut())?;
        self.remember(environment());
        Ok(())
    }
}

impl<W: World> Array for ArrayVolume<W> {
    fn close(self: Box<Self>) -> Result<(), Failure> {
        Self::close(*self).map(drop).map_err(Failure::failed)
    }
}

/// Opens what the arguments name. Nothing is written.
pub(super) fn open(cli: &Cli, args: &BenchArgs, workload: &Workload) -> Result<Vec<Target>, Failure> {
    if let Some(drives) = SimulatedDrives::named(&args.targets)? {
        return simulated(cli, args, &drives, workload);
    }
    if let Some(exports) = remote::named(&args.targets)? {
        return exports
            .iter()
            .zip(&args.targets)
            .map(|(named, target)| export(args, named, target, workload))
            .collect();
    }
    let options = [("--level", args.simulated.array.level.is_some()), ("--real-time", args.simulated.real_time)];
    refuse_options(
        &options,
        "an array of real drives is made with `shoal create`, and real drives take the time they take",
    )?;
    let access = access(workload);
    let by_kernel = args.engine.engine == EngineArg::Kernel;
    if args.raw || !are_members(args)? {
        if by_kernel {
            return Err(Failure::usage("--engine kernel is for arrays: give the members of one"));
        }
        let drives = match access {
            Access::Write => check_overwritable(&args.targets, &ArrayArgs::default(), args.force)?.open()?,
            Access::Read => open_drives(&args.targets, access)?,
        };
        return drives.into_iter().map(|drive| drive_target(cli, drive, workload)).collect();
    }
    Ok(vec![array_of(cli, args, workload)?])
}

/// The array that the targets are members of: through the process that runs it, by the kernel, or
/// by this process.
fn array_of(cli: &Cli, args: &BenchArgs, workload: &Workload) -> Result<Target, Failure> {
    let named = ArrayArgs {
        drives: args.targets.clone(),
        scan: args.scan.clone(),
        degraded: args.degraded,
        ..ArrayArgs::default()
    };
    let access = access(workload);
    if access == Access::Write {
        refuse_occupied(&named)?;
    }
    if let Some(running) = reach_running(&named)? {
        let (description, conditions, whose, volume) = running::open(args, running, workload)?;
        return Ok(Target::plain(description, conditions, whose, volume));
    }
    let spare_content = access == Access::Write && !args.force;
    let opening = Opening { writable: access == Access::Write, ..Opening::WRITABLE };
    check_first(cli, &named, opening, None, |array| {
        check_range(array.content(), workload).map_err(Failure::usage)?;
        let name = array.execute(Command::Status)?.array.name;
        if spare_content { Ok(check_measurable(array.content(), &name)?) } else { Ok(()) }
    })?;
    if args.engine.engine == EngineArg::Kernel {
        return kernel_array(cli, &named, workload, spare_content);
    }
    let Members { drives, remarks } = open_members(&named, opening)?;
    let target = array(cli, (&named, args.write_back), drives, workload, spare_content)?;
    environment().tell_all(&remarks);
    Ok(target)
}

/// An export of an NBD server. What it holds cannot be told as a drive's can, so nothing is written
/// unless that is said to be meant.
fn export(args: &BenchArgs, named: &Named, target: &Path, workload: &Workload) -> Result<Target, Failure> {
    let name = target.display().to_string();
    if access(workload) == Access::Write && !args.force {
        return Err(Failure::Refused(format!(
            "{name}: what the export holds would be overwritten: use --force to do it"
        )));
    }
    let volume = remote::open(named, workload.depth, workload.block_size_bytes)?;
    let description = whole(name, TargetKind::Device, &volume);
    Ok(Target::plain(description, Conditions::default(), Whose::default(), Box::new(volume)))
}

/// What has no members.
fn whole(name: String, kind: TargetKind, volume: &dyn Volume) -> TargetDescription {
    TargetDescription {
        name,
        kind,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: None,
        engine: None,
    }
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

fn drive_target(cli: &Cli, drive: Drive, workload: &Workload) -> Result<Target, Failure> {
    let kind = match drive.kind() {
        DriveKind::File => TargetKind::File,
        DriveKind::BlockDevice => TargetKind::Device,
    };
    let name = drive.path().display().to_string();
    plain(cli, drive, workload, (name, kind))
}

/// A directory, through the file that was laid out there.
pub(super) fn in_directory(cli: &Cli, file: &FileInDirectory, workload: &Workload) -> Result<Target, Failure> {
    let access = access(workload);
    let drive = Drive::open(file.path(), access)?;
    plain(cli, drive, workload, (file.name(), TargetKind::Directory))
}

fn plain(cli: &Cli, drive: Drive, workload: &Workload, (name, kind): (String, TargetKind)) -> Result<Target, Failure> {
    let conditions = Conditions { buffered: !drive.is_direct(), ..Conditions::default() };
    let is_drive = kind != TargetKind::Directory;
    let whose = Whose::drive(labbook::identity(&drive).filter(|_| is_drive));
    let opened = join(cli, vec![drive], workload.depth, workload.block_size_bytes)?;
    let volume = DriveVolume::new(opened.world, opened.drives[0], opened.plan);
    let description = whole(name, kind, &volume);
    Ok(Target::plain(description, conditions, whose, Box::new(volume)))
}

fn array(
    cli: &Cli,
    (named, write_back): (&ArrayArgs, u32),
    drives: Vec<Drive>,
    workload: &Workload,
    spare_content: bool,
) -> Result<Target, Failure> {
    let writable = workload.read_percent < 100;
    let plan = BufferPlan::for_drives(drives.len(), workload.depth, workload.block_size_bytes);
    let opened = shoal_inventory::join(cli.io_engine(), drives, plan.with_write_back(write_back))?;
    let buffered = opened.drives.iter().any(|&drive| !opened.world.facts(drive).direct);
    let members = labbook::identities(&opened.world, &opened.drives);
    let options = open_options(cli, writable, false)?;
    let opening = Opening { writable, degraded: named.degraded, ..Opening::WRITABLE };
    let memory = host_memory(environment(), opening.purpose());
    let mut volume = ArrayVolume::open_remembered(opened.world, opened.plan, &opened.drives, &options, memory)?;
    environment().tell_all(&volume.take_remarks());
    let status = volume.status();
    if status.health == Health::Failed {
        return Err(Failure::Refused(format!(
            "array {} lacks more members than it survives, so nothing could be measured: name all that are there, or say with --scan \
             in which directory they are",
            status.name
        )));
    }
    if spare_content {
        check_measurable(&mut volume, &status.name)?;
    }
    let whose = Whose::array(&status, members);
    Ok(array_target(volume, (status, whose), buffered, None))
}

/// An array that the kernel runs meanwhile.
fn kernel_array(cli: &Cli, named: &ArrayArgs, workload: &Workload, spare_content: bool) -> Result<Target, Failure> {
    let opening = Opening {
        writable: access(workload) == Access::Write,
        degraded: named.degraded,
        engine: EngineChoice::Kernel,
        ..Opening::WRITABLE
    };
    let requests = (workload.depth, workload.block_size_bytes);
    let members = named.drives.iter().filter_map(|path| labbook::identity_of(path)).collect();
    let mut volume = claim_for_kernel(&cli.setup()?, &named.address(), opening, requests)?;
    let status = volume.array().status();
    if spare_content {
        check_measurable(&mut volume, &status.name)?;
    }
    let (buffered, engine) = (volume.array().is_buffered(), volume.array().kernel().name.clone());
    let whose = Whose::array(&status, members);
    let mut target = array_target(volume, (status, whose), buffered, None);
    target.description.engine = Some(engine);
    Ok(target)
}

/// An array with what is known of it.
fn array_target(
    volume: impl Array + 'static,
    (status, whose): (ArrayStatus, Whose),
    buffered: bool,
    simulated: Option<&str>,
) -> Target {
    let conditions = Conditions {
        buffered,
        unwritten: None,
        degraded: status.health != Health::Optimal,
        resyncing: status.progress.is_some(),
    };
    let description = TargetDescription {
        name: simulated.map_or(status.name, str::to_owned),
        kind: TargetKind::Array,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: Some(ArrayLevel::Plain(status.level).name()),
        layout: layout_name(status.level),
        chunk_bytes: (status.chunk_bytes > 0).then_some(u64::from(status.chunk_bytes)),
        member_count: Some(u32::try_from(status.members.len()).unwrap_or(u32::MAX)),
        simulated: simulated.map(str::to_owned),
        engine: None,
    };
    Target { description, conditions, whose, kind: Kind::Array(Box::new(volume)) }
}

/// Simulated drives: each alone, or an array of all of them.
fn simulated(
    cli: &Cli,
    args: &BenchArgs,
    drives: &SimulatedDrives,
    workload: &Workload,
) -> Result<Vec<Target>, Failure> {
    let about_real = [("--scan", args.scan.is_some()), ("--raw", args.raw)];
    if let Some((option, _)) = about_real.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!(
            "{option} is for real drives: simulated ones hold nothing until --level makes an array of them"
        )));
    }
    match &args.simulated.array.level {
        Some(level) => Ok(vec![simulated_array(cli, (&args.simulated, args.write_back), level, drives, workload)?]),
        None => (0..).take(drives.count()).map(|drive| simulated_drive(args, drives, drive, workload)).collect(),
    }
}

fn simulated_drive(
    args: &BenchArgs,
    drives: &SimulatedDrives,
    drive: u32,
    workload: &Workload,
) -> Result<Target, Failure> {
    let plan = BufferPlan::for_drives(1, workload.depth, workload.block_size_bytes);
    let opened = drives.open(&[drive], Contents::Discarded, plan, workload.seed).map_err(Failure::failed)?;
    let SimulatedOpened { world, plan, drives: ids } = paced(opened, args.simulated.real_time);
    let volume = DriveVolume::new(world, ids[0], plan);
    let description = TargetDescription {
        name: descriptions(drives)[drive as usize].path.clone(),
        kind: TargetKind::Simulated,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: Some(drives.notation().to_owned()),
        engine: None,
    };
    let whose = Whose::drive(Some(labbook::simulated(&description.name)));
    Ok(Target::plain(description, Conditions::default(), whose, Box::new(volume)))
}

fn simulated_array(
    cli: &Cli,
    (args, write_back): (&SimulatedArgs, u32),
    level: &str,
    drives: &SimulatedDrives,
    workload: &Workload,
) -> Result<Target, Failure> {
    let create = temporary_array(level, args.array.layout.as_deref(), args.array.chunk)?;
    let plan = BufferPlan::for_drives(drives.count(), workload.depth, workload.block_size_bytes);
    let plan = plan.with_write_back(write_back);
    let opened = drives.open_planned(Contents::Discarded, plan, workload.seed)?;
    let opened = paced(opened, args.real_time);
    let options = open_options(cli, true, false)?;
    let volume = ArrayVolume::create(opened.world, opened.plan, &opened.drives, &create, &options);
    let volume = volume?;
    let status = volume.status();
    let whose = Whose::temporary_array(&status);
    Ok(array_target(volume, (status, whose), false, Some(drives.notation())))
}

/// The same drives, whose time passes as the machine's does if that is wanted.
fn paced(opened: SimulatedOpened, real_time: bool) -> SimulatedOpened {
    if real_time { SimulatedOpened { world: opened.world.paced(), ..opened } } else { opened }
}

impl Target {
    /// A target that is no array of this process's.
    pub(super) fn plain(
        description: TargetDescription,
        conditions: Conditions,
        whose: Whose,
        volume: Box<dyn Volume>,
    ) -> Self {
        Self { description, conditions, whose, kind: Kind::Drive(volume) }
    }

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
            Kind::Array(volume) => volume.close(),
        }
    }
}
