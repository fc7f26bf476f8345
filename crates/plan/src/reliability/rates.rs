//! How often drives fail: published rates, with their sources and dates.

/// A published, or assumed, rate of failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureRate {
    /// What it is called in `--failures`.
    pub name: &'static str,
    /// Chance that a drive fails within a year.
    pub yearly: f64,
    /// Who measured it, on what, when.
    pub source: &'static str,
}

const fn rate(name: &'static str, yearly: f64, source: &'static str) -> FailureRate {
    FailureRate { name, yearly, source }
}

/// All of them. `backblaze-disks`, `backblaze-ssds` and `sticks` are taken for drives that say
/// nothing themselves.
pub const PRESETS: [FailureRate; 6] = [
    // 1 - 0.75^(1/3)
    rate("eide", 0.091_440, "`eide` study: over 25 % of 40 EIDE disks failed within 3 years (2001 to 2004)"),
    rate("backblaze-disks", 0.015_7, "Backblaze Drive Stats: 1.57 % of about 300,000 disks in 2024"),
    rate("backblaze-ssds", 0.009_0, "Backblaze Drive Stats, SSD edition: 0.90 % of 3144 SSDs, 2018 to June 2023"),
    rate("schroeder-2007", 0.03, "Schroeder and Gibson, FAST 2007: 2 to 4 % of 100,000 disks replaced a year"),
    rate("google-2007", 0.086, "Pinheiro, Weber and Barroso, FAST 2007: 8.6 % of disks in their third year"),
    rate("sticks", 0.05, "an assumption: nobody publishes failures of USB sticks and cards"),
];

/// The rate of this name.
pub fn find_rate(name: &str) -> Option<FailureRate> {
    PRESETS.into_iter().find(|rate| rate.name == name)
}

/// Which fraction of a drive's failures is taken to strike all of its bus: the middle, on a
/// logarithmic scale, of the 1 to 10 % of IEC 61508-6, annex D. An assumption.
pub const fn shared_cause() -> f64 {
    0.03
}

/// The constant rate, in failures a year, that makes a drive fail within a year with this chance.
pub fn yearly_rate(probability: f64) -> f64 {
    -(-probability).ln_1p()
}

/// The chance to fail within a year at a constant rate.
pub fn yearly_probability(rate: f64) -> f64 {
    -(-rate).exp_m1()
}
