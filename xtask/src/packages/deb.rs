//! A Debian package out of its files, by dpkg-deb, and what lintian says of it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Release;
use super::architecture::{Architecture, GLIBC};
use super::tree::{files_of, put};
use crate::process;

/// The time that Linux counts in 64 bits, Debian 13 and Ubuntu 24.04 count so on armhf too. A
/// function that takes or gives a time means something else there, so a program that is to run on
/// both must call none of these.
const TAKE_TIMES: [&str; 7] = [
    "ASN1_TIME_set",
    "ASN1_TIME_adj",
    "ASN1_UTCTIME_set",
    "ASN1_GENERALIZEDTIME_set",
    "X509_cmp_time",
    "X509_VERIFY_PARAM_set_time",
    "ASN1_TIME_cmp_time_t",
];

/// Scripts that dpkg runs.
const SCRIPTS: [&str; 2] = ["prerm", "postrm"];

/// Packs the files below `folder`, with what dpkg wants to know of them, into
/// `DIR/shoal_VERSION_ARCH.deb`.
///
/// # Errors
/// dpkg-deb is missing or does not like it; the program asks more of its libraries than the oldest
/// system has.
pub(super) fn pack(
    root: &Path,
    folder: &Path,
    directory: &Path,
    architecture: Architecture,
    release: &Release,
) -> Result<PathBuf> {
    check_symbols(&folder.join("usr/bin/shoal"), architecture)?;
    let files = files_of(folder)?;
    let mut size_kib = 0;
    let mut sums = String::new();
    for file in &files {
        size_kib += file.metadata()?.len().div_ceil(1024);
        let name = file.strip_prefix(folder)?;
        sums += &process::stdout_of(Command::new("md5sum").arg(name).current_dir(folder))?;
    }
    put(folder, "DEBIAN/md5sums", sums.as_bytes(), 0o644)?;
    put(folder, "DEBIAN/control", control(root, architecture, release, size_kib)?.as_bytes(), 0o644)?;
    for name in SCRIPTS {
        let script = std::fs::read(root.join("packaging").join(name)).with_context(|| name.to_owned())?;
        put(folder, Path::new("DEBIAN").join(name), &script, 0o755)?;
    }
    make_readable(folder)?;
    let path = directory.join(format!("shoal_{}_{}.deb", release.debian_version(), architecture.debian()));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(folder).arg(&path);
    dpkg.env("SOURCE_DATE_EPOCH", release.written_s.to_string());
    process::stdout_of(&mut dpkg)?;
    Ok(path)
}

/// Whatever the umask of whoever builds is.
fn make_readable(folder: &Path) -> Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            make_readable(&path)?;
        }
    }
    Ok(())
}

fn control(root: &Path, architecture: Architecture, release: &Release, size_kib: u64) -> Result<String> {
    let path = root.join("packaging/control");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let text = text.replace("@VERSION@", &release.debian_version()).replace("@GLIBC@", GLIBC);
    Ok(text.replace("@ARCHITECTURE@", architecture.debian()).replace("@SIZE@", &size_kib.to_string()))
}

/// Holds what the program asks of its libraries against what the oldest system has.
fn check_symbols(program: &Path, architecture: Architecture) -> Result<()> {
    use object::{Object, ObjectSymbol};

    let bytes = std::fs::read(program)?;
    let file = object::File::parse(&*bytes).with_context(|| format!("{} is no program", program.display()))?;
    let imported = |name: &str| file.dynamic_symbols().any(|it| it.is_undefined() && it.name() == Ok(name));
    let found: Vec<_> = TAKE_TIMES.into_iter().filter(|name| imported(name)).collect();
    if architecture == Architecture::Armhf && !found.is_empty() {
        bail!(
            "{} calls {}: on armhf such a time has 32 bits in Debian 12 and 64 in Debian 13",
            program.display(),
            found.join(", ")
        );
    }
    Ok(())
}

/// What Debian's own reader of packages finds wrong with it: nothing, or it is an error. Says so if
/// it is not there.
///
/// # Errors
/// What it finds.
pub(super) fn lint(package: &Path) -> Result<()> {
    if !process::is_installed("lintian") {
        println!("SKIPPED: {} by lintian's reading: needs lintian", package.display());
        return Ok(());
    }
    let mut lintian = Command::new("lintian");
    lintian.args(["--fail-on", "error,warning", "--allow-root", "--no-cfg"]).arg(package);
    let output = process::capture(&mut lintian)?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        bail!("lintian objects to {}", package.display());
    }
    Ok(())
}
