//! Arguments of `shoal plan`.

use clap::Args;
use shoal_plan::Purpose;
use shoal_text::{parse_size, whole_number};

const AFTER_HELP: &str = "\
Drives: sim:NAME*COUNT@BUS*BUSES, as in sim:cruzer-titanium*6@usb2*2; descriptions, as `shoal profile` makes them, \
as in my-stick.toml*4@usb2; real drives by path, of which the size is read and nothing else; or --drives with --size, \
--read, --write and --price.

Nothing is written to any drive.";

/// `shoal plan`
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct PlanArgs {
    /// The drives, on their buses.
    #[arg(value_name = "DRIVE", required_unless_present_any = ["count", "preset"])]
    pub(crate) drives: Vec<String>,
    /// What it is for: capacity, throughput, small-writes or all-round, and how many dead drives it
    /// must survive, as in throughput,survive=1 [default: all-round,survive=1].
    #[arg(long = "for", value_name = "PURPOSE")]
    pub(crate) purpose: Option<Purpose>,
    /// So many drives that nobody has described.
    #[arg(long = "drives", value_name = "COUNT", requires = "size", conflicts_with = "drives", value_parser = whole_number(1_usize..))]
    pub(crate) count: Option<usize>,
    /// What each of them holds.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", requires = "count")]
    pub(crate) size: Option<u64>,
    /// What each reads, as 20MB/s; of real drives and of those of --drives.
    #[arg(long, value_parser = parse_rate, value_name = "RATE")]
    pub(crate) read: Option<u64>,
    /// What each writes, as 9MB/s.
    #[arg(long, value_parser = parse_rate, value_name = "RATE")]
    pub(crate) write: Option<u64>,
    /// What each costs in US dollars, in place of what its description says.
    #[arg(long, value_parser = parse_usd, value_name = "USD")]
    pub(crate) price: Option<u64>,
    /// Where real drives and those of --drives are plugged in, as usb2*2.
    #[arg(long, value_name = "BUS")]
    pub(crate) bus: Option<String>,
    /// The drive that real drives and those of --drives are like in all that is not said [default:
    /// stick-64g].
    #[arg(long, value_name = "NAME")]
    pub(crate) like: Option<String>,
    /// Plan a published study's array again, with its prices: eide-software-raid5,
    /// eide-hardware-raid5, eide-raid50 or cruzer-raid0.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["drives", "count", "price", "base_cost"])]
    pub(crate) preset: Option<String>,
    /// What is written to the array a day, for the wear of flash.
    #[arg(long, value_parser = parse_daily, value_name = "SIZE/day", default_value = "10GB/day")]
    pub(crate) writes: u64,
    /// What the supply gives, as 450W, to hold the drives' starting against.
    #[arg(long, value_parser = parse_watts, value_name = "WATTS")]
    pub(crate) supply: Option<u64>,
    /// How many drives fail in a year, in place of what their descriptions say: a percentage, or
    /// eide, backblaze-disks, backblaze-ssds, schroeder-2007, google-2007 or sticks.
    #[arg(long, value_name = "RATE")]
    pub(crate) failures: Option<String>,
    /// Days until a failed drive is replaced where no spare stands by.
    #[arg(long, value_name = "DAYS", default_value_t = 3.0, value_parser = parse_days)]
    pub(crate) replace_after: f64,
    /// Which part of failures strikes all drives of a hub or supply at once.
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = parse_percent)]
    pub(crate) shared_cause: f64,
    /// What the computer costs in US dollars, to be added to each array.
    #[arg(long, value_parser = parse_usd, value_name = "USD")]
    pub(crate) base_cost: Option<u64>,
    /// Show everything about the array of this rank.
    #[arg(long, value_name = "RANK", value_parser = whole_number(1_u32..))]
    pub(crate) explain: Option<u32>,
    /// Show so many arrays.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = whole_number(1_u32..))]
    pub(crate) top: u32,
    /// Repeats a plan.
    #[arg(long, default_value_t = 1, value_parser = whole_number(0_u64..))]
    pub(crate) seed: u64,
}

/// `20MB/s`.
fn parse_rate(text: &str) -> Result<u64, String> {
    let size = text.strip_suffix("/s").ok_or_else(|| format!("`{text}` is no rate: write it as 20MB/s"))?;
    parse_size(size).and_then(|rate| if rate > 0 { Ok(rate) } else { Err(format!("`{text}`: a drive does more")) })
}

/// `10GB/day`.
fn parse_daily(text: &str) -> Result<u64, String> {
    parse_size(text.strip_suffix("/day").ok_or_else(|| format!("`{text}` is no load: write it as 10GB/day"))?)
}

/// `450W`, in milliwatts.
fn parse_watts(text: &str) -> Result<u64, String> {
    let watts = text.strip_suffix('W').and_then(|number| number.trim_end().parse::<u32>().ok());
    watts.map(|watts| u64::from(watts) * 1_000).ok_or_else(|| format!("`{text}` is no power: write it as 450W"))
}

/// `20`, `19.99` or `$20`, in cents.
fn parse_usd(text: &str) -> Result<u64, String> {
    let usd = text.trim_start_matches('$').parse::<f64>().ok().filter(|usd| (0.0..1e9).contains(usd));
    usd.map(|usd| (usd * 100.0).round() as u64).ok_or_else(|| format!("`{text}` is no price: write dollars, as 19.99"))
}

/// `3%`, as a fraction.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
    percent
        .filter(|percent| (0.0..100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("`{text}` is no percentage: write it as 3%, below 100%"))
}

/// A time to wait: not negative, and at most ten years.
fn parse_days(text: &str) -> Result<f64, String> {
    let days = text.parse::<f64>().ok().filter(|days| (0.0..=3_653.0).contains(days));
    days.ok_or_else(|| format!("`{text}` is no number of days: write one from 0 to 3653"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!(parse_rate("20MB/s"), Ok(20_000_000));
        assert_eq!(parse_daily("10GB/day"), Ok(10_000_000_000));
        assert_eq!(parse_watts("450W"), Ok(450_000));
        assert_eq!(parse_usd("$19.99"), Ok(1999));
        assert_eq!(parse_percent("9.1 %"), Ok(0.091));
    }

    #[test]
    fn nonsense_is_named_with_an_example() {
        for (error, example) in [
            (parse_rate("fast").err(), "20MB/s"),
            (parse_rate("0MB/s").err(), "0MB/s"),
            (parse_daily("10GB").err(), "10GB/day"),
            (parse_watts("450").err(), "450W"),
            (parse_usd("NaN").err(), "19.99"),
            (parse_percent("120%").err(), "3%"),
            (parse_days("-1").err(), "3653"),
        ] {
            assert!(error.as_ref().is_some_and(|error| error.contains(example)), "{error:?}");
        }
    }
}
