//! How an array is opened by this process, and why it is not.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use shoal_documents::{Fault, HasFault, protocol};
use shoal_drive::IoEngine;
use shoal_inventory::{
    ArrayInUse, DrivesError, Environment, Intent, JoinError, Named, NewcomerError, PresentError, Purpose, SearchError,
    trust,
};
use shoal_mdadm::KernelError;
use shoal_volume::{CreateError, Incomplete, OpenError, OpenOptions, Parity, SILENCE, SimulatedWorldError, Trust};

use crate::silence::Silence;
use crate::write_back::WriteBack;

/// What this process has to open arrays with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where things are kept, and who hears what is told.
    pub environment: Environment,
    /// How I/O is done; if none, as the kernel permits.
    pub io_engine: Option<IoEngine>,
    /// What computes parity.
    pub parity: Parity,
}

impl Setup {
    /// Options for running an array.
    pub fn open_options(&self, writable: bool, force: bool) -> OpenOptions {
        let options = if writable { OpenOptions::writable() } else { OpenOptions::read_only() };
        OpenOptions { force, parity: self.parity, ..options }
    }
}

/// Which array, and where it is administered while it runs.
#[derive(Clone, Debug, Default)]
pub struct ArrayAddress {
    /// By its members or its UUID.
    pub named: Named,
    /// The socket, if not at the usual place.
    pub socket: Option<PathBuf>,
}

/// Who runs an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// shoal itself, in this process.
    Shoal,
    /// Linux's md, in the kernel.
    Kernel,
}

/// How an array is opened, if nobody runs it.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// To write to it.
    pub writable: bool,
    /// Even if it is degraded and was not shut down cleanly; and to read what is left of one that
    /// has lost too much.
    pub force: bool,
    /// Also without members that this host has seen in its last update, or if this host does not
    /// know it.
    pub degraded: bool,
    /// What is done with one that has lost too much, unless that is forced.
    pub incomplete: Incomplete,
    /// Who is to run it.
    pub engine: EngineChoice,
    /// How long a member may be silent before it is taken out, by shoal's own engine.
    pub silence: Duration,
    /// How long requests wait for drives that have gone away together, if it is kept running by
    /// shoal's own engine.
    pub deadline: Duration,
    /// The write-back window, if it is kept running by shoal's own engine.
    pub write_back: WriteBack,
}

impl Opening {
    /// To write to it, if that is safe.
    pub const WRITABLE: Self = Self {
        writable: true,
        force: false,
        degraded: false,
        incomplete: Incomplete::Refused,
        engine: EngineChoice::Shoal,
        silence: SILENCE,
        deadline: shoal_serve::DEADLINE,
        write_back: WriteBack::Bytes(0),
    };
    /// To read it.
    pub const READABLE: Self = Self { writable: false, ..Self::WRITABLE };

    /// The same for whoever opens it.
    pub(crate) fn options(&self, setup: &Setup) -> OpenOptions {
        let incomplete = if self.force { Incomplete::Read } else { self.incomplete };
        OpenOptions { incomplete, silence: Some(self.silence), ..setup.open_options(self.writable, self.force) }
    }

    /// What its members are opened for.
    pub fn intent(&self) -> Intent {
        // Who reads what can be read asks for nobody else.
        let reads_the_rest = !self.writable && self.incomplete == Incomplete::Read;
        Intent::of(self.writable, self.force || self.degraded || reads_the_rest)
    }

    /// How much is believed beyond what this host remembers.
    pub(crate) fn trust(&self) -> Trust {
        trust(self.force, self.degraded)
    }

    /// What a command that ends opens an array for.
    pub fn purpose(&self) -> Purpose {
        if self.writable { Purpose::Start(self.trust()) } else { Purpose::Look }
    }
}

/// Room for requests: how many, and the bytes of each.
pub(crate) type Requests = (u32, u32);

/// Requests in flight of the commands that move content.
const TRANSFER_DEPTH: u32 = 8;
/// The requests of administrators alone.
pub(crate) const TRANSFERS: Requests = (TRANSFER_DEPTH, protocol::TRANSFER_BYTES_MAX);
/// The request buffers that clients of an array's content have when it is served; those before them
/// are the administrators'.
pub const SERVED_BUFFERS: Range<u32> = TRANSFER_DEPTH..TRANSFER_DEPTH + 130;
/// Size of each, then: what most clients ask for at a time.
const SERVED_BUFFER_BYTES: u32 = 256 << 10;
/// The requests of administrators and clients.
pub(crate) const SERVED: Requests = (SERVED_BUFFERS.end, SERVED_BUFFER_BYTES);

/// Why an array is not opened by this process.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Its members are not found.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// Members are not there, or silent.
    #[error(transparent)]
    Present(#[from] PresentError),
    /// A member does not open.
    #[error(transparent)]
    Drives(#[from] DrivesError),
    /// There is no world for them.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// They are no array that could be opened.
    #[error(transparent)]
    Array(#[from] OpenError),
    /// Another process of this host has it.
    #[error(transparent)]
    InUse(#[from] ArrayInUse),
    /// Its members are other ones each time they are looked for.
    #[error("the array's members change while they are opened: try again once nobody changes them")]
    Unsteady,
    /// The drive that is to come to it may not.
    #[error(transparent)]
    Newcomer(#[from] NewcomerError),
    /// The kernel does not run it.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The kernel runs it.
    #[error(
        "{} belongs to an array that the kernel runs, as {}: take that over with `shoal run --engine kernel`, \
         or stop it with `shoal stop`",
        path.display(),
        device.display()
    )]
    Held {
        /// The member.
        path: PathBuf,
        /// The kernel's device.
        device: PathBuf,
    },
    /// Drives of two arrays were named, one of which the kernel runs.
    #[error("{} is not in {}: give the members of one array", other.display(), device.display())]
    OtherArray {
        /// A drive that is not in it.
        other: PathBuf,
        /// The kernel's device.
        device: PathBuf,
    },
    /// Simulated drives do not become an array.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// There is no memory for simulated drives.
    #[error(transparent)]
    Simulated(#[from] SimulatedWorldError),
    /// There is no thread to look for its drives.
    #[error("a thread: {0}")]
    Thread(io::Error),
    /// Another process runs it, and does not answer.
    #[error("{}: the process that runs the array {how}", socket.display())]
    Silent {
        /// Where it was asked.
        socket: PathBuf,
        /// What is known of it.
        how: Silence,
    },
    /// Another process runs it.
    #[error(
        "array {name} is busy: process {process_id}{} runs it already, and all commands reach it there; to run it anew, \
         `shoal stop --uuid {uuid}` first",
        command.as_ref().map_or(String::new(), |command| format!(" (`{command}`)"))
    )]
    RunsAlready {
        /// The array's name.
        name: String,
        /// The array.
        uuid: String,
        /// Who runs it.
        process_id: u32,
        /// What that was started with, if that can be read.
        command: Option<String>,
    },
}

impl HasFault for ClaimError {
    fn fault(&self) -> Fault {
        match self {
            Self::Search(error) => error.fault(),
            Self::Present(error) => error.fault(),
            Self::Drives(error) => error.fault(),
            Self::Join(error) => error.fault(),
            Self::Array(error) => error.fault(),
            Self::InUse(error) => error.fault(),
            Self::Newcomer(error) => error.fault(),
            Self::Kernel(error) => kernel_fault(error),
            Self::Create(error) => error.fault(),
            Self::Simulated(error) => error.fault(),
            Self::Held { .. } => Fault::Refused,
            Self::OtherArray { .. } => Fault::Usage,
            Self::Thread(_) => Fault::Failed,
            Self::Silent { .. } | Self::RunsAlready { .. } | Self::Unsteady => Fault::Busy,
        }
    }
}

/// Whose fault it is when the kernel does not do what was asked.
pub(crate) fn kernel_fault(error: &KernelError) -> Fault {
    match error {
        KernelError::InUse { .. } | KernelError::OtherMembers { .. } | KernelError::Refused { .. } => Fault::Refused,
        KernelError::Busy { .. } => Fault::Busy,
        KernelError::NotForKernel { .. } | KernelError::NotAMember { .. } | KernelError::Unsupported { .. } => {
            Fault::Usage
        }
        _ => Fault::Failed,
    }
}
