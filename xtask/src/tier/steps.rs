//! The steps of each tier. What proves what is in CONTRIBUTING.md, in the same words.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use super::Tier;

/// A command, and what to call it.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    pub(super) arguments: Vec<String>,
    /// Where it runs, below the root of the repository.
    pub(super) directory: &'static str,
    pub(super) environment: Vec<(&'static str, String)>,
}

/// Tests whose size is a setting: short in `make test`, in full among the proofs.
const SIZED: &str = "test(=seeds_are_clean) + test(/^engine_properties::/)";

/// The proofs run one part in so many of what has many cases: the kernel's cells (shapes, states,
/// power cuts), the places at which stories of power cuts are cut, arrays of throttled sticks,
/// systems that packages are installed on. Another part each day; `make long` runs all. They would
/// take longer than all other proofs together.
const SHARES: u64 = 5;

/// Planted bugs that the hunter finds within some dozen seeds: of engine, superblocks, hangs,
/// outages and misuse.
const FOUND_SOON: &[&str] = &[
    "order-overtaken",
    "silence-endured",
    "lost-power-untold",
    "failed-recorded",
    "member-made-spare",
    "replaced-by-member",
    "bitmap-set-late",
    "marked-late",
    "rebuild-ahead",
    "flush-one-member",
];

impl Step {
    fn new(name: &'static str, command: &str) -> Self {
        let mut words = command.split_whitespace();
        let program = if words.next() == Some("npm") { "npm" } else { "cargo" };
        let arguments = words.map(str::to_owned).collect();
        Self { name, program, arguments, directory: ".", environment: Vec::new() }
    }

    fn with(mut self, variable: &'static str, value: impl ToString) -> Self {
        self.environment.push((variable, value.to_string()));
        self
    }

    fn and(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The command as it can be typed.
    pub(super) fn words(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let quoted = |argument: &String| match argument.contains(' ') {
            true => format!("'{argument}'"),
            false => argument.clone(),
        };
        let words = variables.chain([self.program.to_owned()]).chain(self.arguments.iter().map(quoted));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Where cargo-nextest reports on the tests of this step, if it runs any.
    pub(super) fn junit(&self, root: &Path) -> Option<PathBuf> {
        let runs_tests = self.arguments.first().is_some_and(|first| first == "nextest");
        let profile = self.arguments.iter().skip_while(|argument| *argument != "--profile").nth(1);
        let profile = profile.map_or("default", String::as_str);
        runs_tests.then(|| crate::target_directory(root).join("nextest").join(profile).join("junit.xml"))
    }
}

/// The steps of a tier, in their order: what fails soonest comes first.
///
/// # Errors
/// The clock stands before 1970.
pub(super) fn of(tier: Tier) -> Result<Vec<Step>> {
    Ok(match tier {
        Tier::Test => test(seed_of_the_day()?),
        Tier::Proofs => proofs(seed_of_the_day()?),
        Tier::Long => long(seed_of_the_day()?),
    })
}

fn test(seed: u64) -> Vec<Step> {
    vec![
        Step::new("format", "cargo fmt --all --check"),
        Step::new("lock of the fuzz targets", "cargo fetch --locked --quiet --manifest-path fuzz/Cargo.toml"),
        Step::new("lints", "cargo clippy --workspace --all-targets --locked -- --deny warnings"),
        Step::new("tidy", "cargo xtask tidy"),
        Step::new("purity", "cargo xtask purity"),
        Step::new("web", "cargo xtask web"),
        Step::new("tests", "cargo nextest run --workspace --locked")
            .with("SHOAL_SEEDS", 300)
            .with("SHOAL_OPERATIONS", 100_000)
            .with("SHOAL_SEED", seed),
        Step::new("fuzz corpus", "cargo xtask fuzz corpus"),
        Step::new("planted", "cargo xtask planted bitmap-set-late"),
    ]
}

fn proofs(seed: u64) -> Vec<Step> {
    vec![
        Step::new("proofs", "cargo nextest run --profile proofs --workspace --locked --ignore-default-filter")
            .and(&["-E", &format!("(not default()) + {SIZED}")])
            .with("SHOAL_SEEDS", 500)
            .with("SHOAL_SHARE", format!("{}/{SHARES}", seed % SHARES))
            .with("SHOAL_ORDERS", 1),
        Step::new("examples", "cargo test --doc --workspace --locked"),
        Step::new("planted", "cargo xtask planted").and(FOUND_SOON),
        Step::new("fuzz", "cargo xtask fuzz"),
        Step::new("documentation", "cargo doc --workspace --no-deps --locked").with("RUSTDOCFLAGS", "--deny=warnings"),
        Step::new("aarch64", "cargo xtask aarch64"),
        Step::new("narrow", "cargo xtask narrow"),
    ]
}

fn long(seed: u64) -> Vec<Step> {
    vec![
        Step::new("kernel", "cargo nextest run --profile proofs --workspace --locked --ignore-default-filter")
            .and(&["-E", "test(/needs_(kernel_(every|power|ppl)|bus_sticks_do)/) + test(/^files::(sqlite|postgres)/)"])
            .with("SHOAL_CUTS", 50)
            .with("SHOAL_LOADS", "long"),
        Step::new("power cuts", "cargo nextest run --profile proofs -p shoal-volume --locked")
            .and(&["--ignore-default-filter", "-E", "test(/^power_cuts::/)"])
            .with("SHOAL_ORDERS", 30),
        Step::new("engine", "cargo nextest run --release -p shoal-array --locked -E")
            .and(&["test(/^engine_properties::/)"])
            .with("SHOAL_SEED", seed)
            .with("SHOAL_OPERATIONS", 10_000_000),
        Step::new("properties", "cargo nextest run --release -p shoal-parity --locked").with("PROPTEST_CASES", 100_000),
        Step::new("planted", "cargo xtask planted"),
        Step::new("stories", "cargo nextest run --profile proofs --workspace --locked --ignore-default-filter")
            .and(&["-E", "test(/^stories::/)"])
            .with("SHOAL_STORIES", 1000),
        Step::new("lab book", "cargo nextest run --workspace --locked --ignore-default-filter")
            .and(&["-E", "package(shoal-labbook) & test(/^killed::/)"])
            .with("SHOAL_KILLS", 200),
        Step::new("swarm", "cargo run --profile hunt --locked -p shoal -- sim swarm --seeds 0..1000000"),
        Step::new("packages", "cargo xtask packages"),
        Step::new("packages installed", "cargo xtask packages test"),
        Step::new("fuzz", "cargo xtask fuzz 14400"),
    ]
}

/// A new seed each day, so that over the days many stories are told. It is printed with the command
/// of its step.
fn seed_of_the_day() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    #[test]
    fn steps_are_commands_that_can_be_typed() {
        for tier in [Tier::Test, Tier::Proofs, Tier::Long] {
            let steps = of(tier).unwrap();
            assert!(steps.iter().all(|step| !step.arguments.is_empty()));
            let mut names: Vec<_> = steps.iter().map(|step| step.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), steps.len(), "{tier:?}");
        }
        let proofs = &of(Tier::Proofs).unwrap()[0];
        let words = proofs.words();
        assert!(words.starts_with("SHOAL_SEEDS=500 SHOAL_SHARE=") && words.contains("-E '(not default())"));
    }

    #[test]
    fn runs_of_tests_have_a_report_by_their_profile() {
        let root = Path::new("/root-of-it");
        let report = |tier, number: usize| of(tier).unwrap()[number].junit(root);
        assert_eq!(report(Tier::Test, 0), None);
        let proofs = report(Tier::Proofs, 0).unwrap();
        assert!(proofs.ends_with("nextest/proofs/junit.xml"), "{}", proofs.display());
    }
}
