//! What to do: which array, plugged in how, made by which command; and whether an array is the
//! answer at all.

use std::collections::{BTreeMap, BTreeSet};

use crate::cost::{CostKind, usd_per_gb, usd_per_tb};
use crate::document::{Alternative, ArraySheet, PublishedFigure};
use crate::drives::Writes;
use crate::format::{chance, rate, size, usd};
use crate::planner::{PlanRequest, Planned, Single, gain};
use crate::presets::Preset;

/// The largest drive holds this much more than the smallest before it is said.
const SIZES_DIFFER: f64 = 2.0;

/// What to do, a sentence each.
pub(crate) fn advice(
    request: &PlanRequest,
    planned: &[Planned],
    single: &Single,
    sheets: &[ArraySheet],
    alternatives: &[Alternative],
) -> Vec<String> {
    let (first, sheet) = (&planned[0], &sheets[0]);
    let mut advice = Vec::from_iter(writes_unknown(request));
    let chunk = sheet.chunk_bytes.map_or_else(String::new, |bytes| format!(", with chunks of {} KiB", bytes >> 10));
    advice.push(format!("Make {}{chunk}: `{}`.", sheet.title, create_line(sheet)));
    if let Some(safer) = sheets.iter().find(|other| other.redundancy > 0).filter(|_| sheet.redundancy == 0) {
        advice.push(format!("If what is on it matters, make {} instead: it {}.", safer.title, safer.why));
    }
    advice.extend(request.preset.and_then(|preset| study_made(&preset, sheets)));
    advice.push(how_to_plug(sheet));
    if request.preset.is_none() {
        advice.extend(better_bought(request, sheet, alternatives));
    }
    advice.extend(not_worth_it(first, single));
    advice.extend(sizes_differ(request));
    advice.extend(sheet.warnings.iter().chain(&sheet.power.problems).map(|warning| format!("Mind: {warning}.")));
    advice.push("No array is a backup: it does not bring back what was deleted, overwritten or stolen.".to_owned());
    advice
}

/// What was predicted of writes rests on nothing.
fn writes_unknown(request: &PlanRequest) -> Option<String> {
    let unknown = request.inventory.drives.iter().filter(|drive| drive.writes == Writes::AsReads);
    let models: BTreeSet<_> = unknown.map(|drive| drive.model.name.as_str()).collect();
    (!models.is_empty()).then(|| {
        format!(
            "Measure first what {} writes at: nobody has, so whatever is said of writes here, and the order of these \
             arrays, takes it to write as it reads, and sticks and cards write far slower. `shoal profile --write` \
             measures it; what the drive holds is lost.",
            Vec::from_iter(models).join(" and ")
        )
    })
}

/// What the study itself made of its drives.
fn study_made(preset: &Preset, sheets: &[ArraySheet]) -> Option<String> {
    let groups = |sheet: &ArraySheet| sheet.groups.map_or(1, |groups| groups as usize);
    let is_it = |sheet: &&ArraySheet| sheet.level == preset.level.0 && groups(sheet) == preset.level.1;
    let sheet = sheets.iter().filter(is_it).max_by_key(|sheet| sheet.members.len())?;
    let tb = usd(usd_per_tb(sheet.cents_per_usable_tb?));
    Some(format!(
        "The `{}` study made {}: number {} here, at {tb} a usable TB, all that was bought included.",
        preset.study, preset.title, sheet.rank
    ))
}

fn how_to_plug(sheet: &ArraySheet) -> String {
    let mut on_bus: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for plug in sheet.members.iter().chain(&sheet.spares) {
        on_bus.entry(&plug.bus).or_default().push(plug.drive.rsplit('#').next().unwrap_or(&plug.drive));
    }
    let buses = on_bus.iter().map(|(bus, drives)| {
        let word = if drives.len() == 1 { "drive" } else { "drives" };
        format!("{word} {} to {bus}", drives.join(", "))
    });
    format!("Plug {}.", buses.collect::<Vec<_>>().join("; "))
}

/// The command that makes it.
pub fn create_line(sheet: &ArraySheet) -> String {
    let mut line = format!("shoal create --level {}", sheet.level);
    if let Some(layout) = sheet.layout.as_ref().filter(|layout| layout.starts_with("far")) {
        line += &format!(" --layout {}", layout.replace("far=", "f"));
    }
    if let Some(chunk) = sheet.chunk_bytes {
        line += &format!(" --chunk {}K", chunk >> 10);
    }
    if let Some(groups) = sheet.groups {
        line += &format!(" --groups {groups}");
    }
    if !sheet.spares.is_empty() {
        line += &format!(" --spares {}", sheet.spares.len());
    }
    line + " DRIVE..."
}

/// An SSD that costs less for its capacity and is faster at everything.
fn better_bought(request: &PlanRequest, sheet: &ArraySheet, alternatives: &[Alternative]) -> Option<String> {
    let mine = sheet.cents_per_usable_tb?;
    let better = alternatives.iter().filter(|other| {
        other.cents_per_tb < mine
            && other.speeds.is_some_and(|speeds| {
                speeds.sequential_read_bytes_per_s > sheet.healthy.sequential_read_bytes_per_s
                    && speeds.sequential_write_bytes_per_s > sheet.healthy.sequential_write_bytes_per_s
                    && speeds.random_write_iops > sheet.healthy.random_write_iops
            })
    });
    let cheapest = better.min_by_key(|other| other.cents_per_tb)?;
    let speeds = cheapest.speeds?;
    let date = request.inventory.drives.iter().find_map(|drive| drive.price.as_ref()).map_or("", |price| &price.1);
    Some(format!(
        "If you have yet to buy, an array is the wrong answer: {} costs {} a GB ({}) where this costs {} ({date}), reads {} \
         and writes {}.",
        cheapest.name,
        usd(usd_per_gb(cheapest.cents_per_tb)),
        cheapest.source,
        usd(usd_per_gb(mine)),
        rate(speeds.sequential_read_bytes_per_s),
        rate(speeds.sequential_write_bytes_per_s)
    ))
}

/// An array that is no faster, no larger by much, and no safer than its best drive.
fn not_worth_it(first: &Planned, single: &Single) -> Option<String> {
    let is_slower = gain(first, single) < 1.0;
    (first.array.redundancy() == 0 && is_slower).then(|| {
        format!(
            "One drive alone is faster, and loses its data less often than this array does ({} a year): an array is \
             the wrong answer unless you need the room in one piece.",
            chance(first.loss.anything.estimate)
        )
    })
}

fn sizes_differ(request: &PlanRequest) -> Option<String> {
    let sizes = request.inventory.drives.iter().map(|drive| drive.model.size_bytes);
    let (smallest, largest) = (sizes.clone().min()?, sizes.max()?);
    (largest as f64 > SIZES_DIFFER * smallest as f64).then(|| {
        format!(
            "Your drives hold {} to {}: every level with copies or parity uses of each no more than the smallest member \
             has. Two arrays, or the large drive by itself with copies of it on the others, may serve you better.",
            size(smallest),
            size(largest)
        )
    })
}

/// A study's figures beside ours.
pub(crate) fn published(preset: &Preset) -> Vec<PublishedFigure> {
    let figure = |figure: crate::cost::CostFigure| PublishedFigure {
        agrees: figure.agrees(),
        configuration: figure.configuration.to_owned(),
        metric: figure.metric.to_owned(),
        unit: figure.unit.to_owned(),
        published: figure.published,
        ours: figure.ours,
        kind: match figure.kind {
            CostKind::Input => "input".to_owned(),
            CostKind::Derived => "derived".to_owned(),
        },
        how: figure.how.to_owned(),
    };
    preset.figures().into_iter().map(figure).collect()
}
