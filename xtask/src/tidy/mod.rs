//! The repository lint: what the compiler and clippy cannot know about this project.
//!
//! Every rule reports a [`Finding`] that says where, what, why, and how to mend it. The rules
//! themselves are pure functions of file contents; reading the tree and asking cargo happens here.

mod arrows;
mod circles;
mod code;
mod documents;
mod finding;
mod glossary;
mod names;
mod paths;
mod ratchet;
mod sizes;
mod sources;
mod text;
mod tokens;

use anyhow::{Context, Result, bail};
use finding::Finding;
use std::path::Path;

/// What to do with the recorded sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ratcheting {
    /// Report every difference.
    Check,
    /// Lower the records to what the tree has become; never raise one.
    Tighten,
}

/// Where the excesses that the tree still has are recorded.
const RATCHET: &str = "xtask/ratchet.txt";

/// The document whose tables say which crate may use which.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Runs every rule over the repository at `root` and fails if any has a finding.
pub(crate) fn run(root: &Path, ratcheting: Ratcheting) -> Result<()> {
    let files = sources::read_tree(root)?;
    let mut findings = Vec::new();
    let (mut sizes, mut codes) = (Vec::new(), Vec::new());
    for file in &files {
        findings.extend(names::check_path(file));
        findings.extend(text::check(file));
        findings.extend(glossary::check(file));
        sizes.extend(sizes::of_file(file));
        if file.is_rust() {
            match code::parse(file) {
                Ok(code) => {
                    findings.extend(tokens::check(file, &code));
                    findings.extend(names::check_definitions(file, &code));
                    sizes.extend(sizes::of_functions(file, &code));
                    codes.push((file, code));
                }
                Err(finding) => findings.push(finding),
            }
        }
    }
    findings.extend(check_sizes(root, ratcheting, &sizes)?);
    let circles = circles::find(codes.iter().map(|(file, code)| (*file, code)));
    findings.extend(check_circles(root, ratcheting, &circles)?);
    findings.extend(check_arrows(root)?);
    conclude(findings, files.len())
}

fn check_sizes(root: &Path, ratcheting: Ratcheting, sizes: &[sizes::Size]) -> Result<Vec<Finding>> {
    let path = root.join(RATCHET);
    let recorded = std::fs::read_to_string(&path).with_context(|| format!("cannot read {RATCHET}"))?;
    let mut ratchet = ratchet::Ratchet::parse(&recorded).with_context(|| format!("in {RATCHET}"))?;
    if ratcheting == Ratcheting::Tighten {
        ratchet.tighten(sizes);
        std::fs::write(&path, ratchet.print()).with_context(|| format!("cannot write {RATCHET}"))?;
    }
    Ok(ratchet.check(sizes))
}

fn check_circles(root: &Path, ratcheting: Ratcheting, circles: &[circles::Circle]) -> Result<Vec<Finding>> {
    let path = root.join(circles::CIRCLES);
    let recorded = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", circles::CIRCLES))?;
    let mut records = circles::Records::parse(&recorded).with_context(|| format!("in {}", circles::CIRCLES))?;
    if ratcheting == Ratcheting::Tighten {
        records.tighten(circles);
        std::fs::write(&path, records.print()).with_context(|| format!("cannot write {}", circles::CIRCLES))?;
    }
    Ok(records.check(circles))
}

fn check_arrows(root: &Path) -> Result<Vec<Finding>> {
    let architecture =
        std::fs::read_to_string(root.join(ARCHITECTURE)).with_context(|| format!("cannot read {ARCHITECTURE}"))?;
    let rules = documents::parse(&architecture).with_context(|| format!("in {ARCHITECTURE}"))?;
    let packages = arrows::read_packages(root)?;
    Ok(arrows::check(&rules, &packages))
}

fn conclude(mut findings: Vec<Finding>, files: usize) -> Result<()> {
    if findings.is_empty() {
        println!("tidy: {files} files, no findings");
        return Ok(());
    }
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    bail!("tidy: {} findings in {files} files", findings.len());
}
