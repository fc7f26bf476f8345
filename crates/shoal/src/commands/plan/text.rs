//! A plan as text: a table with a sentence for each array, and everything about one.

use std::fmt::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use shoal_plan::cost::{usd_per_gb, usd_per_tb};
use shoal_plan::document::{Alternative, ArraySheet, Plan, PlugSheet, SpeedSheet};
use shoal_plan::format::{chance, duration, rate, size, usd, years};
use shoal_plan::power::watts;

/// Alternatives told of under the table.
const ALTERNATIVES_MAX: usize = 4;

/// The arrays, the best first.
pub(super) fn table(plan: &Plan, top: u32) -> String {
    let mut text = String::new();
    write_table(&mut text, plan, top).expect("strings take everything");
    text
}

fn write_table(text: &mut String, plan: &Plan, top: u32) -> fmt::Result {
    let shown = plan.arrays.iter().take(top as usize);
    writeln!(text, "Arrays of {} drives, for {}", plan.drives.len(), plan.purpose)?;
    writeln!(text, "{}", lines(&arrays(plan, shown.clone())))?;
    for array in shown {
        writeln!(text, "{:>2}. {}: {}.", array.rank, array.title, array.why)?;
    }
    if let Some(more) = plan.arrays.len().checked_sub(top as usize).filter(|more| *more > 0) {
        writeln!(text, "    and {more} more: --top {}", plan.arrays.len())?;
    }
    writeln!(text, "\nWhat to do")?;
    for sentence in &plan.advice {
        writeln!(text, "  {sentence}")?;
    }
    writeln!(text, "\nWhat else there is, for its capacity")?;
    for other in nearest(plan) {
        writeln!(text, "  {}", alternative(other))?;
    }
    if !plan.published.is_empty() {
        writeln!(text, "\nThe study's cost figures")?;
        writeln!(text, "{}", lines(&published(plan)).trim_end())?;
    }
    writeln!(text, "\nWhat this rests on (seed {})", plan.seed)?;
    for sentence in &plan.assumptions {
        writeln!(text, "  {sentence}")?;
    }
    if let Some(first) = plan.arrays.first() {
        writeln!(
            text,
            "  speeds may be off by {:.0} %; the others of a plan by as much, the same way",
            first.speed_error * 100.0
        )?;
    }
    writeln!(
        text,
        "  speeds are those of shoal's own engine; with `--engine kernel`, Linux's md runs the same array (not 50, 60, 51 and \
         61): `shoal bench --engine kernel` measures it"
    )?;
    writeln!(text, "\nEverything about one array: --explain RANK")
}

fn arrays<'a>(plan: &'a Plan, shown: impl Iterator<Item = &'a ArraySheet>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // Figures of writes that nobody has measured.
    let [seq_write, rand_write] = match plan.drives.iter().any(|drive| drive.writes_as_reads) {
        true => ["seq write ?", "rand write ?"],
        false => ["seq write", "rand write"],
    };
    let header =
        ["", "array", "holds", "per GB", "seq read", seq_write, "rand read", rand_write, "one dead", "loss a year"];
    table.set_header(header);
    for array in shown {
        let dead = array.degraded.map_or("lost".to_owned(), |it| rate(it.sequential_read_bytes_per_s));
        table.add_row(row(
            &array.rank.to_string(),
            &array.title,
            (array.usable_bytes, array.cents_per_usable_tb),
            &array.healthy,
            [dead, chance(array.loss.anything)],
        ));
    }
    let single = &plan.single;
    let loss = chance(single.yearly_loss);
    let alone = format!("{} alone", single.drive);
    table.add_row(row("", &alone, (single.size_bytes, None), &single.speeds, ["lost".to_owned(), loss]));
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(
    rank: &str,
    title: &str,
    (bytes, cents): (u64, Option<u64>),
    speeds: &SpeedSheet,
    [dead, loss]: [String; 2],
) -> Vec<String> {
    vec![
        rank.to_owned(),
        title.to_owned(),
        size(bytes),
        cents.map_or_else(|| "-".to_owned(), |cents| usd(usd_per_gb(cents))),
        rate(speeds.sequential_read_bytes_per_s),
        rate(speeds.sequential_write_bytes_per_s),
        format!("{} /s", speeds.random_read_iops),
        format!("{} /s", speeds.random_write_iops),
        dead,
        loss,
    ]
}

/// The table without the blanks at the ends of its lines.
fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The alternatives whose price is nearest to the first array's.
fn nearest(plan: &Plan) -> Vec<&Alternative> {
    let mut nearest: Vec<&Alternative> = plan.alternatives.iter().collect();
    nearest.sort_by(|a, b| {
        let distance = |it: &Alternative| it.price_ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs());
        distance(a).total_cmp(&distance(b))
    });
    nearest.truncate(ALTERNATIVES_MAX);
    nearest
}

fn alternative(other: &Alternative) -> String {
    let ratio =
        other.price_ratio.map_or_else(String::new, |ratio| format!(", {} the first array's price a GB", times(ratio)));
    let speeds = other.speeds.map_or_else(String::new, |speeds| {
        let [read, write] = [speeds.sequential_read_bytes_per_s, speeds.sequential_write_bytes_per_s].map(rate);
        format!("; reads {read}, writes {write}")
    });
    let price = usd(usd_per_gb(other.cents_per_tb));
    format!("{}, {}: {price} a GB{ratio}{speeds} ({})", other.name, size(other.size_bytes), other.source)
}

fn times(ratio: f64) -> String {
    if ratio >= 9.95 {
        format!("{ratio:.0} times")
    } else if ratio >= 0.995 {
        format!("{ratio:.1} times")
    } else {
        format!("{:.0} % of", (ratio * 100.0).max(1.0))
    }
}

fn published(plan: &Plan) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "figure", "published", "ours", "unit", "how"]);
    for figure in &plan.published {
        let agrees = if figure.agrees { "" } else { "differs: " };
        table.add_row([
            figure.configuration.clone(),
            figure.metric.clone(),
            number(figure.published),
            number(figure.ours),
            figure.unit.clone(),
            format!("{agrees}{}: {}", figure.kind, figure.how),
        ]);
    }
    table
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Everything about one array.
pub(super) fn sheet(plan: &Plan, array: &ArraySheet) -> String {
    let mut text = String::new();
    write_sheet(&mut text, plan, array).expect("strings take everything");
    text
}

fn write_sheet(text: &mut String, plan: &Plan, array: &ArraySheet) -> fmt::Result {
    writeln!(text, "{}, rank {} of {} for {}", array.title, array.rank, plan.arrays.len(), plan.purpose)?;
    writeln!(text, "  {}.\n", array.why)?;
    let chunk = array.chunk_bytes.map_or_else(String::new, |bytes| format!(", chunk {} KiB", bytes >> 10));
    let layout = array.layout.as_ref().map_or_else(String::new, |layout| format!(", {layout}"));
    field(text, "level", &format!("{}{layout}{chunk}; survives any {} dead", array.level, array.redundancy))?;
    field(text, "make it", &shoal_plan::create_line(array))?;
    field(text, "members", &plugs(&array.members))?;
    if !array.spares.is_empty() {
        field(text, "spares", &plugs(&array.spares))?;
    }
    let wasted = if array.wasted_bytes > 0 {
        format!("; {} of its members are of no use, as they differ in size", size(array.wasted_bytes))
    } else {
        String::new()
    };
    field(text, "holds", &format!("{}{wasted}", size(array.usable_bytes)))?;
    if let (Some(cost), Some(cents)) = (array.cost_cents, array.cents_per_usable_tb) {
        let (gb, tb) = (usd(usd_per_gb(cents)), usd(usd_per_tb(cents)));
        field(text, "costs", &format!("{}: {gb} a usable GB, {tb} a usable TB", usd(cost as f64 / 100.0)))?;
    }
    write_speeds(text, array)?;
    write_loss(text, array)?;
    write_rest(text, array)
}

fn write_speeds(text: &mut String, array: &ArraySheet) -> fmt::Result {
    let states = [("healthy", Some(array.healthy)), ("one dead", array.degraded), ("rebuilding", array.rebuilding)];
    for (name, speeds) in states {
        let Some(speeds) = speeds else { continue };
        let line = format!(
            "seq read {}, seq write {}, rand read {} /s, rand write {} /s",
            rate(speeds.sequential_read_bytes_per_s),
            rate(speeds.sequential_write_bytes_per_s),
            speeds.random_read_iops,
            speeds.random_write_iops
        );
        field(text, name, &line)?;
    }
    field(text, "how sure", &format!("within {:.0} %", array.speed_error * 100.0))?;
    match (array.rebuild_ns, array.rebuild_under_load_ns) {
        (Some(alone), Some(loaded)) => field(
            text,
            "rebuild",
            &format!("{} alone, {} if the array is never left alone", duration(alone), duration(loaded)),
        ),
        _ => Ok(()),
    }
}

fn write_loss(text: &mut String, array: &ArraySheet) -> fmt::Result {
    let loss = &array.loss;
    let sure = |estimate: f64, plus_minus: f64| {
        if plus_minus > 0.0 && estimate > 0.0 {
            format!("{} (within {:.0} % of that)", chance(estimate), 100.0 * plus_minus / estimate)
        } else {
            chance(estimate)
        }
    };
    field(text, "loss a year", &format!("of the array {}", sure(loss.array, loss.array_plus_minus)))?;
    if loss.blocks > 0.0 {
        field(text, "", &format!("of some blocks in a rebuild {}", sure(loss.blocks, loss.blocks_plus_minus)))?;
    }
    Ok(())
}

fn write_rest(text: &mut String, array: &ArraySheet) -> fmt::Result {
    if let Some(wear) = &array.wear {
        let line = format!(
            "at {} a day worn out after {} (large writes) or {} (small ones anywhere); members get {} or {} bytes a byte",
            size(wear.daily_bytes),
            years(wear.sequential_years),
            years(wear.small_writes_years),
            number(wear.level_factor),
            number(wear.small_level_factor)
        );
        field(text, "wear", &line)?;
    }
    let power = [("starting", array.power.start_mw), ("at work", array.power.active_mw), ("idle", array.power.idle_mw)];
    let power = power.into_iter().filter_map(|(name, draw)| Some(format!("{} {name}", watts(draw?))));
    let power = power.collect::<Vec<_>>().join(", ");
    if !power.is_empty() {
        field(text, "power", &power)?;
    }
    let sentences = array.power.problems.iter().chain(&array.limits).chain(&array.warnings);
    for sentence in sentences {
        field(text, "mind", sentence)?;
    }
    Ok(())
}

fn field(text: &mut String, name: &str, value: &str) -> fmt::Result {
    writeln!(text, "  {name:<12}{value}")
}

fn plugs(plugs: &[PlugSheet]) -> String {
    plugs.iter().map(|plug| format!("{} on {}", plug.drive, plug.bus)).collect::<Vec<_>>().join("; ")
}
