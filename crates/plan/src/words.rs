//! Why an array stands where it stands, what speaks against it, and what all of it rests on: in
//! sentences.

use std::collections::BTreeMap;

use shoal_sim::BusKind;
use shoal_volume::{ArrayLevel, Level};

use crate::format::{chance, rate, size, years};
use crate::planner::{PlanRequest, Planned, Single, wasted_bytes, wear_sheet};
use crate::purpose::{Goal, throughput};
use crate::reliability::redundancy_sets;

/// Members that are this much larger than what is used of them are worth a word.
const WASTE_WORTH_A_WORD: f64 = 0.15;
/// A rebuild that meets an unreadable sector more often than this.
const UNREADABLE_WORTH_A_WORD: f64 = 0.05;
/// Flash that lasts less long than this.
const WEAR_WORTH_A_WORD_YEARS: f64 = 3.0;
/// Mirrors that write at less than this part of what one drive does.
const COPY_WORTH_A_WORD: f64 = 0.9;
/// Many drives that are hardly faster than one.
const GAIN_WORTH_HAVING: f64 = 1.25;

/// In a sentence, why an array stands where it stands.
pub(crate) fn why(request: &PlanRequest, first: &Planned, single: &Single, it: &Planned) -> String {
    let mut sentence = strength(request.purpose.goal, first, it);
    let redundancy = it.array.redundancy();
    if redundancy == 0 && request.purpose.survive == 0 {
        sentence += &format!(", but the first dead drive takes {}", what_is_lost(it));
    } else if redundancy < request.purpose.survive {
        let survives = if redundancy == 0 { "no dead drive".to_owned() } else { format!("only {redundancy}") };
        sentence += &format!(", but it survives {survives} where {} was asked for", request.purpose.survive);
    } else {
        sentence += &format!("; {}", safety(it));
    }
    let price = price_of_safety(single, it);
    if !price.is_empty() {
        sentence += &format!("; {price}");
    }
    sentence
}

fn strength(goal: Goal, first: &Planned, it: &Planned) -> String {
    let healthy = &it.prediction.healthy;
    let large = || {
        format!(
            "reads {} and writes {}",
            rate(healthy.sequential_read_bytes_per_s),
            rate(healthy.sequential_write_bytes_per_s)
        )
    };
    let room = || format!("holds {}", size(it.capacity.usable_bytes));
    let small = || format!("{} small writes a second", healthy.random_write_iops);
    let is_first = std::ptr::eq(first, it);
    let share = |mine: f64, best: f64| {
        let percent = 100.0 * mine / best.max(1.0);
        if is_first || (percent - 100.0).abs() < 2.0 { String::new() } else { format!(", {percent:.0} % of the first") }
    };
    match goal {
        Goal::Capacity => room() + &share(it.capacity.usable_bytes as f64, first.capacity.usable_bytes as f64),
        Goal::Throughput => large() + &share(throughput(healthy), throughput(&first.prediction.healthy)),
        Goal::SmallWrites => {
            small() + &share(healthy.random_write_iops as f64, first.prediction.healthy.random_write_iops as f64)
        }
        Goal::AllRound => format!("{}, {}, {}", room(), large(), small()),
    }
}

/// What the first dead drive takes.
fn what_is_lost(it: &Planned) -> String {
    let loss = chance(it.loss.anything.estimate);
    if it.array.level == ArrayLevel::Plain(Level::Linear) {
        format!("its part and most likely the file system with it ({loss} a year)")
    } else {
        format!("everything ({loss} a year)")
    }
}

fn safety(it: &Planned) -> String {
    let members = it.array.members.len();
    let survives = match (it.array.level, it.array.redundancy()) {
        (ArrayLevel::Plain(Level::Raid10(_)), _) if it.array.is_far() => {
            "survives one dead drive, and more that are no neighbours".to_owned()
        }
        (ArrayLevel::Plain(Level::Raid10(_)), _) => "survives one dead drive of each pair".to_owned(),
        (ArrayLevel::Nested { outer: Level::Raid0(_), inner: Level::Raid5(_), .. }, _) => {
            "survives one dead drive in each group".to_owned()
        }
        (ArrayLevel::Nested { outer: Level::Raid0(_), inner: Level::Raid6(_), .. }, _) => {
            "survives two dead drives in each group".to_owned()
        }
        (ArrayLevel::Plain(Level::Raid1), count) => format!("{members} copies survive {count} dead"),
        (_, count) => format!("survives any {count} dead"),
    };
    let spare = if it.array.spares.is_empty() { "" } else { ", and a spare steps in at once" };
    format!("{survives}{spare} (chance of loss in a year: {})", chance(it.loss.anything.estimate))
}

/// What redundancy costs here.
fn price_of_safety(single: &Single, it: &Planned) -> String {
    let writes = it.prediction.healthy.random_write_iops;
    match it.array.level {
        ArrayLevel::Plain(Level::Raid5(_))
        | ArrayLevel::Nested { outer: Level::Raid0(_), inner: Level::Raid5(_), .. } => format!(
            "a small write costs four I/Os ({writes} a second, one drive alone {})",
            single.speeds.random_write_iops
        ),
        ArrayLevel::Plain(Level::Raid6(_))
        | ArrayLevel::Nested { outer: Level::Raid0(_), inner: Level::Raid6(_), .. } => format!(
            "a small write costs six I/Os ({writes} a second, one drive alone {})",
            single.speeds.random_write_iops
        ),
        ArrayLevel::Plain(Level::Raid10(_)) => "half of the room is copies".to_owned(),
        _ => String::new(),
    }
}

/// Why an array may be the wrong answer.
pub(crate) fn warnings(request: &PlanRequest, single: &Single, it: &Planned) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(copies_on_one_bus(request, single, it));
    warnings.extend(waste(request, it));
    warnings.extend(unreadable(request, it));
    if it.array.redundancy() > 0 && it.prediction.healthy.random_write_iops < single.speeds.random_write_iops {
        warnings.push(format!(
            "small writes are slower than those of one drive: {} against {} a second",
            it.prediction.healthy.random_write_iops, single.speeds.random_write_iops
        ));
    }
    warnings.extend(no_faster(single, it));
    warnings.extend(worn_out(request, it));
    warnings.extend(one_hub(request, it));
    warnings
}

/// Large files, against one drive.
fn no_faster(single: &Single, it: &Planned) -> Option<String> {
    let (mine, alone) = (&it.prediction.healthy, &single.speeds);
    if !it.array.has_chunks() {
        return None;
    }
    let [reads, writes] = [
        (mine.sequential_read_bytes_per_s, alone.sequential_read_bytes_per_s),
        (mine.sequential_write_bytes_per_s, alone.sequential_write_bytes_per_s),
    ];
    if writes.0 < writes.1 {
        return Some(format!(
            "large files are written more slowly than to one drive, {} against {}: what does not fill a row has to be \
             read before parity can be changed",
            rate(writes.0),
            rate(writes.1)
        ));
    }
    ((reads.0 as f64) < GAIN_WORTH_HAVING * reads.1 as f64 && it.array.members.len() > 2).then(|| {
        format!(
            "{} drives read hardly faster than one, {} against {}: the bus is full; use another bus or fewer drives",
            it.array.members.len(),
            rate(reads.0),
            rate(reads.1)
        )
    })
}

fn copies_on_one_bus(request: &PlanRequest, single: &Single, it: &Planned) -> Option<String> {
    let is_mirror = matches!(it.array.level, ArrayLevel::Plain(Level::Raid1 | Level::Raid10(_)));
    let bus = it.array.members[0].1;
    let is_usb = matches!(request.inventory.buses[bus].kind, BusKind::Usb2 | BusKind::Usb3);
    let (mine, alone) =
        (it.prediction.healthy.sequential_write_bytes_per_s, single.speeds.sequential_write_bytes_per_s);
    if mine as f64 > COPY_WORTH_A_WORD * alone as f64 {
        return None;
    }
    if !is_mirror || !is_usb || it.array.members.iter().any(|&(_, other)| other != bus) {
        return None;
    }
    Some(format!(
        "all copies are written over one bus, at {} against {} to one drive: put them on two if there are two",
        rate(mine),
        rate(alone)
    ))
}

fn waste(request: &PlanRequest, it: &Planned) -> Option<String> {
    let wasted = wasted_bytes(&request.inventory, it);
    let members = it.array.members.iter().map(|&(drive, _)| request.inventory.drives[drive].model.size_bytes);
    let raw: u64 = members.sum();
    (wasted as f64 > WASTE_WORTH_A_WORD * raw as f64)
        .then(|| format!("its members differ in size: {} of their {} are of no use in it", size(wasted), size(raw)))
}

/// Rebuilds that have nothing to fall back on.
fn unreadable(request: &PlanRequest, it: &Planned) -> Option<String> {
    if !is_single_parity(it.array.level) {
        return None;
    }
    let sets = redundancy_sets(it.array.level, it.array.members.len(), *it.capacity.used_bytes.first()?);
    let set = sets.first()?;
    let bits = |member: &usize| {
        let drive = it.array.members[*member].0;
        set.bytes_per_member as f64 * 8.0 * request.inventory.drives[drive].unreadable_per_bit
    };
    let expected: f64 = set.members.iter().skip(1).map(bits).sum();
    let meets = -(-expected).exp_m1();
    (meets > UNREADABLE_WORTH_A_WORD).then(|| {
        let read = size(set.bytes_per_member.saturating_mul(set.members.len() as u64 - 1));
        format!(
            "a rebuild reads {read} with nothing to fall back on: {} of them meet a sector that cannot be read and lose it; \
             RAID6 or RAID10 of large drives instead",
            chance(meets)
        )
    })
}

fn worn_out(request: &PlanRequest, it: &Planned) -> Option<String> {
    let wear = wear_sheet(request, it)?;
    let daily = size(wear.daily_bytes);
    if wear.sequential_years < WEAR_WORTH_A_WORD_YEARS {
        return Some(format!("{daily} a day wear its flash out in {}", years(wear.sequential_years)));
    }
    (wear.small_writes_years < WEAR_WORTH_A_WORD_YEARS).then(|| {
        format!(
            "{daily} a day in small writes anywhere wear its flash out in {} (in large ones: {})",
            years(wear.small_writes_years),
            years(wear.sequential_years)
        )
    })
}

/// A hub whose failure takes more members of a set than it survives.
fn one_hub(request: &PlanRequest, it: &Planned) -> Option<String> {
    if it.array.redundancy() == 0 {
        return None;
    }
    let sets = redundancy_sets(it.array.level, it.array.members.len(), 0);
    for set in sets {
        let mut on_bus: BTreeMap<usize, usize> = BTreeMap::new();
        for &member in &set.members {
            *on_bus.entry(it.array.members[member].1).or_default() += 1;
        }
        for (bus, count) in on_bus {
            let is_usb = matches!(request.inventory.buses[bus].kind, BusKind::Usb2 | BusKind::Usb3);
            if is_usb && count > set.tolerance {
                return Some(format!(
                    "{count} of the members share {}: if its hub fails, the array stops",
                    request.inventory.bus_name(bus)
                ));
            }
        }
    }
    None
}

/// What a plan rests on.
pub(crate) fn assumptions(request: &PlanRequest) -> Vec<String> {
    let mut assumptions = vec![
        "speeds: this program's own engine on simulated drives, 1 MiB requests 4 deep and 4 KiB requests 32 deep; sustained, \
         not bursts into a cache"
            .to_owned(),
    ];
    assumptions.extend(request.taken.iter().cloned());
    let mut sources: Vec<String> = Vec::new();
    for drive in &request.inventory.drives {
        let source = format!("drives fail at {} a year: {}", chance(drive.failure.yearly), drive.failure.source);
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    assumptions.extend(sources);
    assumptions.push(format!(
        "a failed drive is replaced after {} days (by a spare at once), and rebuilt while the array is in use half of the time",
        request.replace_days
    ));
    assumptions.push(format!(
        "{} of failures are taken to strike all drives of a hub or supply at once (IEC 61508-6 has 1 to 10 %)",
        chance(request.shared_cause)
    ));
    assumptions
}

/// Whether an array is of a level with parity of one member.
fn is_single_parity(level: ArrayLevel) -> bool {
    match level {
        ArrayLevel::Plain(level) => matches!(level, Level::Raid4 | Level::Raid5(_)),
        ArrayLevel::Nested { outer, inner, .. } => matches!((outer, inner), (Level::Raid0(_), Level::Raid5(_))),
    }
}
