//! Accounts that only the servers see: laid over the system's own files where a server runs.
//!
//! Nobody can log in to them, and no file belongs to any of them but the owner. The numbers of
//! SMB's users are all different, as Samba takes two accounts of one number for one; files are the
//! owner's all the same (`force user`).

use std::collections::BTreeSet;

use crate::{Owner, UserName};

/// Who comes in to Samba without a password.
pub const GUEST: &str = "shoal-guest";

/// Numbers from here on are nobody's: above all ranges that distributions and systemd give out.
const FIRST_USER_ID: u32 = 0x7000_0000;

/// The account to which files belong. No user's name begins so.
pub fn owner_name(owner: Owner) -> String {
    format!("shoal-{}-{}", owner.user_id, owner.group_id)
}

/// What user ids the accounts of users have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// One each, that owns nothing.
    Distinct,
    /// The first owner's: who comes in is the owner.
    Owners,
}

/// `/etc/passwd`, with accounts for the owners, for users, and for guests under the names that a
/// protocol has for them.
pub fn passwd(owners: &BTreeSet<Owner>, users: &BTreeSet<UserName>, guests: &[&str], numbering: Numbering) -> String {
    let account = |name: &str, user_id, group_id| format!("{name}:x:{user_id}:{group_id}::/:/usr/sbin/nologin\n");
    let Owner { user_id, group_id } = owners.first().copied().unwrap_or(NOBODY);
    let own = |index: u32| match numbering {
        Numbering::Distinct => FIRST_USER_ID + index,
        Numbering::Owners => user_id,
    };
    let mut text = account("root", 0, 0) + &account("nobody", NOBODY.user_id, NOBODY.group_id);
    for owner in owners {
        text += &account(&owner_name(*owner), owner.user_id, owner.group_id);
    }
    let users = users.iter().map(ToString::to_string);
    for (index, name) in (0..).zip(guests.iter().map(|&guest| guest.to_owned()).chain(users)) {
        text += &account(&name, own(index), group_id);
    }
    text
}

/// Whom nothing belongs to.
const NOBODY: Owner = Owner { user_id: 65_534, group_id: 65_534 };

/// `/etc/group`.
pub fn group(owners: &BTreeSet<Owner>) -> String {
    let groups: BTreeSet<u32> = owners.iter().map(|owner| owner.group_id).collect();
    let lines: String = groups.iter().map(|group| format!("shoal-{group}:x:{group}:\n")).collect();
    format!("root:x:0:\nnogroup:x:65534:\n{lines}")
}

/// `/etc/pam.d/vsftpd`: guests as they come, others with a password out of the shadow file.
pub fn pam(guests: &[&str]) -> String {
    let guest = format!("sufficient pam_succeed_if.so quiet user in {}\n", guests.join(":"));
    let first = |kind| if guests.is_empty() { String::new() } else { format!("{kind} {guest}") };
    let [auth, account] = ["auth", "account"].map(first);
    format!("{auth}auth required pam_unix.so\n{account}account required pam_unix.so\nsession required pam_permit.so\n")
}

/// A user's line in `/etc/shadow`, out of a crypt(5) hash.
pub fn shadow_line(user: &UserName, hash: &str) -> String {
    // The day of the last change is any but 0, which would demand a new password.
    format!("{user}:{hash}:20000:0:99999:7:::\n")
}
