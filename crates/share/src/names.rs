//! Names that can stand in any configuration file and mean nothing but themselves.
//!
//! | name | may hold | why no more |
//! | --- | --- | --- |
//! | share | letters, digits, `_`, `.`, `-`; begins with a letter or digit; 1 to 63 | a section of smb.conf, a path of NFS, an URL |
//! | user | lower-case letters, digits, `_`, `-`; begins with a letter; 1 to 32 | an account: `:` and line ends part its fields |
//! | directory | an absolute path of printable characters but `"`, `\`, `%`, `$`, `#` | quotes and escapes of four formats; `%` and `$` are replaced in smb.conf |
//!
//! smb.conf trims spaces at the ends of a path, so no part of a directory begins or ends with one.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// Why a name is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A share's.
    #[error(
        "`{0}` cannot be a share's name: use up to 63 of a-z, A-Z, 0-9, `_`, `.`, `-`, with a letter or digit first; `global`, `homes`, `printers`, `print$` and `ipc$` are Samba's"
    )]
    Share(String),
    /// A user's.
    #[error(
        "`{0}` cannot be a user's name: use up to 32 of a-z, 0-9, `_`, `-`, with a letter first; root, nobody, anonymous, ftp and shoal-... are the servers'"
    )]
    User(String),
    /// A directory's.
    #[error(
        "{0:?} cannot be shared: its path must be absolute, without `..`, and each part printable, without \" \\ % $ # or a space at either end: rename it, or bind-mount it elsewhere"
    )]
    Directory(PathBuf),
}

/// What clients call a share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShareName(String);

impl FromStr for ShareName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        const SAMBAS_OWN: [&str; 3] = ["global", "homes", "printers"];
        let mut bytes = text.bytes();
        let is_plain = bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        let is_free = !SAMBAS_OWN.iter().any(|own| text.eq_ignore_ascii_case(own));
        if is_plain && is_free && text.len() <= 63 {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError::Share(text.to_owned()))
        }
    }
}

impl fmt::Display for ShareName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a machine is called among Windows machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// As much of a machine's name as can be had: 15 letters, digits and dashes of its first part.
    pub fn of(machine: &str) -> Self {
        let first = machine.split('.').next().unwrap_or_default();
        let plain = first.chars().filter(|character| character.is_ascii_alphanumeric() || *character == '-');
        let name: String = plain.take(15).collect();
        let name = name.trim_matches('-');
        Self(if name.is_empty() { "shoal".to_owned() } else { name.to_owned() })
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who comes in with a password.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(String);

impl FromStr for UserName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        const SERVERS_OWN: [&str; 4] = ["root", "nobody", "anonymous", "ftp"];
        let mut bytes = text.bytes();
        let is_plain = bytes.next().is_some_and(|first| first.is_ascii_lowercase())
            && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte));
        if is_plain && text.len() <= 32 && !SERVERS_OWN.contains(&text) && !text.starts_with("shoal-") {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError::User(text.to_owned()))
        }
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A directory whose path can stand in any configuration file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlainPath(String);

impl PlainPath {
    /// Takes a path that is absolute and has no `..`. Whether anything is there is not looked at.
    ///
    /// # Errors
    ///
    /// If the path could mean something else in a configuration file.
    pub fn new(path: &Path) -> Result<Self, NameError> {
        let refused = || NameError::Directory(path.to_owned());
        let mut plain = String::new();
        for component in path.components() {
            match component {
                Component::RootDir => {}
                Component::Normal(part) => {
                    let part = part.to_str().filter(|part| is_harmless(part)).ok_or_else(refused)?;
                    plain = format!("{plain}/{part}");
                }
                _ => return Err(refused()),
            }
        }
        // The root of everything is never what is meant.
        if path.is_absolute() && !plain.is_empty() { Ok(Self(plain)) } else { Err(refused()) }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// Whether a part of a path means nothing but itself.
fn is_harmless(part: &str) -> bool {
    part.trim() == part
        && !part.chars().any(|character| character.is_control() || "\"\\%$#\u{2028}\u{2029}".contains(character))
}

impl fmt::Display for PlainPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
