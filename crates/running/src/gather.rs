//! Waits for an array's members to be there, and to be free, and no longer than is worth it.
//!
//! Drives on a hub come one after the other, for seconds after a machine has started. An array is
//! waited for until all members are there that its freshest one counts on, and this host has seen
//! nothing newer of it, or the time is up; then it is up to the array whether it can do without
//! them.

use std::time::{Duration, Instant};

use shoal_documents::{Fault, HasFault};
use shoal_inventory::{Environment, Named, lacking};
use shoal_unattended::ServiceManager;

/// From one look to the next.
const DISTANCE: Duration = Duration::from_millis(500);
/// The longest that busy members are waited for; a service's time to start has room for it. After
/// that the service manager starts the process again.
const BUSY_PATIENCE: Duration = Duration::from_secs(60);

/// Waits, if that is asked for. What is missing in the end is told and is no failure.
pub fn wait_for_members(environment: &Environment, patience: Option<Duration>, named: &Named) {
    let Some(patience) = patience else { return };
    let mut manager = ServiceManager::of_this_process();
    let start = Instant::now();
    loop {
        let Some(lack) = lacking(environment, named) else { return };
        if start.elapsed() >= patience {
            environment.tell(&format!("waited {} s for members: {lack}", patience.as_secs()));
            return;
        }
        manager.is(&format!("waiting for members: {lack}"));
        std::thread::sleep(DISTANCE.min(patience.saturating_sub(start.elapsed())));
    }
}

/// Does what needs members that nobody else has: again and again while they are busy, if waiting is
/// asked for. Whoever has just looked at a drive, as udev does with every new one, lets it go in a
/// moment.
pub fn when_free<T, E: HasFault>(
    environment: &Environment,
    patience: Option<Duration>,
    mut claim: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let patience = patience.unwrap_or_default().min(BUSY_PATIENCE);
    let mut manager = ServiceManager::of_this_process();
    let (start, mut is_told) = (Instant::now(), false);
    loop {
        match claim() {
            Err(why) if why.fault() == Fault::Busy && start.elapsed() < patience => {
                manager.is(&format!("waiting: {why}"));
                if !std::mem::replace(&mut is_told, true) {
                    environment.tell(&format!("waiting for {} s at most: {why}", patience.as_secs()));
                }
                std::thread::sleep(DISTANCE.min(patience.saturating_sub(start.elapsed())));
            }
            claimed => return claimed,
        }
    }
}
