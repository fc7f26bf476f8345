//! Checks that the array is well again at the end: every member in sync, nothing left to do, no
//! resync due.
//!
//! Not checked: which drive has which role; that a rebuild fills a member with the right bytes
//! shows in [`super::check_redundancy`].

use shoal_volume::{ArrayStatus, Health};

use super::Failure;

const CHECKER: &str = "health";

/// Holds an array that had all the time it wanted against what it should be by then.
pub(crate) fn check_health(status: &ArrayStatus, needs_resync: bool) -> Result<(), Failure> {
    if let Some(progress) = &status.progress {
        return Err(Failure::new(CHECKER, format!("it had an hour, and is not done: {progress:?}")));
    }
    if status.health != Health::Optimal {
        let members: Vec<_> = status.members.iter().map(|member| &member.state).collect();
        return Err(Failure::new(
            CHECKER,
            format!("it has all the drives it needs, and is {:?}: {members:?}", status.health),
        ));
    }
    if needs_resync {
        return Err(Failure::new(CHECKER, "all members are in sync, and it wants a resync"));
    }
    Ok(())
}
