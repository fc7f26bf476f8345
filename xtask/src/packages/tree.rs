//! The files of a package, as they lie in the system that it is installed in.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Release;
use super::architecture::{Architecture, Linkage};
use super::licences;
use crate::process;

/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/shoal"),
    ("zsh", "usr/share/zsh/vendor-completions/_shoal"),
    ("fish", "usr/share/fish/vendor_completions.d/shoal.fish"),
];
/// What is in the repository as it is installed: it belongs to no array.
const AS_IT_IS: [(&str, &str); 3] = [
    ("packaging/shoal-array@.service", "usr/lib/systemd/system"),
    ("packaging/shoal-hot-plug@.service", "usr/lib/systemd/system"),
    ("packaging/63-shoal.rules", "usr/lib/udev/rules.d"),
];
const MANUAL: &str = "usr/share/man/man1";
const DOCUMENTS: &str = "usr/share/doc/shoal";

/// Lays out the files below an empty folder. `own` is the program in a form that runs here, which
/// writes its manual.
///
/// # Errors
/// A file cannot be read or written, or the program does not run.
pub(super) fn lay_out(
    root: &Path,
    folder: &Path,
    program: &Path,
    own: &Path,
    architecture: Architecture,
    release: &Release,
) -> Result<()> {
    put(folder, "usr/bin/shoal", &std::fs::read(program).with_context(|| program.display().to_string())?, 0o755)?;
    let manual = folder.join(MANUAL);
    process::stdout_of(Command::new(own).arg("man").arg(&manual))?;
    for page in files_of(&manual)? {
        compress(&page)?;
    }
    for (shell, path) in COMPLETIONS {
        put(folder, path, process::stdout_of(Command::new(own).args(["completions", shell]))?.as_bytes(), 0o644)?;
    }
    for (path, directory) in AS_IT_IS {
        let name = Path::new(path).file_name().context("a file has a name")?;
        let content = std::fs::read(root.join(path)).with_context(|| path.to_owned())?;
        put(folder, Path::new(directory).join(name), &content, 0o644)?;
    }
    let overrides = std::fs::read(root.join("packaging/lintian-overrides"))?;
    put(folder, "usr/share/lintian/overrides/shoal", &overrides, 0o644)?;
    let document = |name: &str| Path::new(DOCUMENTS).join(name);
    let licences = licences::text(root, architecture, Linkage::Dynamic)?;
    put(folder, document("copyright"), licences.as_bytes(), 0o644)?;
    put(folder, document("changelog"), &std::fs::read(root.join("CHANGELOG.md"))?, 0o644)?;
    put(folder, document("changelog.Debian"), release.debian_changelog().as_bytes(), 0o644)?;
    compress(&folder.join(document("changelog")))?;
    compress(&folder.join(document("changelog.Debian")))
}

/// The folder of a program that needs nothing: what it can do without a system that knows where to
/// look.
///
/// # Errors
/// A file cannot be read or written.
pub(super) fn lay_out_static(root: &Path, folder: &Path, program: &Path, architecture: Architecture) -> Result<()> {
    put(folder, "shoal", &std::fs::read(program).with_context(|| program.display().to_string())?, 0o755)?;
    let licences = licences::text(root, architecture, Linkage::Static)?;
    put(folder, "LICENCES", licences.as_bytes(), 0o644)?;
    for name in ["README.md", "CHANGELOG.md"] {
        put(folder, name, &std::fs::read(root.join(name)).with_context(|| name.to_owned())?, 0o644)?;
    }
    Ok(())
}

/// The files below a folder, in order.
pub(super) fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_of(&path)?) } else { files.push(path) }
    }
    files.sort();
    Ok(files)
}

/// Writes a file, with the directories that lead to it, readable for everybody.
pub(super) fn put(folder: &Path, path: impl AsRef<Path>, content: &[u8], mode: u32) -> Result<()> {
    let path = folder.join(path);
    let directory = path.parent().context("a file lies in a directory")?;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(std::fs::set_permissions(&path, Permissions::from_mode(mode))?)
}

/// As small as it gets, and the same each time.
fn compress(path: &Path) -> Result<()> {
    process::pass(Command::new("gzip").args(["--best", "--no-name"]).arg(path))
}
