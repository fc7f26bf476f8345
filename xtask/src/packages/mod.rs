//! What is installed: Debian packages, and archives with a program that needs nothing. All of it
//! lies below `target/packages`.

mod architecture;
mod build;
mod deb;
mod licences;
mod roots;
mod tree;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::process;
use architecture::{Architecture, Linkage};

/// Which version is packed.
struct Release {
    version: &'static str,
    /// When its last change was made, in seconds since 1970: packages of one commit are the same.
    written_s: u64,
    /// The same, as people and Debian's changelogs write it.
    written: String,
}

impl Release {
    /// What is checked out.
    fn of(root: &Path) -> Result<Self> {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "log", "-1", "--format=%ct"]).current_dir(root);
        let written_s = process::stdout_of(&mut git)?.trim().parse().context("git tells a time in seconds")?;
        let mut date = Command::new("date");
        date.args(["--utc", "--rfc-email", "--date", &format!("@{written_s}")]).env("LC_ALL", "C");
        let written = process::stdout_of(&mut date)?.trim().to_owned();
        Ok(Self { version: env!("CARGO_PKG_VERSION"), written_s, written })
    }

    /// The first package of the version.
    fn debian_version(&self) -> String {
        format!("{}-1", self.version)
    }

    fn debian_changelog(&self) -> String {
        let change = "  * What is new in this version is in changelog.gz beside this file.\n";
        let who = control_field("Maintainer");
        format!("shoal ({}) unstable; urgency=medium\n\n{change}\n -- {who}  {}\n", self.debian_version(), self.written)
    }
}

/// A field of what dpkg is told of the package.
fn control_field(name: &str) -> &'static str {
    let fields = include_str!("../../../packaging/control").lines();
    let mut values = fields.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    values.next().expect("each field that is asked for is there")
}

/// Where what is built goes.
fn output(root: &Path) -> Result<PathBuf> {
    let directory = crate::target_directory(root).join("packages");
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory)
}

/// Builds the packages for these processors, or for all.
///
/// # Errors
/// What is missing, does not build, or is found wrong by lintian.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let release = Release::of(root)?;
    let native = Architecture::native().context("packages are built on amd64 or arm64")?;
    // It writes the manual of all packages.
    let own =
        build::program(root, native, Linkage::Static)?.context("no standard library for this machine's processor")?;
    for architecture in architectures(words)? {
        if let Some(program) = build::program(root, architecture, Linkage::Static)? {
            println!("packages: {}", archive(root, &program, architecture, &release)?.display());
        }
        let program = build::program(root, architecture, Linkage::Dynamic)?;
        let program = program.with_context(|| format!("no standard library for {}", architecture.debian()))?;
        let package = package(root, &program, &own, architecture, &release)?;
        deb::lint(&package)?;
        println!("packages: {}", package.display());
    }
    Ok(())
}

/// Installs what was built for these processors, or for all, in bare systems, tries it there, and
/// removes it.
///
/// # Errors
/// What does not work, or is left behind.
pub(crate) fn test(root: &Path, words: &[&str]) -> Result<()> {
    let release = Release::of(root)?;
    for architecture in architectures(words)? {
        let name = format!("shoal_{}_{}.deb", release.debian_version(), architecture.debian());
        roots::try_package(root, &output(root)?.join(name), architecture)?;
    }
    Ok(())
}

fn architectures(words: &[&str]) -> Result<Vec<Architecture>> {
    match words {
        [] => Ok(Architecture::ALL.to_vec()),
        words => words.iter().map(|word| Architecture::parse(word)).collect(),
    }
}

/// A Debian package of a program. `own` is one that runs here, and writes the manual.
fn package(root: &Path, program: &Path, own: &Path, architecture: Architecture, release: &Release) -> Result<PathBuf> {
    let directory = output(root)?;
    let folder = TempDir::new_in(&directory)?;
    tree::lay_out(root, folder.path(), program, own, architecture, release)?;
    deb::pack(root, folder.path(), &directory, architecture, release)
}

/// An archive with the program that needs nothing.
fn archive(root: &Path, program: &Path, architecture: Architecture, release: &Release) -> Result<PathBuf> {
    let directory = output(root)?;
    let folder = TempDir::new_in(&directory)?;
    let name = format!("shoal-{}-{}-linux-static", release.version, architecture.debian());
    tree::lay_out_static(root, &folder.path().join(&name), program, architecture)?;
    let path = directory.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--use-compress-program", "gzip --no-name"]);
    tar.arg(format!("--mtime=@{}", release.written_s)).arg("--create").arg("--file").arg(&path);
    process::pass(tar.arg("--directory").arg(folder.path()).arg(name))?;
    Ok(path)
}

#[cfg(test)]
mod tests;
