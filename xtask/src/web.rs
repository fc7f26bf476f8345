//! The report viewer's checks: its types, its bundle, its tests.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// Installs what the viewer is built with, and checks and tests it; one loud line where node is
/// missing or too old.
///
/// # Errors
/// The check that fails.
pub(crate) fn run(root: &Path) -> Result<()> {
    let web = root.join("web");
    let manifest = std::fs::read_to_string(web.join("package.json")).context("cannot read web/package.json")?;
    let needed = needed_major(&manifest).context("web/package.json has no engines.node of the form >=N")?;
    let present = installed_major();
    if present.is_none_or(|present| present < needed) || !process::is_installed("npm") {
        println!("SKIPPED: the checks of the report viewer need npm and node {needed} or newer (apt: nodejs npm)");
        return Ok(());
    }
    for arguments in [&["ci"][..], &["run", "check"], &["test"]] {
        process::pass(Command::new("npm").args(arguments).current_dir(&web))?;
    }
    Ok(())
}

/// The oldest node that will do; `scripts/setup` reads the same line.
fn needed_major(manifest: &str) -> Option<u32> {
    let (_, rest) = manifest.split_once("\"node\": \">=")?;
    rest.split_once('"')?.0.parse().ok()
}

fn installed_major() -> Option<u32> {
    let told = process::capture(Command::new("node").arg("--version")).ok()?;
    String::from_utf8_lossy(&told.stdout).trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_says_which_node_is_needed() {
        let manifest = std::fs::read_to_string(crate::repository().join("web/package.json")).unwrap();
        assert!(needed_major(&manifest).is_some_and(|major| major >= 18));
        assert_eq!(needed_major("{\"engines\": {\"node\": \">=18\"}}"), Some(18));
        assert_eq!(needed_major("{}"), None);
    }
}
