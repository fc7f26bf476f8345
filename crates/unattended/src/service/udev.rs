//! udev's part: a member that is plugged in is handed to its array.

use std::path::{Path, PathBuf};

use shoal_md::Uuid;

use super::{Service, UDEV_RULES};

/// Where the rules for the members of the array with this UUID go.
pub(super) fn rules_path(uuid: &Uuid) -> PathBuf {
    Path::new(UDEV_RULES).join(format!("63-shoal-{}.rules", as_blkid_prints(uuid)))
}

/// The rules for an array's members, and those of the arrays that it is made of. They come after
/// the rules that look what is on a drive (`60-persistent-storage.rules`).
///
/// A drive that is plugged in is added; a card that is put into a reader that was there before
/// changes the reader, as the kernel tells. udev itself tells of a change too, whenever a program
/// that could write to a drive has closed it. That is no drive that came: it is what a server does
/// when it is stopped, or dies, and it must not be started again for that. Such events, made by
/// writing to `uevent`, carry `SYNTH_UUID`.
pub(super) fn rules(service: &Service) -> String {
    let mut text = format!("# Members of {}, which shoal runs, are handed to it.\n", service.plain_name());
    for array in &service.arrays {
        let member = format!(
            r#"SUBSYSTEM=="block", ENV{{ID_FS_TYPE}}=="linux_raid_member", ENV{{ID_FS_UUID}}=="{}", TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="shoal-hot-plug@%k.service""#,
            as_blkid_prints(&array.uuid)
        );
        text += &format!("ACTION==\"add\", {member}\nACTION==\"change\", ENV{{SYNTH_UUID}}==\"\", {member}\n");
    }
    text
}

/// The bytes in the order in which they lie on disk, as a UUID of RFC 4122.
pub(super) fn as_blkid_prints(uuid: &Uuid) -> String {
    let hex: String = uuid.0.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
