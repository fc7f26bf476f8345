//! Drives that were being copied to when the array was stopped.

use shoal_array::{MemberState, Role};
use shoal_md::{Assembly, Replacement};

/// Replacements that are being filled for members in sync.
pub(super) fn replacements(assembly: &Assembly) -> impl Iterator<Item = (Role, Replacement)> {
    let of_role = |(role, slot): (Role, &shoal_md::Slot)| {
        let replacement = slot.replacement.filter(|_| slot.state == MemberState::InSync)?;
        Some((role, replacement))
    };
    (0..).map(Role).zip(&assembly.slots).filter_map(of_role)
}

/// Where writes were under way in a crash, a replacement may differ from its original in what was
/// copied.
pub(super) fn begins_anew(assembly: &Assembly, replacement: &Replacement) -> bool {
    replacement.position_bytes > 0 && !assembly.superblock.is_clean()
}

/// Whether a replacement does not have what its superblock says.
pub(super) fn has_copies_anew(assembly: &Assembly) -> bool {
    replacements(assembly).any(|(_, replacement)| begins_anew(assembly, &replacement))
}
