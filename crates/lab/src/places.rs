//! Where things are on the host, and what to say if they are not.

use std::fmt;
use std::path::{Path, PathBuf};

/// Places that PATH may lack.
const SYSTEM_PLACES: &str = ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";

/// Why there is no kernel to test against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub(crate) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; `scripts/setup test` brings it", self.0)
    }
}

impl std::error::Error for Missing {}

/// Where a program is.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let places = std::env::var("PATH").unwrap_or_default() + SYSTEM_PLACES;
    places.split(':').map(|place| Path::new(place).join(name)).find(|path| path.is_file())
}

/// The files of all modules that are wanted and not built in, each after those that it needs.
/// `directory` is that of one version of the kernel.
pub(crate) fn modules_in_order(directory: &Path, wanted: &[&str]) -> Option<Vec<PathBuf>> {
    let needs = std::fs::read_to_string(directory.join("modules.dep")).ok()?;
    let mut order: Vec<PathBuf> = Vec::new();
    for name in wanted {
        let file_name = format!("/{name}.ko");
        // "kernel/drivers/md/raid1.ko: kernel/drivers/md/md-mod.ko": what it needs, the most basic
        // last.
        let Some((module, needed)) =
            needs.lines().filter_map(|line| line.split_once(':')).find(|(module, _)| module.ends_with(&file_name))
        else {
            continue;
        };
        for path in needed.split_whitespace().rev().chain([module]).map(|path| directory.join(path)) {
            if !order.contains(&path) {
                order.push(path);
            }
        }
    }
    Some(order)
}
