//! From drives and a purpose to a plan.

use shoal_md::CreateError;
use shoal_sim::{BusKind, HostModel};
use shoal_volume::ArrayLevel;

use crate::arrays::{Arrangement, Capacity, DRIVES_MAX, capacity, sensible_arrangements};
use crate::cost::{Purchase, cents_per_tb};
use crate::document::{
    ArraySheet, DriveSheet, LossSheet, Plan, PlugSheet, PowerSheet, SingleSheet, SpeedSheet, WearSheet,
};
use crate::drives::{Inventory, Writes};
use crate::presets::Preset;
use crate::purpose::{Merits, Purpose, speed_score, throughput};
use crate::reliability::{
    Component, Loss, RepairTimes, Survival, estimate, redundancy_sets, shared_cause, yearly_rate,
};
use crate::speed::{Prediction, Rebuild, Scene, SpeedError, Speeds};
use crate::units::{DAY_S, GB, YEAR_DAYS};
use crate::{advice, alternatives, limits, power, wear, words};

/// The smallest drive that a plan is made for.
const DRIVE_BYTES_MIN: u64 = 64_000_000;

/// What a plan is made of.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The drives.
    pub inventory: Inventory,
    /// What for.
    pub purpose: Purpose,
    /// What is written to the array each day.
    pub daily_write_bytes: u64,
    /// What the supply gives, if that is to be checked.
    pub supply_mw: Option<u64>,
    /// What all of it costs, if that is not the sum of the drives' prices.
    pub purchase: Option<Purchase>,
    /// What the computer costs beside its drives.
    pub base_cents: u64,
    /// How long a failed drive is missing where no spare stands by.
    pub replace_days: f64,
    /// Which fraction of a drive's failures strikes all that hangs on the same hub or supply.
    pub shared_cause: f64,
    /// The computer.
    pub host: HostModel,
    /// The study that this is a plan of.
    pub preset: Option<Preset>,
    /// What was taken of drives and buses of which nobody said it, a sentence each.
    pub taken: Vec<String>,
    /// Everything by chance follows from it.
    pub seed: u64,
    /// How many years are played for each array's chance of loss.
    pub trials: u32,
}

impl PlanRequest {
    /// A plan of these drives with everything else as it is if nobody says otherwise.
    pub fn of(inventory: Inventory) -> Self {
        Self {
            inventory,
            purpose: Purpose::default(),
            daily_write_bytes: 10 * GB,
            supply_mw: None,
            purchase: None,
            base_cents: 0,
            replace_days: 3.0,
            shared_cause: shared_cause(),
            host: HostModel::default(),
            preset: None,
            taken: Vec::new(),
            seed: 1,
            trials: 20_000,
        }
    }
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// One drive, or none.
    #[error("an array takes two drives or more, and {given} was given: name more, as in sim:cruzer-titanium*6@usb2*2")]
    TooFew {
        /// How many.
        given: usize,
    },
    /// More than anybody plugs in.
    #[error("{given} drives are more than the {DRIVES_MAX} that a plan is made for: plan one computer at a time")]
    TooMany {
        /// How many.
        given: usize,
    },
    /// Too small for superblocks, a few chunks and a window of requests.
    #[error("{drive} holds {size_bytes} bytes, and a plan takes 64 MB or more of each drive: leave it out")]
    TooSmall {
        /// Which drive.
        drive: String,
        /// What it holds.
        size_bytes: u64,
    },
    /// Not enough drives to survive that.
    #[error("no array of {drives} drives survives the loss of {survive}: give more drives, or ask for less")]
    Survive {
        /// How many drives.
        drives: usize,
        /// How many are to be survived.
        survive: usize,
    },
    /// A drive that no array can be made of.
    #[error("no array of these drives: {0}")]
    Array(#[from] CreateError),
    /// The simulation failed.
    #[error("speeds cannot be predicted: {0}")]
    Speed(#[from] SpeedError),
}

/// One array with all that is known of it.
pub(crate) struct Planned {
    pub(crate) array: Arrangement,
    pub(crate) capacity: Capacity,
    pub(crate) prediction: Prediction,
    pub(crate) loss: Loss,
}

impl Planned {
    pub(crate) fn merits(&self) -> Merits {
        Merits {
            usable_bytes: self.capacity.usable_bytes,
            speeds: self.prediction.healthy,
            loss: self.loss.anything.estimate,
            redundancy: self.array.redundancy(),
            drives: self.array.drives().count(),
        }
    }
}

/// The best drive alone.
pub(crate) struct Single {
    pub(crate) drive: usize,
    pub(crate) speeds: Speeds,
}

/// Makes the plan.
pub fn plan(request: &PlanRequest) -> Result<Plan, PlanError> {
    let arrangements = candidates(request)?;
    let scene = Scene { inventory: &request.inventory, host: request.host.clone(), seed: request.seed };
    let goal = request.purpose.goal;
    let predictions = scene.arrays(&arrangements, &|speeds| speed_score(goal, speeds));
    let mut planned = Vec::new();
    for (array, prediction) in arrangements.into_iter().zip(predictions) {
        let prediction = prediction?;
        let capacity = array_capacity(&request.inventory, &array, prediction.chunk_bytes)?;
        let loss = loss(request, &array, &capacity, prediction.rebuild);
        planned.push(Planned { array, capacity, prediction, loss });
    }
    planned.sort_by_cached_key(|it| (request.purpose.order(&it.merits()), it.array.title()));
    let single = single(request, &scene)?;
    let sheets: Vec<ArraySheet> =
        (1..).zip(&planned).map(|(rank, it)| sheet(request, &planned[0], &single, it, rank)).collect();
    let alternatives = alternatives::alternatives(&scene, sheets[0].cents_per_usable_tb)?;
    Ok(Plan {
        purpose: request.purpose.to_string(),
        advice: advice::advice(request, &planned, &single, &sheets, &alternatives),
        drives: request.inventory.drives.iter().map(|drive| drive_sheet(&request.inventory, drive)).collect(),
        single: SingleSheet {
            drive: request.inventory.drives[single.drive].name.clone(),
            size_bytes: request.inventory.drives[single.drive].model.size_bytes,
            speeds: speed_sheet(&single.speeds),
            yearly_loss: request.inventory.drives[single.drive].failure.yearly,
        },
        arrays: sheets,
        alternatives,
        assumptions: words::assumptions(request),
        published: request.preset.map(|preset| advice::published(&preset)).unwrap_or_default(),
        seed: request.seed,
    })
}

/// Arrays that can be made, if there are enough drives for what is asked.
fn candidates(request: &PlanRequest) -> Result<Vec<Arrangement>, PlanError> {
    let given = request.inventory.drives.len();
    if given < 2 {
        return Err(PlanError::TooFew { given });
    }
    if given > DRIVES_MAX {
        return Err(PlanError::TooMany { given });
    }
    if let Some(small) = request.inventory.drives.iter().find(|drive| drive.model.size_bytes < DRIVE_BYTES_MIN) {
        return Err(PlanError::TooSmall { drive: small.name.clone(), size_bytes: small.model.size_bytes });
    }
    let arrangements = sensible_arrangements(&request.inventory);
    if arrangements.iter().all(|array| array.redundancy() < request.purpose.survive) {
        return Err(PlanError::Survive { drives: given, survive: request.purpose.survive });
    }
    Ok(arrangements)
}

fn array_capacity(
    inventory: &Inventory,
    array: &Arrangement,
    chunk_bytes: Option<u32>,
) -> Result<Capacity, CreateError> {
    let sizes: Vec<u64> = array.members.iter().map(|&(drive, _)| inventory.drives[drive].model.size_bytes).collect();
    capacity(array.level, &sizes, chunk_bytes.unwrap_or(crate::speed::CHUNKS[0]))
}

/// The drive that does best for the purpose by itself; of equal ones the first.
fn single(request: &PlanRequest, scene: &Scene<'_>) -> Result<Single, SpeedError> {
    let drives = &request.inventory.drives;
    let mut seen: Vec<(&str, Speeds)> = Vec::new();
    let mut best: Option<(f64, Single)> = None;
    for (number, drive) in drives.iter().enumerate() {
        let speeds = match seen.iter().find(|(name, _)| *name == drive.model.name) {
            Some((_, speeds)) => *speeds,
            None => scene.drive(number)?,
        };
        seen.push((&drive.model.name, speeds));
        let merits = Merits {
            usable_bytes: drive.model.size_bytes,
            speeds,
            loss: drive.failure.yearly,
            redundancy: 0,
            drives: 1,
        };
        let score = request.purpose.score(&merits);
        if best.as_ref().is_none_or(|(other, _)| score > *other) {
            best = Some((score, Single { drive: number, speeds }));
        }
    }
    Ok(best.expect("there are drives").1)
}

/// The chance of loss in a year. An array is taken to be in use half of the time while it rebuilds.
fn loss(request: &PlanRequest, array: &Arrangement, capacity: &Capacity, rebuild: Option<Rebuild>) -> Loss {
    let inventory = &request.inventory;
    let member = |&(drive, bus): &(usize, usize)| Component {
        failures_per_year: yearly_rate(inventory.drives[drive].failure.yearly),
        bus: shared_by(inventory, bus),
        unreadable_per_bit: inventory.drives[drive].unreadable_per_bit,
    };
    let used = capacity.used_bytes.iter().copied().max().unwrap_or(0);
    let rebuild_s = rebuild.map_or(0.0, |it| {
        let per_second = |ns: u64| 1e9 / ns.max(1) as f64;
        2.0 / (per_second(it.alone_ns) + per_second(it.under_load_ns))
    });
    let survival = Survival {
        members: array.members.iter().map(member).collect(),
        sets: redundancy_sets(array.level, array.members.len(), used),
        spares: array.spares.len(),
        replace_years: request.replace_days / YEAR_DAYS,
        rebuild_years: rebuild_s / DAY_S / YEAR_DAYS,
        repair_times: RepairTimes::Fixed,
        shared_cause: request.shared_cause,
    };
    estimate(&survival, 1.0, request.trials, request.seed)
}

/// What goes down together: the drives of a USB bus hang on one hub, all others on the computer's
/// supply.
fn shared_by(inventory: &Inventory, bus: usize) -> usize {
    match inventory.buses[bus].kind {
        BusKind::Usb2 | BusKind::Usb3 => bus + 1,
        _ => 0,
    }
}

fn drive_sheet(inventory: &Inventory, drive: &crate::drives::PlannedDrive) -> DriveSheet {
    let (price_cents, price_date) = drive.price.clone().unzip();
    DriveSheet {
        name: drive.name.clone(),
        size_bytes: drive.model.size_bytes,
        bus: inventory.bus_name(drive.bus),
        price_cents,
        price_date,
        yearly_failure: drive.failure.yearly,
        failure_source: drive.failure.source.clone(),
        bits_per_unreadable: 1.0 / drive.unreadable_per_bit,
        certainty: format!("{:?}", drive.certainty).to_lowercase(),
        writes_as_reads: drive.writes == Writes::AsReads,
    }
}

pub(crate) fn speed_sheet(speeds: &Speeds) -> SpeedSheet {
    SpeedSheet {
        sequential_read_bytes_per_s: speeds.sequential_read_bytes_per_s,
        sequential_write_bytes_per_s: speeds.sequential_write_bytes_per_s,
        random_read_iops: speeds.random_read_iops,
        random_write_iops: speeds.random_write_iops,
    }
}

/// What an array costs: what was paid for all of it, or its drives' prices if all have one.
fn cost_cents(request: &PlanRequest, array: &Arrangement) -> Option<u64> {
    match request.purchase {
        Some(purchase) => Some(purchase.total_cents()),
        None => {
            let price = |(drive, _): (usize, usize)| request.inventory.drives[drive].price.as_ref().map(|it| it.0);
            let drives_cents = array.drives().map(price).sum::<Option<u64>>()?;
            Some(Purchase { base_cents: request.base_cents, drives_cents }.total_cents())
        }
    }
}

/// Everything about one array.
fn sheet(request: &PlanRequest, first: &Planned, single: &Single, it: &Planned, rank: u32) -> ArraySheet {
    let (inventory, array) = (&request.inventory, &it.array);
    let usable_bytes = it.capacity.usable_bytes;
    let cost = cost_cents(request, array);
    let certainty = array.members.iter().map(|&(drive, _)| inventory.drives[drive].certainty).max();
    ArraySheet {
        rank,
        title: array.title(),
        level: array.level.name(),
        layout: array.level.layout_name(),
        groups: match array.level {
            ArrayLevel::Nested { groups, .. } => u32::try_from(groups).ok(),
            ArrayLevel::Plain(_) => None,
        },
        chunk_bytes: it.prediction.chunk_bytes,
        members: plugs(inventory, &array.members),
        spares: plugs(inventory, &array.spares),
        redundancy: u32::try_from(array.redundancy()).unwrap_or(u32::MAX),
        meets_purpose: array.redundancy() >= request.purpose.survive,
        why: words::why(request, first, single, it),
        usable_bytes,
        wasted_bytes: wasted_bytes(inventory, it),
        cost_cents: cost,
        cents_per_usable_tb: cost.and_then(|cents| cents_per_tb(cents, usable_bytes)),
        healthy: speed_sheet(&it.prediction.healthy),
        degraded: it.prediction.degraded.as_ref().map(speed_sheet),
        rebuilding: it.prediction.rebuilding.as_ref().map(speed_sheet),
        rebuild_ns: it.prediction.rebuild.map(|rebuild| rebuild.alone_ns),
        rebuild_under_load_ns: it.prediction.rebuild.map(|rebuild| rebuild.under_load_ns),
        speed_error: certainty.map_or(1.0, crate::drives::Certainty::speed_error),
        loss: loss_sheet(&it.loss),
        wear: wear_sheet(request, it),
        power: power_sheet(request, array),
        limits: limits::limits(inventory, array, usable_bytes),
        warnings: words::warnings(request, single, it),
    }
}

fn power_sheet(request: &PlanRequest, array: &Arrangement) -> PowerSheet {
    let power::Draw { start_mw, active_mw, idle_mw, problems } =
        power::draw(&request.inventory, array, request.supply_mw);
    PowerSheet { start_mw, active_mw, idle_mw, problems }
}

fn loss_sheet(loss: &Loss) -> LossSheet {
    LossSheet {
        array: loss.array.estimate,
        array_plus_minus: loss.array.plus_minus,
        blocks: loss.blocks.estimate,
        blocks_plus_minus: loss.blocks.plus_minus,
        anything: loss.anything.estimate,
    }
}

pub(crate) fn wear_sheet(request: &PlanRequest, it: &Planned) -> Option<WearSheet> {
    let daily_bytes = request.daily_write_bytes;
    let wear = wear::wear(&request.inventory, &it.array, &it.capacity.used_bytes, daily_bytes)?;
    Some(WearSheet {
        daily_bytes,
        sequential_years: wear.sequential_years,
        small_writes_years: wear.small_writes_years,
        level_factor: wear.level_factor,
        small_level_factor: wear.small_level_factor,
    })
}

fn plugs(inventory: &Inventory, places: &[(usize, usize)]) -> Vec<PlugSheet> {
    let plug = |&(drive, bus): &(usize, usize)| PlugSheet {
        drive: inventory.drives[drive].name.clone(),
        bus: inventory.bus_name(bus),
    };
    places.iter().map(plug).collect()
}

/// What unequal members leave unused. Superblocks and rounding, below one per cent, do not count.
pub(crate) fn wasted_bytes(inventory: &Inventory, it: &Planned) -> u64 {
    let waste = |(&(drive, _), &used): (&(usize, usize), &u64)| {
        let size = inventory.drives[drive].model.size_bytes;
        let unused = size.saturating_sub(used);
        if unused > size / 100 { unused } else { 0 }
    };
    it.array.members.iter().zip(&it.capacity.used_bytes).map(waste).sum()
}

/// How much faster than one drive an array reads and writes large files.
pub(crate) fn gain(planned: &Planned, single: &Single) -> f64 {
    throughput(&planned.prediction.healthy) / throughput(&single.speeds).max(1.0)
}

#[cfg(test)]
mod tests;
