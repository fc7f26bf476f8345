#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use shoal_lab::Share;

use super::*;

/// The program that the tests of this tier were built with, without what a debugger reads, in a
/// package.
fn package_of_tests(root: &Path, directory: &Path) -> Option<PathBuf> {
    let architecture = Architecture::native()?;
    let program = crate::target_directory(root).join("debug/shoal");
    if !program.is_file() || !process::is_installed("dpkg-deb") {
        println!("SKIPPED: a package: needs dpkg-deb, and {} as cargo nextest builds it", program.display());
        return None;
    }
    let stripped = directory.join("shoal");
    process::pass(Command::new("strip").arg("-o").arg(&stripped).arg(&program)).unwrap();
    let release = Release { version: "0.0.1", written_s: 0, written: "Thu, 01 Jan 1970 00:00:00 +0000".to_owned() };
    let folder = directory.join("files");
    tree::lay_out(root, &folder, &stripped, &program, architecture, &release).unwrap();
    Some(deb::pack(root, &folder, directory, architecture, &release).unwrap())
}

/// Each of the suites is one case of a [`Share`].
fn installs_on(number: usize, suite: &str) {
    if !Share::from_environment().has(number) {
        println!("{suite} is not in this share of the suites: leave out SHOAL_SHARE for all");
        return;
    }
    let (root, directory) = (crate::repository(), tempfile::tempdir().unwrap());
    let Some(package) = package_of_tests(&root, directory.path()) else { return };
    let architecture = Architecture::native().expect("there is a package for it");
    roots::install(&root, &package, architecture, suite).unwrap();
}

#[test]
fn needs_root_network_package_is_installed_and_purged_on_debian_12() {
    installs_on(0, "bookworm");
}

#[test]
fn needs_root_network_package_is_installed_and_purged_on_debian_13() {
    installs_on(1, "trixie");
}

#[test]
fn needs_root_network_package_is_installed_and_purged_on_ubuntu_24_04() {
    installs_on(2, "noble");
}

#[test]
fn the_package_is_told_about_in_debians_form() {
    let release = Release { version: "1.2.3", written_s: 0, written: "Thu, 01 Jan 1970 00:00:00 +0000".to_owned() };
    let changelog = release.debian_changelog();
    assert!(changelog.starts_with("shoal (1.2.3-1) unstable; urgency=medium\n\n  * "), "{changelog}");
    assert!(changelog.ends_with(">  Thu, 01 Jan 1970 00:00:00 +0000\n"), "{changelog}");
}
