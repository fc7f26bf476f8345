//! `shoal plan`: which arrays of some drives are worth having, before anything is wiped.

mod text;

use shoal_drive::{Access, Drive};
use shoal_plan::drives::{Failure as Fails, Figures, Inventory};
use shoal_plan::reliability::{PRESETS, find_rate};
use shoal_plan::speed::solve_rates;
use shoal_plan::{PlanError, PlanRequest, Preset, find_preset, plan, presets};
use shoal_sim::{HostModel, PREFIX, PerDirection, parse_fleet};

use crate::args::{Cli, PlanArgs, parse_percent};
use crate::exit::Failure;
use crate::output;

/// What drives are like of which nothing but some figures is known.
const LIKE: &str = "stick-64g";
/// Where those are plugged in.
const BUS: &str = "usb2";

/// Ranks arrays, and says what to do.
pub(crate) fn run(cli: &Cli, args: &PlanArgs) -> Result<(), Failure> {
    let plan = plan(&request(args)?).map_err(|error| match error {
        PlanError::Speed(_) => Failure::failed(error),
        _ => Failure::usage(error),
    })?;
    let Some(rank) = args.explain else {
        return output::document(cli, &plan, |plan| text::table(plan, args.top));
    };
    let Some(array) = plan.arrays.iter().find(|array| array.rank == rank) else {
        let message = format!(
            "there is no array of rank {rank}: there are {}; leave --explain out to see them",
            plan.arrays.len()
        );
        return Err(Failure::Usage(message));
    };
    output::document(cli, &plan, |plan| text::sheet(plan, array))
}

fn request(args: &PlanArgs) -> Result<PlanRequest, Failure> {
    let preset = args.preset.as_deref().map(named_preset).transpose()?;
    let mut inventory = inventory(args, preset.as_ref())?;
    let fails = match (&args.failures, &preset) {
        (Some(text), _) => Some(failures(text)?),
        (None, Some(preset)) => preset.failure.map(Fails::from),
        (None, None) => None,
    };
    if let Some(fails) = fails {
        inventory.drives.iter_mut().for_each(|drive| drive.failure = fails.clone());
    }
    let defaults = PlanRequest::of(inventory);
    let purpose = match (args.purpose, &preset) {
        (Some(purpose), _) => purpose,
        (None, Some(preset)) => preset.purpose.parse().map_err(Failure::usage)?,
        (None, None) => defaults.purpose,
    };
    Ok(PlanRequest {
        purpose,
        daily_write_bytes: args.writes,
        supply_mw: args.supply.or(preset.and_then(|preset| preset.supply_mw)),
        purchase: preset.map(|preset| preset.purchase),
        base_cents: args.base_cost.unwrap_or(0),
        replace_days: args.replace_after,
        shared_cause: args.shared_cause,
        taken: taken(args, preset.as_ref()),
        preset,
        seed: args.seed,
        ..defaults
    })
}

/// What is taken of drives of which nobody said it.
fn taken(args: &PlanArgs, preset: Option<&Preset>) -> Vec<String> {
    let is_described = |text: &String| text.starts_with(PREFIX) || text.contains(".toml");
    let has_plain = args.count.is_some() || args.drives.iter().any(|text| !is_described(text));
    if preset.is_some() || !has_plain {
        return Vec::new();
    }
    let like = format!("drives of which only figures were given do as `{LIKE}` does otherwise: --like names another");
    let bus = format!("they are all on one bus, `{BUS}`: --bus says how they are plugged in");
    let said = [(args.like.is_some(), like), (args.bus.is_some(), bus)];
    said.into_iter().filter(|(is_said, _)| !is_said).map(|(_, taken)| taken).collect()
}

fn named_preset(name: &str) -> Result<Preset, Failure> {
    let names = || presets().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    find_preset(name).ok_or_else(|| Failure::Usage(format!("there is no preset `{name}`: give one of {}", names())))
}

/// A percentage, or the name of a published rate.
fn failures(text: &str) -> Result<Fails, Failure> {
    if let Some(rate) = find_rate(text) {
        return Ok(rate.into());
    }
    let names = PRESETS.map(|rate| rate.name).join(", ");
    let yearly = parse_percent(text).map_err(|_| {
        Failure::Usage(format!("`{text}` is no rate of failures: write a percentage, as 5%, or one of {names}"))
    })?;
    Ok(Fails { yearly, source: "as given".to_owned() })
}

/// All drives that were named, in one fleet, so that those on one bus share it.
fn inventory(args: &PlanArgs, preset: Option<&Preset>) -> Result<Inventory, Failure> {
    let (like, bus) = (args.like.as_deref().unwrap_or(LIKE), args.bus.as_deref().unwrap_or(BUS));
    let mut groups = Vec::new();
    let mut sizes = Vec::new();
    match (preset, args.count) {
        (Some(preset), _) => groups.push(preset.fleet.to_owned()),
        (None, Some(count)) => groups.push(format!("{like}*{count}@{bus}")),
        (None, None) => {
            for text in &args.drives {
                if let Some(fleet) = text.strip_prefix(PREFIX) {
                    groups.push(fleet.to_owned());
                } else if text.contains(".toml") {
                    groups.push(text.clone());
                } else {
                    sizes.push(real_size(args, text)?);
                    groups.push(format!("{like}@{bus}"));
                }
            }
        }
    }
    check_figures(args, sizes.len(), groups.len())?;
    let inventory = Inventory::of_fleet(&parse_fleet(&groups.join(",")).map_err(Failure::usage)?);
    let mut inventory = with_figures(args, &sizes, inventory);
    let said = PerDirection { read: args.read, write: args.write };
    if said != PerDirection::default() {
        solve_rates(&mut inventory, said, &HostModel::default(), args.seed).map_err(Failure::failed)?;
    }
    Ok(inventory)
}

/// Whether what is said of drives is said of drives that nobody has described.
fn check_figures(args: &PlanArgs, real: usize, groups: usize) -> Result<(), Failure> {
    let complaint = match (real, args.count) {
        (0, None) if args.read.is_some() || args.write.is_some() => {
            "--read and --write are for real drives and for --drives: these are described; leave them out"
        }
        (1.., _) if real < groups => {
            "real drives and described ones in one plan: make descriptions of the real ones with `shoal profile`"
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(complaint.to_owned()))
}

/// The drives with what was said of them; `sizes` are those of real drives.
fn with_figures(args: &PlanArgs, sizes: &[u64], mut inventory: Inventory) -> Inventory {
    let said = Figures {
        size_bytes: args.size,
        read_bytes_per_s: args.read,
        write_bytes_per_s: args.write,
        price_cents: args.price,
    };
    let drives = inventory.drives.into_iter().enumerate().map(|(number, drive)| {
        let size_bytes = sizes.get(number).copied().or(said.size_bytes);
        drive.with(&Figures { size_bytes, ..said })
    });
    inventory.drives = drives.collect();
    inventory
}

/// The size of a real drive, if its speeds are known from elsewhere.
fn real_size(args: &PlanArgs, path: &str) -> Result<u64, Failure> {
    let size_bytes = Drive::open(path.as_ref(), Access::Read)?.size_bytes();
    if args.like.is_none() && (args.read.is_none() || args.write.is_none()) {
        return Err(Failure::Usage(format!(
            "{path}: how fast it is is not known: make a description of it with `shoal profile {path}` and give that, or \
             say --read and --write, or --like NAME"
        )));
    }
    Ok(size_bytes)
}
