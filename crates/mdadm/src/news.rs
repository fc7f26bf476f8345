//! What has happened between two looks at an array, in the words of shoal's own engine.
//!
//! The kernel tells how things are, not what happened; two looks tell the difference. What came and
//! went between them is not seen, except that a role has changed hands.

use shoal_volume::{Event, Role};

use crate::sysfs::Snapshot;

/// What happened to members and by resyncs; scrubs are told by whoever waits for their end.
pub(crate) fn events(before: &Snapshot, after: &Snapshot, member_count: usize) -> Vec<Event> {
    let mut events = Vec::new();
    for role in (0..).take(member_count) {
        role_events(before, after, role, &mut events);
    }
    if before.needs_resync && !after.needs_resync {
        events.push(Event::ResyncFinished);
    }
    events
}

fn role_events(before: &Snapshot, after: &Snapshot, role: u16, events: &mut Vec<Event>) {
    let (was, is) = (before.member(role), after.member(role));
    let has_stayed = was.zip(is).is_some_and(|(was, is)| was.name == is.name);
    let replaced = before.replacement(role).zip(is).is_some_and(|(replacement, is)| replacement.name == is.name);
    if let Some(was) = was.filter(|_| !has_stayed && !replaced) {
        events.push(match was.is_in_sync {
            true => Event::MemberFailed(Role(role)),
            false => Event::RebuildStopped { role: Role(role), member_offset: was.recovered_bytes.unwrap_or(0) },
        });
    }
    let was_in_sync = has_stayed && was.is_some_and(|was| was.is_in_sync);
    if is.is_some_and(|is| is.is_in_sync) && !was_in_sync {
        events.push(Event::RebuildFinished(Role(role)));
    }
}

/// What people should know and no event of the engine's says: a sentence each. `name_of` gives what
/// people call a device.
pub(crate) fn remarks(before: &Snapshot, after: &Snapshot, name_of: impl Fn(&str) -> String) -> Vec<String> {
    let mut remarks = Vec::new();
    if before.is_reshaping() && !after.is_reshaping() {
        remarks.push("it has its new shape".to_owned());
    }
    for is in &after.devices {
        let Some(was) = before.devices.iter().find(|was| was.name == is.name) else { continue };
        let name = name_of(&is.name);
        if is.corrected_errors > was.corrected_errors {
            let count = is.corrected_errors - was.corrected_errors;
            remarks.push(format!("{name}: {count} sectors could not be read, and were written anew"));
        }
        if is.bad_bytes > was.bad_bytes {
            remarks.push(format!("{name}: {} bytes of it hold nothing: they are in its bad-block log", is.bad_bytes));
        }
    }
    remarks
}

#[cfg(test)]
mod tests;
