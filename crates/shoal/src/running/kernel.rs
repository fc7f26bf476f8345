//! The kernel's own md as an engine: members go to it and come back, and an array that it runs already is taken over.

use std::path::{Path, PathBuf};

use shoal_drive::{Access, Drive};
use shoal_md::Candidate;
use shoal_mdadm::{Growth, Kernel, KernelArray, KernelError, KernelVolume, MdDevice, choose, holder_of};
use shoal_memory::Found;
use shoal_volume::{ArrayStatus, Background, HostMemory, News, OpenOptions, Progress, ScrubMode, Superblock, inspect};

use super::engine::Engine;
use super::host::Host;
use super::reach::Opening;
use crate::args::{ArrayArgs, Cli, IoEngineChoice};
use crate::documents::{EngineDocument, StateDocument};
use crate::drives::{array_failure, join, join_with, member_paths, open_drives, open_failure, open_options};
use crate::exit::Failure;
use crate::memory::{self, memory_of_the_chooser, tell};
use crate::newcomer::{candidate_at, refuse_counted_on};
use crate::present::members_to_open;
use crate::scan::named_drives;

/// Hands the array that is named to the kernel, or takes it over if the kernel runs it already.
pub(crate) fn claim_for_kernel(
    cli: &Cli,
    args: &ArrayArgs,
    opening: Opening,
    requests: (u32, u32),
) -> Result<KernelVolume, Failure> {
    let paths = member_paths(args)?;
    let options = opening.options(cli)?;
    let Some(device) = running_holder(&paths)? else {
        let paths = members_to_open(args, opening, None)?;
        let memory = memory_of_the_chooser(args, opening.force);
        return hand_over(cli.io_engine, &paths, &options, memory, requests);
    };
    let kernel = Kernel::find().map_err(kernel_failure)?;
    let status = superblock_status(cli, &device, &paths)?;
    let array = KernelArray::take_over(kernel, device, status, &paths, opening.writable).map_err(kernel_failure)?;
    content(cli.io_engine, array, opening.writable, requests)
}

/// Hands members that nobody uses to the kernel.
pub(crate) fn hand_over(
    io_engine: IoEngineChoice,
    paths: &[PathBuf],
    options: &OpenOptions,
    memory: Option<HostMemory>,
    requests: (u32, u32),
) -> Result<KernelVolume, Failure> {
    let kernel = Kernel::find().map_err(kernel_failure)?;
    // Not claimed: that a drive was open for writing would have others look for arrays on it when it is closed.
    let opened = join_with(io_engine, open_drives(paths, Access::Read)?, 1, 4096)?;
    let choice = choose(opened.world, opened.plan, &opened.drives, options, memory).map_err(array_failure)?;
    tell(&choice.remarks);
    let array = KernelArray::assemble(kernel, &choice).map_err(kernel_failure)?;
    content(io_engine, array, options.writable, requests)
}

/// Claims an array's device.
fn content(
    io_engine: IoEngineChoice,
    array: KernelArray,
    writable: bool,
    requests: (u32, u32),
) -> Result<KernelVolume, Failure> {
    let access = if writable { Access::Write } else { Access::Read };
    let device = Drive::open(&array.device().path(), access).map_err(open_failure)?;
    let opened = join_with(io_engine, vec![device], requests.0, requests.1)?;
    Ok(KernelVolume::new(array, opened.world, opened.plan, opened.drives[0]))
}

/// The same as an array's host.
pub(super) fn host_by_kernel(
    cli: &Cli,
    args: &ArrayArgs,
    opening: Opening,
    requests: (u32, u32),
) -> Result<Host, Failure> {
    let options = opening.options(cli)?;
    Ok(Host::of(claim_for_kernel(cli, args, opening, requests)?, options.background))
}

/// How the array that is named is, and what the kernel does with it, if the kernel runs it and no process of shoal's does.
pub(crate) fn kernel_state(cli: &Cli, args: &ArrayArgs) -> Result<Option<StateDocument>, Failure> {
    let drives = named_drives(args)?;
    let Some(device) = holder(&drives) else { return Ok(None) };
    let kernel = Kernel::find().map_err(kernel_failure)?;
    let status = superblock_status(cli, &device, &drives)?;
    let array = KernelArray::watch(kernel, device, status, &drives).map_err(kernel_failure)?;
    let engine = Some(document(&array));
    let background = None;
    let array = crate::documents::array_document(&array.status());
    Ok(Some(StateDocument {
        array,
        engine,
        background,
        scrub: None,
        running: None,
        paused: None,
        attached: None,
        simulated: None,
    }))
}

/// Has the kernel let the array go that is named, if it runs it: one that a process of shoal's that was killed has left
/// there, or that somebody else has assembled.
pub(crate) fn stop_in_kernel(cli: &Cli, args: &ArrayArgs) -> Result<Option<StateDocument>, Failure> {
    if holder(&named_drives(args)?).is_none() {
        return Ok(None);
    }
    let opening = Opening { writable: false, ..Opening::WRITABLE };
    let mut host = host_by_kernel(cli, args, opening, (1, 4096))?;
    host.array.rest()?;
    Ok(Some(host.state()))
}

/// Refuses members that the kernel's md has.
pub(crate) fn refuse_held(paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        if let Some(device) = holder_of(path) {
            let (path, device) = (path.display(), device.path());
            return Err(Failure::Refused(format!(
                "{path} belongs to an array that the kernel runs, as {}: take that over with `shoal run --engine kernel`, \
                 or stop it with `shoal stop`",
                device.display()
            )));
        }
    }
    Ok(())
}

/// The array of the kernel's that runs on one of the drives. One that only holds them is let go.
fn running_holder(paths: &[PathBuf]) -> Result<Option<MdDevice>, Failure> {
    while let Some(device) = holder(paths) {
        if !device.is_inactive() {
            return Ok(Some(device));
        }
        device.let_go().map_err(kernel_failure)?;
    }
    Ok(None)
}

fn holder(paths: &[PathBuf]) -> Option<MdDevice> {
    paths.iter().find_map(|path| holder_of(path))
}

/// What the superblocks say of an array that the kernel runs; all of its members have to be those that were named, or of
/// the same array.
fn superblock_status(cli: &Cli, device: &MdDevice, paths: &[PathBuf]) -> Result<ArrayStatus, Failure> {
    if let Some(other) = paths.iter().find(|path| holder_of(path).is_some_and(|holder| holder != *device)) {
        let [other, device] = [other.display(), device.path().display()].map(|path| path.to_string());
        return Err(Failure::Usage(format!("{other} is not in {device}: give the members of one array")));
    }
    let opened = join(cli, open_drives(&device.drives(), Access::Read)?, 1, 4096)?;
    let options = open_options(cli, false, false)?;
    inspect(opened.world, opened.plan, &opened.drives, &options).map_err(array_failure)
}

fn document(array: &KernelArray) -> EngineDocument {
    EngineDocument {
        name: array.kernel().name.clone(),
        device: array.device().path().display().to_string(),
        consistency_policy: array.snapshot().consistency_policy.clone(),
    }
}

impl Engine for KernelVolume {
    fn describe(&self) -> Option<EngineDocument> {
        Some(document(self.array()))
    }

    fn status(&self) -> ArrayStatus {
        self.array().status()
    }

    fn progress(&self) -> Option<Progress> {
        self.array().progress()
    }

    fn take_news(&mut self) -> Vec<News> {
        self.array_mut().take_news()
    }

    fn take_remarks(&mut self) -> Vec<String> {
        self.array_mut().take_remarks()
    }

    /// md writes its members without us, so that is after the fact.
    fn remember(&self) {
        let found = |(path, superblock): (PathBuf, Superblock)| Found {
            candidate: candidate_at(&path, superblock),
            hardware: Drive::open(&path, Access::Read).ok().and_then(|drive| drive.hardware()),
        };
        memory::remember(&self.array().superblocks().into_iter().map(found).collect::<Vec<_>>(), false);
    }

    fn refuse_active(&self, newcomer: &Candidate) -> Result<(), Failure> {
        let members = self.array().superblocks().into_iter();
        let members: Vec<_> = members.map(|(path, superblock)| candidate_at(&path, superblock)).collect();
        refuse_counted_on(&members, newcomer)
    }

    fn fail(&mut self, member: &Path) -> Result<(), Failure> {
        self.array_mut().fail(member).map_err(kernel_failure)
    }

    fn add(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure> {
        self.array_mut().add(path, opened?).map_err(kernel_failure)
    }

    fn remove(&mut self, drive: &Path) -> Result<(), Failure> {
        self.array_mut().remove(drive).map_err(kernel_failure)
    }

    fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), Failure> {
        self.array_mut().replace(member, spare, opened).map_err(kernel_failure)
    }

    fn re_add(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure> {
        let opened = match opened {
            Ok(drive) => Some(drive),
            // It has been in the array all the time.
            Err(_) if self.array().has(path) => None,
            Err(failure) => return Err(failure),
        };
        self.array_mut().re_add(path, opened).map_err(kernel_failure)
    }

    fn grow(&mut self, growth: &Growth, added: Vec<(PathBuf, Drive)>) -> Result<(), Failure> {
        self.array_mut().grow(growth, added).map_err(kernel_failure)
    }

    fn is_reshaping(&self) -> bool {
        self.array().snapshot().is_reshaping()
    }

    fn scrub(&mut self, mode: ScrubMode) -> Result<(), Failure> {
        self.array_mut().scrub(mode).map_err(kernel_failure)
    }

    fn is_scrubbing(&self) -> bool {
        self.array().is_scrubbing()
    }

    fn stop_scrub(&mut self) -> Result<(), Failure> {
        self.array_mut().stop_scrub().map_err(kernel_failure)
    }

    fn set_background(&mut self, background: Background) -> Result<(), Failure> {
        self.array_mut().set_speed(background).map_err(kernel_failure)
    }

    fn run_background(&mut self, patience: std::time::Duration) -> Result<(), Failure> {
        Self::run_background(self, patience).map(drop).map_err(kernel_failure)
    }

    fn rest(&mut self) -> Result<(), Failure> {
        Self::rest(self).map_err(kernel_failure)?;
        self.remember();
        Ok(())
    }
}

/// Who is at fault when the kernel does not do what was asked.
pub(crate) fn kernel_failure(error: KernelError) -> Failure {
    match error {
        KernelError::InUse { .. } | KernelError::OtherMembers { .. } | KernelError::Refused { .. } => {
            Failure::Refused(error.to_string())
        }
        KernelError::Busy { .. } => Failure::Busy(error.to_string()),
        KernelError::NotForKernel { .. } | KernelError::NotAMember { .. } | KernelError::Unsupported { .. } => {
            Failure::usage(error)
        }
        _ => Failure::failed(error),
    }
}
