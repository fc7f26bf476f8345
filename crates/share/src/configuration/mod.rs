//! Configurations, out of shares and a site: pure, and the same bytes each time.
//!
//! A configuration is a table of [`Setting`]s, each with its reason, which is written before it. No
//! value can end its line or its quotes: what comes from outside is a number, an address, or a name
//! out of [`crate::ShareName`], [`crate::UserName`] or [`crate::PlainPath`], which see to that.

pub mod accounts;
pub mod exports;
pub mod ganesha;
pub mod nfs;
pub mod samba;
pub mod vsftpd;

use crate::{Network, Share};

/// A line of a configuration: what is set to what, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option's name.
    pub key: &'static str,
    /// Its value, as the format wants it.
    pub value: String,
    /// Why it is not left at what it would be; empty where the value says it.
    pub reason: &'static str,
}

/// Shorter to read in tables.
fn set(key: &'static str, value: impl Into<String>, reason: &'static str) -> Setting {
    Setting { key, value: value.into(), reason }
}

/// How long an NFS client's locks outlive its last sign of life. After a restart a server waits as
/// long for clients that held some, unless all have come back before; Linux's 90 s would be a long
/// silence at home.
const LEASE_SECONDS: u32 = 30;

/// What every file begins with.
const HEAD: &str = "# Written by shoal; changes are lost when it writes the file again.\n";

/// Lines of `key SEPARATOR value END`, each after its reason.
fn lines(settings: &[Setting], indent: &str, separator: &str, end: &str) -> String {
    let line = |setting: &Setting| {
        let Setting { key, value, reason } = setting;
        let comment = if reason.is_empty() { String::new() } else { format!("{indent}# {reason}\n") };
        format!("{comment}{indent}{key}{separator}{value}{end}\n")
    };
    settings.iter().map(line).collect()
}

/// All networks of some shares, each once.
fn networks_of(shares: &[Share]) -> Vec<Network> {
    let mut all: Vec<Network> = Vec::new();
    for network in shares.iter().flat_map(|share| &share.networks) {
        if !all.contains(network) {
            all.push(*network);
        }
    }
    all
}

/// Words with something between them.
fn joined<T: std::fmt::Display>(words: impl IntoIterator<Item = T>, between: &str) -> String {
    words.into_iter().map(|word| word.to_string()).collect::<Vec<_>>().join(between)
}
