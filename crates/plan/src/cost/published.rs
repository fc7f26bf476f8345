//! Every cost figure that the studies print, in the order of their tables, beside what it comes out
//! as here.
//!
//! A figure is an input (a price that somebody asked for), or derived from inputs; then `how` has
//! the sum, and the tolerance says how the study rounded.

use super::{ARRAYS_2004, DISKS_2004, Purchase, SSDS_2008, cents_per_tb, price_ratio, usd_per_gb, usd_per_tb};
use crate::units::{CENTS_PER_USD, GB, TB};

/// How a figure relates to what was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostKind {
    /// It was put in: a price that was asked for.
    Input,
    /// It comes out.
    Derived,
}

/// How a printed figure is to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Within half of the last digit printed: the unit of that digit.
    Rounded(f64),
    /// "Less than", "at most".
    Below,
    /// "Over", "anywhere from".
    Above,
}

/// One printed figure, and what it is here.
#[derive(Clone, Debug, PartialEq)]
pub struct CostFigure {
    /// The study.
    pub study: &'static str,
    /// What the figure is of.
    pub configuration: &'static str,
    /// What it measures.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// As printed.
    pub published: f64,
    /// As it is here.
    pub ours: f64,
    /// How the printed one is to be read.
    pub tolerance: Tolerance,
    /// Put in, or come out.
    pub kind: CostKind,
    /// The sum, or the source.
    pub how: &'static str,
}

impl CostFigure {
    /// Whether ours is what was printed, read as it was meant.
    pub fn agrees(&self) -> bool {
        match self.tolerance {
            Tolerance::Rounded(unit) => (self.ours - self.published).abs() <= unit / 2.0 + 1e-9,
            Tolerance::Below => self.ours < self.published,
            Tolerance::Above => self.ours >= self.published,
        }
    }
}

/// The computer of the `eide` study without its array: 1400 USD.
const BASE_CENTS: u64 = 1_400 * CENTS_PER_USD;
/// The software RAID5 of eight disks of 250 GB.
pub(crate) const EIDE_SOFTWARE: Purchase = Purchase { base_cents: BASE_CENTS, drives_cents: 2_300 * CENTS_PER_USD };
/// The hardware RAID5 of twelve disks of 250 GB.
pub(crate) const EIDE_HARDWARE: Purchase = Purchase { base_cents: BASE_CENTS, drives_cents: 3_800 * CENTS_PER_USD };
/// What each disk of the `eide` study's arrays holds.
const EIDE_DISK_BYTES: u64 = 250 * GB;
/// "2000 USD per terabyte": the study's round figure for its own arrays, which it compares others
/// with.
const PARTS_CENTS_PER_TB: u64 = 2_000 * CENTS_PER_USD;
/// A stick of the `cruzer` study: 20 USD for 2 GB.
const STICK_CENTS: u64 = 20 * CENTS_PER_USD;

/// All of them.
pub fn published_cost_figures() -> Vec<CostFigure> {
    let mut figures = sticks();
    figures.extend(disks());
    figures.extend(own_arrays());
    figures.extend(fibre_channel());
    figures.extend(commercial());
    figures
}

fn input(
    study: &'static str,
    configuration: &'static str,
    metric: &'static str,
    unit: &'static str,
    value: f64,
    how: &'static str,
) -> CostFigure {
    let tolerance = Tolerance::Rounded(0.0);
    CostFigure {
        study,
        configuration,
        metric,
        unit,
        published: value,
        ours: value,
        tolerance,
        kind: CostKind::Input,
        how,
    }
}

fn sticks() -> Vec<CostFigure> {
    let array = cents_per_tb(6 * STICK_CENTS, 12 * GB).expect("it holds something");
    let against_ssd = price_ratio(array, SSDS_2008[0].cents_per_tb).expect("an SSD has a price");
    vec![
        input("cruzer", "one drive", "street price", "USD", 20.0, "the author's shop"),
        CostFigure {
            study: "cruzer",
            configuration: "array against SSDs",
            metric: "cost relative to most current SSDs (less than)",
            unit: "fraction",
            published: 0.5,
            ours: against_ssd,
            tolerance: Tolerance::Below,
            kind: CostKind::Derived,
            how: "6 x 20 USD / 12 GB = 10 USD/GB, over 23 USD/GB for an SSD of 2008 (any above 20 USD/GB bears it out)",
        },
    ]
}

fn disks() -> Vec<CostFigure> {
    let table = DISKS_2004
        .iter()
        .map(|disk| input("eide", disk.name, "cost per GB", "USD/GB", usd_per_gb(disk.cents_per_tb), disk.source));
    let mut figures: Vec<_> = table.collect();
    let mut prices: Vec<_> = DISKS_2004.iter().map(|disk| disk.cents_per_tb).collect();
    prices.sort_unstable();
    figures.push(CostFigure {
        study: "eide",
        configuration: "IDE disks (less than)",
        metric: "price",
        unit: "USD/GB",
        published: 1.0,
        ours: usd_per_gb(prices[prices.len() / 2]),
        tolerance: Tolerance::Below,
        kind: CostKind::Derived,
        how: "the middle of table 1; five of its six disks are below 1 USD/GB, the Hitachi is at 1.10",
    });
    figures
}

/// What the study's own arrays cost for each TB that so many of their disks hold.
fn usd_of_each_tb(purchase: Purchase, disks: u64) -> f64 {
    usd_per_tb(purchase.cents_per_tb(disks * EIDE_DISK_BYTES).expect("disks hold something"))
}

fn own_arrays() -> Vec<CostFigure> {
    let base = BASE_CENTS as f64 / CENTS_PER_USD as f64;
    let round_figure = derived(
        ("commodity IDE arrays", "parts cost", "USD/TB"),
        (2_000.0, usd_of_each_tb(EIDE_HARDWARE, 11), 1_000.0),
        "both arrays of the study, 1850 and 1891 USD a TB, to one digit",
    );
    let software = usd_of_each_tb(EIDE_SOFTWARE, 8);
    let hardware = usd_of_each_tb(EIDE_HARDWARE, 11);
    let mut figures = vec![round_figure, input("eide", "base system", "cost", "USD", base, "the study's sum of parts")];
    figures.extend(own_array(
        ("software RAID5, 8 disks", EIDE_SOFTWARE),
        (3_700.0, "1400 + 2300"),
        (1_850.0, software),
        "3700 USD / 2.0 TB: all eight disks of 250 GB, parity counted as capacity; per usable TB it is 2114",
    ));
    figures.extend(own_array(
        ("hardware RAID5, 12 disks", EIDE_HARDWARE),
        (5_200.0, "1400 + 3800"),
        (1_890.0, hardware),
        "5200 USD / 2.75 TB: eleven of twelve disks of 250 GB, what RAID5 leaves",
    ));
    figures
}

/// The three figures of one array: what was paid over the base, in all, and for each TB.
fn own_array(
    (configuration, purchase): (&'static str, Purchase),
    (total, sum): (f64, &'static str),
    (published, ours): (f64, f64),
    how: &'static str,
) -> [CostFigure; 3] {
    let usd = |cents: u64| cents as f64 / CENTS_PER_USD as f64;
    [
        input("eide", configuration, "cost over base", "USD", usd(purchase.drives_cents), "the study's sum of parts"),
        derived((configuration, "total cost", "USD"), (total, usd(purchase.total_cents()), 100.0), sum),
        derived((configuration, "cost per TB", "USD/TB"), (published, ours, 10.0), how),
    ]
}

/// A figure that comes out, with the unit that the study rounded it to.
fn derived(
    (configuration, metric, unit): (&'static str, &'static str, &'static str),
    (published, ours, rounding): (f64, f64, f64),
    how: &'static str,
) -> CostFigure {
    let tolerance = Tolerance::Rounded(rounding);
    CostFigure { study: "eide", configuration, metric, unit, published, ours, tolerance, kind: CostKind::Derived, how }
}

fn fibre_channel() -> Vec<CostFigure> {
    let how = "the study's word";
    vec![
        input("eide", "FC-AL PCI card", "price", "USD", 500.0, how),
        input("eide", "16-port fabric switch", "price", "USD", 15_000.0, how),
        input("eide", "16-port fabric switch", "ports", "count", 16.0, how),
    ]
}

fn commercial() -> Vec<CostFigure> {
    let ratio = |offer: &super::Offer| price_ratio(offer.cents_per_tb, PARTS_CENTS_PER_TB).expect("parts have a price");
    let lowest = ratio(&ARRAYS_2004[0]);
    let highest = ratio(&ARRAYS_2004[ARRAYS_2004.len() - 1]);
    let derived = |configuration, published, ours, how| CostFigure {
        study: "eide",
        configuration,
        metric: "price ratio to own array",
        unit: "ratio",
        published,
        ours,
        tolerance: Tolerance::Above,
        kind: CostKind::Derived,
        how,
    };
    let mut figures = vec![
        derived("commercial systems, low", 1.5, lowest, "Apple's 3.14 USD/GB over the own array's 2000 USD/TB"),
        derived(
            "commercial systems, high (over)",
            18.0,
            highest,
            "Sun's 36.57 USD/GB over the own array's 2000 USD/TB",
        ),
    ];
    for array in &ARRAYS_2004 {
        let capacity_tb = array.size_bytes as f64 / TB as f64;
        figures.push(input("eide", array.name, "capacity", "TB", capacity_tb, array.source));
        figures.push(input("eide", array.name, "price per GB", "USD/GB", usd_per_gb(array.cents_per_tb), array.source));
    }
    figures
}
