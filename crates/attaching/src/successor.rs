//! What becomes of a device when the process that serves it is killed: another one takes its place,
//! by itself.
//!
//! ```text
//!  front ══ pipe ══► successor        the front says goodbye over it, or it ends without a word
//!    │ starts, and starts again      │
//!    └───────────────────────────────┘ then the successor waits until the front is gone for good, and becomes a front: with a successor of its own
//! ```
//!
//! A ublk or nbd device outlives its front, and its requests wait for the next one. So every such
//! front keeps a *successor*: a process that holds no device, no memory to speak of and no
//! connection, and waits at the end of a pipe.
//!
//! | killed | what follows |
//! | --- | --- |
//! | the front | the successor executes this program as a front that recovers the device, in the same process |
//! | the successor | the front starts another |
//! | both at the same moment | the requests wait until somebody types `attach` or `detach`, which know what to do with such a device |
//! | the server | nothing here: the front waits for it; so does a successor that becomes a front meanwhile, as it knows the server's terms, and so requests keep their deadline |
//!
//! **Why not the server, or a process above both.** The server may be another user's, or a service
//! of its own, whose processes systemd ends with it; and of a process above both one would ask
//! again who looks after that. Here the two look after each other, and either can be killed at any
//! time.
//!
//! **The first front is gone before the second begins**: the successor waits for the end of the
//! process, and not only of the pipe. Then its connection with the server is closed, and the server
//! begins nothing of it any more; see [`shoal_attach::Client`].
//!
//! **No loop of deaths.** A front that dies within [`YOUNG`] of its successor's start is followed
//! after that time only, so a request at which every front dies costs a process a second and no
//! more.
//!
//! **Who is who** is written in a file beside the record of the attachment (`UUID.front`), by the
//! front alone, whenever that changes. `detach` tells the front to end, which says goodbye to its
//! successor; if it finds a front that is dead it waits for the one that follows. Signals that
//! reach all processes of a service at once (`systemctl stop`) do no harm: a front that was told to
//! end starts no more successors, and a successor that is told to end goes at once.
//!
//! A front of a FUSE file has no successor: with the process its mount is gone.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};
use shoal_attach::records::{Fronts, ProcessDocument};

use crate::error::AttachError;
use crate::launch::Launcher;

/// A front that lived for less has died of something that may well happen to the next.
const YOUNG: Duration = Duration::from_secs(1);
/// What a front says that ends in order.
const GOODBYE: &[u8] = b"goodbye";

/// The successor of this front: started, and started again when it ends.
pub(super) struct Successor {
    kept: Arc<Kept>,
    thread: JoinHandle<()>,
}

/// What the thread that waits for successors shares with the front.
struct Kept {
    following: Following,
    state: Mutex<State>,
}

/// How the next front is to follow this one.
pub(super) struct Following {
    /// What is started.
    pub(super) launcher: Launcher,
    /// What a successor becomes a front with.
    pub(super) arguments: Vec<String>,
    /// Where it is written who is who.
    pub(super) record: Option<PathBuf>,
    /// What the server says of the array.
    pub(super) description: String,
    /// This front was told to end.
    pub(super) is_ending: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    pipe: Option<ChildStdin>,
    /// The device is gone, in order: nobody needs to follow.
    is_over: bool,
}

impl Successor {
    /// Keeps one, which is there when this returns, unless the system has no process to give; then
    /// it is asked again.
    pub(super) fn keep(following: Following) -> Result<Self, AttachError> {
        let kept = Arc::new(Kept { following, state: Mutex::default() });
        let first = kept.start();
        let own = Arc::clone(&kept);
        let thread = std::thread::Builder::new().name("shoal-successor".to_owned()).spawn(move || own.go_on(first));
        Ok(Self { kept, thread: thread.map_err(AttachError::System)? })
    }

    /// Ends it.
    pub(super) fn let_go(self) {
        let pipe = {
            let mut state = self.kept.state();
            state.is_over = true;
            state.pipe.take()
        };
        // One that has ended meanwhile needs not be told.
        let _ = pipe.map(|mut pipe| pipe.write_all(GOODBYE));
        let _ = self.thread.join();
    }
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every step leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of successors, and starts others.
    fn go_on(&self, first: Option<Child>) {
        let mut successor = first;
        loop {
            if let Some(mut child) = successor.take() {
                let _ = child.wait();
            }
            if self.state().is_over {
                return;
            }
            // However it ended, the next one would hardly fare better at once.
            std::thread::sleep(YOUNG);
            if !self.following.is_ending.load(Ordering::Acquire) {
                successor = self.start();
            }
        }
    }

    /// None if it cannot be had at this moment, or is not needed any more.
    fn start(&self) -> Option<Child> {
        let mut state = self.state();
        if state.is_over {
            return None;
        }
        let own = std::process::id();
        let mut command = Command::new((self.following.launcher.program)().ok()?);
        command.arg("successor").arg(own.to_string()).arg("--").args(&self.following.arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().ok();
        state.pipe = child.as_mut().and_then(|child| child.stdin.take());
        let successor = child.as_ref().and_then(|child| ProcessDocument::of(child.id()).ok());
        if let Err(error) = self.following.write_down(successor) {
            // `detach` will look for another front than this one.
            self.following.launcher.environment.tell(&error.to_string());
        }
        child
    }
}

impl Following {
    fn write_down(&self, successor: Option<ProcessDocument>) -> Result<(), AttachError> {
        let Some(path) = &self.record else { return Ok(()) };
        let (front, description) = (ProcessDocument::of(std::process::id())?, self.description.clone());
        Ok(Fronts { front, successor, description }.write(path)?)
    }
}

/// What a successor does: it waits for its front's goodbye, and ends; or for its front's end, and
/// takes its place.
pub fn wait_to_follow(launcher: &Launcher, front: u32, arguments: &[OsString]) -> Result<(), AttachError> {
    // What it takes to follow may be what the device keeps from being written back.
    shoal_attach::stay_out_of_reclaim();
    let begun = Instant::now();
    let process = i32::try_from(front).ok().and_then(Pid::from_raw);
    let process = process.ok_or(AttachError::NoProcess)?;
    // One that is not the parent any more is gone, and its number may be another's.
    let file = pidfd_open(process, PidfdFlags::empty()).ok().filter(|_| getppid() == Some(process));
    let mut said = Vec::new();
    // An error is an end, too.
    let _ = std::io::stdin().lock().read_to_end(&mut said);
    if said == GOODBYE {
        return Ok(());
    }
    if let Some(file) = file {
        // A signal is no end.
        while poll(&mut [PollFd::new(&file, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR) {}
    }
    std::thread::sleep(YOUNG.saturating_sub(begun.elapsed()));
    let program = (launcher.program)().map_err(AttachError::System)?;
    Err(AttachError::System(Command::new(program).args(arguments).stdin(Stdio::null()).exec()))
}
