//! The initramfs' part, where initramfs-tools makes it (Debian, Ubuntu, Raspberry Pi OS): mdadm
//! leaves alone there what it leaves alone in the machine.
//!
//! What Debian's hook of mdadm does (`/usr/share/initramfs-tools/hooks/mdadm`) gives every array of
//! shoal's to the kernel, two ways: it copies `mdadm.conf` and not the directory beside it, and
//! where that file names no array, it writes down all that it finds on the machine's drives. So a
//! hook of ours, which runs after it, strikes out what was written down of these arrays, and says
//! that they are to be ignored.

use super::MDADM_CONFIGURATION;
use super::install::MARK;

/// Where the hook goes. One is enough for all arrays.
pub(super) const HOOK: &str = "/etc/initramfs-tools/hooks/shoal";

/// A script that is run while an initramfs is made below `DESTDIR`.
pub(super) fn hook() -> String {
    format!(
        r#"#!/bin/sh
{MARK}# Keeps mdadm's hands off the arrays that shoal runs, in the initramfs too.
set -eu
case "${{1-}}" in prereqs) echo mdadm; exit 0 ;; esac
conf=$DESTDIR/etc/mdadm/mdadm.conf
# Without mdadm there is nobody whose hands are to be kept off.
[ -f "$conf" ] || exit 0
for file in {MDADM_CONFIGURATION}/shoal-*.conf; do
    [ -f "$file" ] || continue
    for uuid in $(sed -n 's/^ARRAY <ignore> UUID=//p' "$file"); do
        sed -i "/^ARRAY .*UUID=$uuid/Id" "$conf"
    done
    cat "$file" >>"$conf"
done
"#
    )
}
