//! The licences of everything that is in the program, as one text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use super::architecture::{Architecture, Linkage};

/// What begins the text of the licence that the crates share.
const MIT: &str = "Permission is hereby granted, free of charge";
/// This project's own is that, too.
const OWN: &str = include_str!("../../../LICENSE");
const APACHE: &str = "Apache License, Version 2.0";
/// Where a Debian system has that.
const APACHE_OF_DEBIAN: &str = "/usr/share/common-licenses/Apache-2.0";

const HEAD: &str = "\
shoal: storage arrays out of small drives, in user space, in the format of Linux md.

What is not named below is the work of the shoal authors:

";

/// What no crate is, but linked as well.
const LIBRARIES: &str = "\
The standard library of Rust: MIT or Apache License, Version 2.0.
  Copyright (c) The Rust Project contributors
The unwinder of LLVM (libunwind): Apache License, Version 2.0, with LLVM's exception.
  Copyright (c) 2009-2019 by the contributors listed in CREDITS.TXT of LLVM
SQLite: in the public domain, by its authors' dedication.
The page of a report carries the licences of what is in it.
";
const LIBRARIES_OF_STATIC: &str = "\
The C library musl: MIT.
  Copyright (c) 2005-2020 Rich Felker, et al.
OpenSSL 3: Apache License, Version 2.0.
  Copyright (c) 1998-2026 The OpenSSL Project Authors. Copyright (c) 1995-1998 Eric A. Young, Tim J. Hudson.
";

/// All of them, for one program. Where the system has a licence's text it is named and not copied.
///
/// # Errors
/// A crate says or brings nothing by which it may be passed on.
pub(super) fn text(root: &Path, architecture: Architecture, linkage: Linkage) -> Result<String> {
    let triple = architecture.triple(linkage);
    let features = ["--locked".to_owned(), format!("--filter-platform={triple}")];
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("crates/shoal/Cargo.toml")).other_options(features);
    if linkage == Linkage::Static {
        command.features(CargoOpt::SomeFeatures(vec!["vendored-openssl".to_owned()]));
    }
    let metadata = command.exec().context("cargo says what the program is made of")?;
    let mut text = HEAD.to_owned() + OWN + "\n" + LIBRARIES;
    if linkage == Linkage::Static {
        text += LIBRARIES_OF_STATIC;
    }
    let mut crates: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked(&metadata)? {
        for licence in of_crate(package)? {
            crates.entry(licence).or_default().push(format!("{} {}", package.name, package.version));
        }
    }
    for (licence, names) in crates {
        text += &format!("\n{}\n{}:\n\n{licence}\n", "-".repeat(78), names.join(", "));
    }
    match linkage {
        Linkage::Dynamic => text += &format!("\n{APACHE}: {APACHE_OF_DEBIAN}\n"),
        Linkage::Static => text += &format!("\n{}\n{}", "-".repeat(78), apache(&metadata)?),
    }
    Ok(text)
}

/// The crates of others whose code gets into the program. What only writes code while it is built
/// does not.
fn linked(metadata: &Metadata) -> Result<Vec<&Package>> {
    let resolve = metadata.resolve.as_ref().context("cargo names no dependencies")?;
    let shoal = metadata.packages.iter().find(|package| package.name.as_str() == "shoal").context("no shoal")?;
    let mut found: BTreeSet<&PackageId> = BTreeSet::new();
    let mut open = vec![&shoal.id];
    while let Some(id) = open.pop() {
        let writes_code = metadata[id].targets.iter().any(cargo_metadata::Target::is_proc_macro);
        if writes_code || !found.insert(id) {
            continue;
        }
        let node = resolve.nodes.iter().find(|node| node.id == *id).context("a crate without a node")?;
        let is_linked =
            |kinds: &[cargo_metadata::DepKindInfo]| kinds.iter().any(|it| it.kind == DependencyKind::Normal);
        open.extend(node.deps.iter().filter(|it| is_linked(&it.dep_kinds)).map(|it| &it.pkg));
    }
    let mut packages: Vec<_> = found.into_iter().map(|id| &metadata[id]).filter(|it| it.source.is_some()).collect();
    packages.sort_by_key(|package| (&package.name, &package.version));
    Ok(packages)
}

/// The texts under which a crate is taken: MIT where it is offered, and what comes with it in any
/// case.
fn of_crate(package: &Package) -> Result<Vec<String>> {
    let says = package.license.clone().unwrap_or_default();
    let files = licence_files(package)?;
    let mut texts = Vec::new();
    if says.contains("MIT") {
        texts.push(files.iter().find(|text| has(text, MIT)).cloned().unwrap_or_else(|| mit(package)));
    } else if says.contains("Apache-2.0") {
        texts.push(format!("{APACHE}, which this text ends with"));
    } else if let [text] = &files[..] {
        texts.push(text.clone());
    }
    if says.contains("AND Unicode-3.0") {
        texts.extend(files.iter().find(|text| has(text, "UNICODE LICENSE")).cloned());
    }
    if texts.len() != 1 + says.matches(" AND ").count() {
        let (name, version) = (&package.name, &package.version);
        bail!("{name} {version} says `{says}`, but its licence is not to be found: see xtask/src/packages/licences.rs");
    }
    Ok(texts)
}

/// The licence of a crate that forgot to bring it, with those who have written it.
fn mit(package: &Package) -> String {
    let (_, terms) = OWN.split_once("\n\nPermission").expect("the own licence is this one");
    format!("Copyright (c) {}\n\nPermission{terms}", package.authors.join(", "))
}

/// Whether words are in a text, wherever its lines end.
fn has(text: &str, words: &str) -> bool {
    text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
}

/// What a crate brings, as far as a file's name says so.
fn licence_files(package: &Package) -> Result<Vec<String>> {
    let directory = package.manifest_path.parent().context("a manifest lies in a directory")?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(|| format!("cannot list {directory}"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && ["LICENSE", "LICENCE", "COPYING"].iter().any(|beginning| name.starts_with(beginning)) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// The text that many crates bring and Debian has: for a system that has not.
fn apache(metadata: &Metadata) -> Result<String> {
    for package in &metadata.packages {
        let full = |text: &String| text.contains("TERMS AND CONDITIONS FOR USE") && text.contains("END OF TERMS");
        if let Some(text) = licence_files(package)?.into_iter().find(full) {
            return Ok(text);
        }
    }
    bail!("no crate brings the text of the {APACHE}")
}

/// A text without what editors leave at the end of lines.
fn read(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.trim().lines().map(|line| line.trim_end().to_owned() + "\n").collect())
}
