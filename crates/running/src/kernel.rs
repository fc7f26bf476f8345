//! The kernel's own md as an engine: members go to it and come back, and an array that it runs
//! already is taken over.

use std::path::{Path, PathBuf};

use shoal_documents::{ArrayDocument, EngineDocument, Fault, HasFault, StateDocument};
use shoal_drive::{Access, Drive};
use shoal_inventory::{
    DrivesError, Environment, Named, Purpose, SearchError, ToOpen, WipeError, arrays, asked, candidate_at, hold,
    host_memory, join_for, member_paths, members_to_open, named_drives, open_drives, refuse_counted_on, remember,
};
use shoal_md::Candidate;
use shoal_mdadm::{Growth, Kernel, KernelArray, KernelError, KernelVolume, MdDevice, choose, holder_of};
use shoal_memory::Found;
use shoal_volume::{
    ArrayStatus, Background, HostMemory, JobProgress, News, OpenOptions, ScrubMode, Superblock, inspect,
};

use crate::engine::{Engine, EngineError};
use crate::host::Host;
use crate::opening::{ArrayAddress, ClaimError, Opening, Setup};

/// Why the kernel does not let an array go.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// Its members are not found.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// It cannot be taken over.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// It does not come to rest.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl HasFault for StopError {
    fn fault(&self) -> Fault {
        match self {
            Self::Search(error) => error.fault(),
            Self::Claim(error) => error.fault(),
            Self::Engine(error) => error.fault(),
        }
    }
}

/// Hands the array that is named to the kernel, or takes it over if the kernel runs it already.
pub fn claim_for_kernel(
    setup: &Setup,
    address: &ArrayAddress,
    opening: Opening,
    requests: (u32, u32),
) -> Result<KernelVolume, ClaimError> {
    let (environment, named) = (&setup.environment, &address.named);
    let paths = member_paths(environment, named)?;
    let options = opening.options(setup);
    let Some(device) = running_holder(&paths)? else {
        let ToOpen { paths, remarks } = members_to_open(environment, named, opening.intent(), None)?;
        let memory = host_memory(environment, Purpose::Choose(opening.trust()));
        let volume = hand_over(setup, &paths, &options, memory, requests)?;
        environment.tell_all(&remarks);
        return Ok(volume);
    };
    let kernel = Kernel::find()?;
    let status = superblock_status(setup, &device, &paths)?;
    let array = KernelArray::take_over(kernel, device, status, &paths, opening.writable)?;
    content(setup, array, opening.writable, requests)
}

/// Hands members that nobody uses to the kernel.
pub fn hand_over(
    setup: &Setup,
    paths: &[PathBuf],
    options: &OpenOptions,
    memory: Option<HostMemory>,
    requests: (u32, u32),
) -> Result<KernelVolume, ClaimError> {
    let kernel = Kernel::find()?;
    // Not claimed: that a drive was open for writing would have others look for arrays on it when
    // it is closed.
    let opened = join_for(setup.io_engine, open_drives(paths, Access::Read)?, (1, 4096))?;
    let choice = choose(opened.world, opened.plan, &opened.drives, options, memory)?;
    setup.environment.tell_all(&choice.remarks);
    let array = KernelArray::assemble(kernel, &choice)?;
    content(setup, array, options.writable, requests)
}

/// Claims an array's device.
fn content(
    setup: &Setup,
    array: KernelArray,
    writable: bool,
    requests: (u32, u32),
) -> Result<KernelVolume, ClaimError> {
    let access = if writable { Access::Write } else { Access::Read };
    let device = Drive::open(&array.device().path(), access).map_err(DrivesError::Open)?;
    let opened = join_for(setup.io_engine, vec![device], requests)?;
    Ok(KernelVolume::new(array, opened.world, opened.plan, opened.drives[0]))
}

/// The same as an array's host.
pub(super) fn host_by_kernel(
    setup: &Setup,
    address: &ArrayAddress,
    opening: Opening,
    requests: (u32, u32),
) -> Result<Host, ClaimError> {
    let (environment, background) = (&setup.environment, opening.options(setup).background);
    let held = hold(environment, &arrays(environment, &member_paths(environment, &address.named)?))?;
    let array = claim_for_kernel(setup, address, opening, requests)?;
    Ok(Host::of(environment, array, background).holding(held))
}

/// How the array that is named is, and what the kernel does with it, if the kernel runs it and no
/// process of shoal's does.
pub fn kernel_state(setup: &Setup, named: &Named) -> Result<Option<StateDocument>, ClaimError> {
    let drives = named_drives(&setup.environment, named)?;
    let Some(device) = holder(&drives) else { return Ok(None) };
    let kernel = Kernel::find()?;
    let status = superblock_status(setup, &device, &drives)?;
    let array = KernelArray::watch(kernel, device, status, &drives)?;
    let engine = Some(document(&array));
    Ok(Some(StateDocument { engine, ..StateDocument::at_rest(ArrayDocument::from(&array.status())) }))
}

/// Has the kernel let the array go that is named, if it runs it: one that a process of shoal's that
/// was killed has left there, or that somebody else has assembled.
pub fn stop_in_kernel(setup: &Setup, address: &ArrayAddress) -> Result<Option<StateDocument>, StopError> {
    if holder(&named_drives(&setup.environment, &address.named)?).is_none() {
        return Ok(None);
    }
    let mut host = host_by_kernel(setup, address, Opening::READABLE, (1, 4096))?;
    host.rest()?;
    Ok(Some(host.state()))
}

/// Refuses members that the kernel's md has.
pub fn refuse_held(paths: &[PathBuf]) -> Result<(), ClaimError> {
    for path in paths {
        if let Some(device) = holder(std::slice::from_ref(path)) {
            return Err(ClaimError::Held { path: path.clone(), device: device.path() });
        }
    }
    Ok(())
}

/// The array of the kernel's that runs on one of the drives. One that only holds them is let go.
fn running_holder(paths: &[PathBuf]) -> Result<Option<MdDevice>, KernelError> {
    while let Some(device) = holder(paths) {
        if !device.is_inactive() {
            return Ok(Some(device));
        }
        device.let_go()?;
    }
    Ok(None)
}

fn holder(paths: &[PathBuf]) -> Option<MdDevice> {
    // One that does not answer is not asked for its name either.
    let holder = |path: &PathBuf| asked(path, holder_of).ok().flatten();
    paths.iter().find_map(holder)
}

/// What the superblocks say of an array that the kernel runs; all of its members have to be those
/// that were named, or of the same array.
fn superblock_status(setup: &Setup, device: &MdDevice, paths: &[PathBuf]) -> Result<ArrayStatus, ClaimError> {
    if let Some(other) = paths.iter().find(|path| holder_of(path).is_some_and(|holder| holder != *device)) {
        return Err(ClaimError::OtherArray { other: other.clone(), device: device.path() });
    }
    let opened = join_for(setup.io_engine, open_drives(&device.drives(), Access::Read)?, (1, 4096))?;
    Ok(inspect(opened.world, opened.plan, &opened.drives, &setup.open_options(false, false))?)
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

    fn progress(&self) -> Option<JobProgress> {
        self.array().progress()
    }

    fn take_news(&mut self) -> Vec<News> {
        self.array_mut().take_news()
    }

    fn take_remarks(&mut self) -> Vec<String> {
        self.array_mut().take_remarks()
    }

    /// md writes its members without us, so that is after the fact.
    fn remember(&self, environment: &Environment) {
        let found = |(path, superblock): (PathBuf, Superblock)| Found {
            candidate: candidate_at(&path, superblock),
            hardware: Drive::open(&path, Access::Read).ok().and_then(|drive| drive.hardware()),
        };
        remember(environment, &self.array().superblocks().into_iter().map(found).collect::<Vec<_>>());
    }

    fn refuse_active(&mut self, newcomer: &Candidate) -> Result<(), EngineError> {
        let members = self.array().superblocks().into_iter();
        let members: Vec<_> = members.map(|(path, superblock)| candidate_at(&path, superblock)).collect();
        Ok(refuse_counted_on(&members, newcomer)?)
    }

    fn fail(&mut self, member: &Path) -> Result<(), EngineError> {
        self.array_mut().fail(member).map_err(EngineError::from)
    }

    fn add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError> {
        self.array_mut().add(path, opened?).map_err(EngineError::from)
    }

    fn remove(&mut self, drive: &Path) -> Result<(), EngineError> {
        self.array_mut().remove(drive).map_err(EngineError::from)
    }

    fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), EngineError> {
        self.array_mut().replace(member, spare, opened).map_err(EngineError::from)
    }

    fn re_add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError> {
        let opened = match opened {
            Ok(drive) => Some(drive),
            // It has been in the array all the time.
            Err(_) if self.array().has(path) => None,
            Err(error) => return Err(error.into()),
        };
        self.array_mut().re_add(path, opened).map_err(EngineError::from)
    }

    fn grow(&mut self, growth: &Growth, added: Vec<(PathBuf, Drive)>) -> Result<(), EngineError> {
        self.array_mut().grow(growth, added).map_err(EngineError::from)
    }

    fn is_reshaping(&self) -> bool {
        self.array().snapshot().is_reshaping()
    }

    fn scrub(&mut self, mode: ScrubMode) -> Result<(), EngineError> {
        self.array_mut().scrub(mode).map_err(EngineError::from)
    }

    fn is_scrubbing(&self) -> bool {
        self.array().is_scrubbing()
    }

    fn stop_scrub(&mut self) -> Result<(), EngineError> {
        self.array_mut().stop_scrub().map_err(EngineError::from)
    }

    fn set_background(&mut self, background: Background) -> Result<(), EngineError> {
        self.array_mut().set_speed(background).map_err(EngineError::from)
    }

    fn run_background(&mut self, patience: std::time::Duration) -> Result<(), EngineError> {
        Self::run_background(self, patience).map(drop).map_err(EngineError::from)
    }

    fn rest(&mut self) -> Result<(), EngineError> {
        Self::rest(self).map_err(EngineError::from)
    }
}
