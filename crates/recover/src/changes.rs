//! Whether members are still what they were when they were found.

use std::io;

use shoal_drive::{Access, Drive};

use crate::plan::{Group, RecoveryPlan};
use crate::search::Found;
use crate::seen::Seen;

/// Whether a member is not what it was when it was found.
pub(crate) fn has_changed(drive: &Drive, member: &Found) -> io::Result<bool> {
    Ok(Seen::now(drive, member.offset, &member.superblock)? != member.seen)
}

/// The members of a plan that are not what they were when they were found: written to, cut short,
/// or not to be read any more.
pub fn changed(plan: &RecoveryPlan) -> Vec<String> {
    let is_as_found = |member: &Found| {
        let drive = Drive::open(&member.path, Access::Read).ok();
        drive.and_then(|drive| has_changed(&drive, member).ok()) == Some(false)
    };
    let used = plan.groups.iter().flat_map(Group::used).map(|(member, _)| member);
    used.filter(|member| !is_as_found(member)).map(|member| member.name.clone()).collect()
}
