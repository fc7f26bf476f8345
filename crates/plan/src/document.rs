//! A plan as data: what `--json` prints. Bytes, nanoseconds, cents and milliwatts are integers;
//! chances and years are not. Whoever shows a number formats it.

use schemars::JsonSchema;
use serde::Serialize;

/// Which arrays to make of some drives, the best first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Plan {
    /// What it is for, as `--for` takes it.
    pub purpose: String,
    /// What to do, a sentence each.
    pub advice: Vec<String>,
    /// The drives.
    pub drives: Vec<DriveSheet>,
    /// The best drive alone.
    pub single: SingleSheet,
    /// The arrays, the best first.
    pub arrays: Vec<ArraySheet>,
    /// What else could be bought.
    pub alternatives: Vec<Alternative>,
    /// What all this rests on, a sentence each.
    pub assumptions: Vec<String>,
    /// A study's cost figures beside ours, if one of its presets was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedFigure>,
    /// Everything by chance follows from it.
    pub seed: u64,
}

/// A drive as it went into the plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DriveSheet {
    /// Its model, and a number.
    pub name: String,
    /// Capacity.
    pub size_bytes: u64,
    /// What it hangs on as it was given.
    pub bus: String,
    /// Price in US cents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_cents: Option<u64>,
    /// When that was its price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_date: Option<String>,
    /// Chance to fail within a year.
    pub yearly_failure: f64,
    /// Where that is from.
    pub failure_source: String,
    /// Bits read for each that cannot be.
    pub bits_per_unreadable: f64,
    /// "measured", "published" or "assumed": how its speeds are known.
    pub certainty: String,
    /// Nobody has measured its writes: what is said of them takes it to write as it reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes_as_reads: bool,
}

/// A drive alone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SingleSheet {
    /// Which.
    pub drive: String,
    /// Capacity.
    pub size_bytes: u64,
    /// How fast it is.
    pub speeds: SpeedSheet,
    /// Chance of losing all it holds in a year.
    pub yearly_loss: f64,
}

/// Speeds in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpeedSheet {
    /// 1 MiB requests one after the other, 4 in flight.
    pub sequential_read_bytes_per_s: u64,
    /// The same, writing.
    pub sequential_write_bytes_per_s: u64,
    /// 4 KiB requests anywhere, 32 in flight.
    pub random_read_iops: u64,
    /// The same, writing.
    pub random_write_iops: u64,
}

/// One array.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ArraySheet {
    /// From 1.
    pub rank: u32,
    /// `RAID5 x 6`.
    pub title: String,
    /// In md's words: "5", "10", "linear", "50".
    pub level: String,
    /// In md's words, where the level has a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Of an array of arrays: how many arrays of drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// The better of those tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u32>,
    /// In the order of roles, each with the bus to plug it into.
    pub members: Vec<PlugSheet>,
    /// Drives that stand by.
    pub spares: Vec<PlugSheet>,
    /// How many drives may be lost, in any combination.
    pub redundancy: u32,
    /// Whether it survives as many drives as were asked for.
    pub meets_purpose: bool,
    /// In a sentence, why it stands where it stands.
    pub why: String,
    /// What it holds.
    pub usable_bytes: u64,
    /// What unequal sizes leave unused on its members.
    pub wasted_bytes: u64,
    /// Members, spares, and the computer if its price was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_cents: Option<u64>,
    /// The same for each 10^12 bytes that it holds; a thousandth of it is the cost for each GB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cents_per_usable_tb: Option<u64>,
    /// With all members.
    pub healthy: SpeedSheet,
    /// With one missing; left out if that is the end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<SpeedSheet>,
    /// While one is rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilding: Option<SpeedSheet>,
    /// The rebuild, if nobody uses the array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_ns: Option<u64>,
    /// The rebuild, if it is never left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_under_load_ns: Option<u64>,
    /// How far the speeds may be off, as a fraction.
    pub speed_error: f64,
    /// Chances of loss in a year.
    pub loss: LossSheet,
    /// Years until flash is worn out under the load given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSheet>,
    /// What it draws.
    pub power: PowerSheet,
    /// What is in the way, a sentence each.
    pub limits: Vec<String>,
    /// Why this one may be the wrong answer, a sentence each.
    pub warnings: Vec<String>,
}

/// A drive and where it goes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlugSheet {
    /// The drive.
    pub drive: String,
    /// The bus.
    pub bus: String,
}

/// Chances of loss in a year.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LossSheet {
    /// Of the whole array.
    pub array: f64,
    /// Half of the 95 % interval of that; 0 for a closed form.
    pub array_plus_minus: f64,
    /// Of some blocks, which a rebuild could not read, with the rest there.
    pub blocks: f64,
    /// Half of the 95 % interval of that.
    pub blocks_plus_minus: f64,
    /// Of anything.
    pub anything: f64,
}

/// Years until the first member is worn out.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct WearSheet {
    /// What is written to the array each day.
    pub daily_bytes: u64,
    /// If that is written one after the other.
    pub sequential_years: f64,
    /// If it is written in blocks of 4 KiB anywhere.
    pub small_writes_years: f64,
    /// Bytes written to members for each byte written to the array, one after the other.
    pub level_factor: f64,
    /// The same for small writes.
    pub small_level_factor: f64,
}

/// What an array draws.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PowerSheet {
    /// While all drives start at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_mw: Option<u64>,
    /// While all work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_mw: Option<u64>,
    /// While none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_mw: Option<u64>,
    /// What is too much, and what to do.
    pub problems: Vec<String>,
}

/// Something else that could be bought.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Alternative {
    /// What.
    pub name: String,
    /// Capacity.
    pub size_bytes: u64,
    /// For each 10^12 bytes.
    pub cents_per_tb: u64,
    /// How many times as expensive for its capacity as the first array of the plan; left out if
    /// that has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_ratio: Option<f64>,
    /// How fast it is, where it can be simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speeds: Option<SpeedSheet>,
    /// Where the price is from, with its date.
    pub source: String,
}

/// A printed cost figure, and ours.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PublishedFigure {
    /// What it is of.
    pub configuration: String,
    /// What it measures.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// As printed.
    pub published: f64,
    /// As it comes out.
    pub ours: f64,
    /// "input" or "derived".
    pub kind: String,
    /// Whether ours is what was printed, as it was rounded.
    pub agrees: bool,
    /// The sum, or the source.
    pub how: String,
}
