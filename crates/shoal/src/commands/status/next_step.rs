//! What is to be done next about an array that is not as it should be.

use shoal_documents::{ArrayDocument, ConsistencyDocument, HealthDocument, MemberDocument, MemberStateDocument};

/// What fills the place of a member that is missing; none if nobody has to do anything.
pub(super) fn filling_text(array: &ArrayDocument) -> Option<String> {
    if lacks_an_array(array) {
        let again = "`shoal re-add --drive DRIVE MEMBER...`";
        return Some(format!(
            "the array inside that is missing comes back with {again}: one of its drives, and all of them given"
        ));
    }
    let is_spoilt = array.left_out.iter().any(|left_out| left_out.spoilt);
    let former = match array.consistency_policy {
        Some(ConsistencyDocument::Bitmap) if !is_spoilt => "`shoal re-add --drive DRIVE MEMBER...`",
        _ => "`shoal add --force --drive DRIVE MEMBER...`",
    };
    let new = "`shoal add --drive DRIVE MEMBER...`";
    lacks_a_drive(array)
        .then(|| format!("a new drive takes the missing place with {new}, the one that was there with {former}"))
}

/// What is to be done about an array that nobody runs, a line each.
pub(super) fn at_rest(array: &ArrayDocument) -> Vec<&'static str> {
    let mut steps = Vec::new();
    if array.is_dirty_and_degraded() {
        steps.push(
            "is degraded and was not shut down cleanly: blocks of the missing member may be wrong; give it too, if it is there and not \
             out of date; else `shoal run --force` starts the array all the same, and a new drive can be added then",
        );
    }
    if array.health == HealthDocument::Failed {
        steps.push("`shoal recover` shows what can be had without the members that are missing; it changes nothing");
    } else if is_being_filled(array) {
        steps.push("the filling of a member stands still while nobody runs the array: `shoal rebuild` ends it, `shoal run` goes on with it");
    }
    steps
}

/// Whether a member, here or in an array inside, is not filled yet, or being replaced.
fn is_being_filled(array: &ArrayDocument) -> bool {
    let is_filled = |member: &MemberDocument| member.rebuilt_bytes.is_some() || member.replacement.is_some();
    array.members.iter().any(is_filled) || array.inner_arrays().any(is_being_filled)
}

/// Whether somebody has to give it a drive.
fn lacks_a_drive(array: &ArrayDocument) -> bool {
    array.spares.is_empty() && lacks_a_member(array)
}

/// The same of an array of arrays.
fn lacks_an_array(array: &ArrayDocument) -> bool {
    lacks_a_member(array) && array.inner_arrays().next().is_some()
}

fn lacks_a_member(array: &ArrayDocument) -> bool {
    let is_missing = |member: &MemberDocument| member.state == MemberStateDocument::Missing && member.array.is_none();
    array.health == HealthDocument::Degraded && array.members.iter().any(is_missing)
}
