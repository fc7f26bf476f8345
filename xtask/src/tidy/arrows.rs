//! Which crate uses which: what cargo says, held against what ARCHITECTURE.md allows.

use super::ARCHITECTURE;
use super::documents::Rules;
use super::finding::Finding;
use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::BTreeSet;
use std::path::Path;

/// What stands before the name of each library crate.
const PREFIX: &str = "shoal-";

/// A package of the workspace and what it names in its manifest.
#[derive(Debug)]
pub(super) struct Package {
    /// Short name: without the prefix.
    pub name: String,
    /// Manifest, from the root of the repository.
    pub manifest: String,
    /// Everything it depends on.
    pub uses: Vec<Use>,
}

/// One dependency of a package.
#[derive(Debug)]
pub(super) struct Use {
    /// Short name for a crate of the workspace, full name otherwise.
    pub name: String,
    /// Whether it belongs to the workspace.
    pub is_ours: bool,
    /// Whether only tests and benchmarks use it.
    pub is_for_tests: bool,
}

/// Asks cargo for all packages of the workspace.
pub(super) fn read_packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo does not tell what depends on what")?;
    let packages = metadata.packages.iter().map(|package| Package {
        name: short(&package.name),
        manifest: package.manifest_path.strip_prefix(root).unwrap_or(&package.manifest_path).to_string(),
        uses: package
            .dependencies
            .iter()
            .map(|dependency| Use {
                name: if dependency.path.is_some() { short(&dependency.name) } else { dependency.name.clone() },
                is_ours: dependency.path.is_some(),
                is_for_tests: dependency.kind == DependencyKind::Development,
            })
            .collect(),
    });
    Ok(packages.collect())
}

fn short(name: &str) -> String {
    name.strip_prefix(PREFIX).unwrap_or(name).to_owned()
}

/// Every arrow and dependency that the rules do not know, and every rule that nothing needs.
pub(super) fn check(rules: &Rules, packages: &[Package]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = packages.iter().flat_map(|package| check_package(rules, package)).collect();
    let present: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    for name in rules.crates.keys().filter(|name| !present.contains(name.as_str())) {
        findings.push(stale(format!("crate `{name}` is described but not there")));
    }
    for (dependency, users) in &rules.dependencies {
        for user in users {
            let is_used = packages
                .iter()
                .any(|package| package.name == *user && package.uses.iter().any(|used| used.name == *dependency));
            if !is_used {
                findings.push(stale(format!("`{user}` does not use `{dependency}`")));
            }
        }
    }
    findings
}

fn check_package(rules: &Rules, package: &Package) -> Vec<Finding> {
    let finding = |what: String, why: &str, mend: &str| Finding {
        path: package.manifest.clone(),
        line: 0,
        what,
        why: why.to_owned(),
        mend: mend.to_owned(),
    };
    let Some(allowance) = rules.crates.get(&package.name) else {
        let what = format!("crate `{}` is not in the table of crates", package.name);
        return vec![finding(what, "a reader learns the shape there", "describe it in ARCHITECTURE.md")];
    };
    let mut findings = Vec::new();
    for used in &package.uses {
        let is_allowed = if used.is_ours {
            allowance.code.contains(&used.name) || (used.is_for_tests && allowance.tests.contains(&used.name))
        } else {
            rules.dependencies.get(&used.name).is_some_and(|users| users.contains(&package.name))
        };
        if is_allowed {
            continue;
        }
        let what = format!("`{}` uses `{}`", package.name, used.name);
        findings.push(if used.is_ours {
            finding(what, "arrows point to purer crates only", "move the code, or invert the arrow with a trait")
        } else {
            let mend = "do without, or give the reason in ARCHITECTURE.md, Dependencies";
            finding(what, "each dependency has a reason, and users that need it", mend)
        });
    }
    findings
}

fn stale(what: String) -> Finding {
    let why = "a document that is wrong once is not believed again".to_owned();
    Finding { path: ARCHITECTURE.to_owned(), line: 0, what, why, mend: "take it out of the table".to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::documents::{SAMPLE, parse};
    use super::*;

    fn used(name: &str, is_ours: bool, is_for_tests: bool) -> Use {
        Use { name: name.to_owned(), is_ours, is_for_tests }
    }

    fn package(name: &str, uses: Vec<Use>) -> Package {
        Package { name: name.to_owned(), manifest: format!("crates/{name}/Cargo.toml"), uses }
    }

    /// The workspace that the sample describes.
    fn workspace() -> Vec<Package> {
        vec![
            package("pure", vec![]),
            package("real", vec![used("pure", true, false), used("clap", false, false), used("fake", true, true)]),
            package("fake", vec![used("pure", true, false), used("clap", false, true)]),
        ]
    }

    fn found(packages: &[Package]) -> Vec<String> {
        check(&parse(SAMPLE).unwrap(), packages).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_the_document_describes_is_fine() {
        assert!(found(&workspace()).is_empty());
    }

    #[test]
    fn an_arrow_against_the_grain_is_found() {
        let mut packages = workspace();
        packages[0].uses.push(used("real", true, false));
        assert_eq!(found(&packages), ["`pure` uses `real`"]);
    }

    #[test]
    fn what_tests_may_use_code_may_not() {
        let mut packages = workspace();
        packages[1].uses.push(used("fake", true, false));
        assert_eq!(found(&packages), ["`real` uses `fake`"]);
    }

    #[test]
    fn an_unexplained_dependency_is_found_in_code_and_in_tests() {
        let mut packages = workspace();
        packages[0].uses.push(used("clap", false, true));
        packages[1].uses.push(used("leftpad", false, false));
        assert_eq!(found(&packages), ["`pure` uses `clap`", "`real` uses `leftpad`"]);
    }

    #[test]
    fn rows_without_a_crate_or_a_user_are_stale_and_crates_without_a_row_are_found() {
        let mut packages = workspace();
        packages[2].uses.clear();
        assert_eq!(found(&packages), ["`fake` does not use `clap`"]);
        packages.pop();
        packages.push(package("other", vec![]));
        let expected = ["crate `other` is not in the table of crates", "crate `fake` is described but not there"];
        assert_eq!(found(&packages)[..2], expected);
    }
}
