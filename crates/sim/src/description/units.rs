//! Units: what a number in a description is, and the integer that it becomes.

/// What kind of quantity a parameter is. Inside, each is an integer of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// Bytes.
    Size,
    /// Bytes a second.
    Rate,
    /// Nanoseconds.
    Time,
    /// Things that are counted; the unit says which.
    Count(&'static str),
    /// Milliwatts.
    Power,
    /// Hundredths of a US dollar.
    Money,
    /// Millionths a year.
    YearlyChance,
}

/// A unit, and how many of the integer's units it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    name: &'static str,
    scale: u64,
}

/// How many digits behind the point a number may be written with: enough for every integer in every
/// unit.
const DECIMALS: usize = 9;

const SIZES: &[Unit] = &[
    unit("TiB", 1 << 40),
    unit("GiB", 1 << 30),
    unit("MiB", 1 << 20),
    unit("KiB", 1 << 10),
    unit("B", 1),
    unit("TB", 1_000_000_000_000),
    unit("GB", 1_000_000_000),
    unit("MB", 1_000_000),
    unit("kB", 1_000),
    unit("sectors", 512),
];
const RATES: &[Unit] = &[
    unit("MB/s", 1_000_000),
    unit("GB/s", 1_000_000_000),
    unit("kB/s", 1_000),
    unit("B/s", 1),
    unit("MiB/s", 1 << 20),
    unit("KiB/s", 1 << 10),
];
const TIMES: &[Unit] = &[unit("s", 1_000_000_000), unit("ms", 1_000_000), unit("us", 1_000), unit("ns", 1)];
/// Current is at the 5 V that USB gives.
const POWERS: &[Unit] = &[unit("W", 1_000), unit("mW", 1), unit("mA at 5 V", 5)];
const MONEY: &[Unit] = &[unit("USD", 100)];
const YEARLY_CHANCES: &[Unit] = &[unit("%/year", 10_000)];

const fn unit(name: &'static str, scale: u64) -> Unit {
    Unit { name, scale }
}

impl Dimension {
    /// The integer that `value` is in `unit`; else what is wrong, with the mend.
    pub(crate) fn integer(self, value: &toml::Value, unit: Option<&str>) -> Result<u64, String> {
        let unit = self.unit(unit)?;
        match *value {
            toml::Value::Integer(value) => u64::try_from(value)
                .ok()
                .and_then(|value| value.checked_mul(unit.scale))
                .ok_or_else(|| format!("{value} {} is out of range", unit.name)),
            toml::Value::Float(value) => {
                let scaled = (value * unit.scale as f64).round();
                let exact = scaled >= 0.0 && scaled < (1_u64 << 53) as f64;
                // The cast is exact: an integer below 2^53.
                if exact { Ok(scaled as u64) } else { Err(format!("{value} {} is out of range", unit.name)) }
            }
            ref other => Err(format!("a {} is no number: write it without quotes", other.type_str())),
        }
    }

    fn unit(self, name: Option<&str>) -> Result<Unit, String> {
        let units = self.units();
        let names = || units.iter().map(|unit| format!("\"{}\"", unit.name)).collect::<Vec<_>>().join(", ");
        let Some(name) = name else { return Err(format!("it has no unit: add unit = {}", one_of(&names()))) };
        let found = units.iter().find(|unit| unit.name == name).copied();
        found.ok_or_else(|| format!("\"{name}\" is no unit for it: write {}", one_of(&names())))
    }

    fn units(self) -> Vec<Unit> {
        match self {
            Self::Size => SIZES.to_vec(),
            Self::Rate => RATES.to_vec(),
            Self::Time => TIMES.to_vec(),
            Self::Count(what) => vec![unit(what, 1)],
            Self::Power => POWERS.to_vec(),
            Self::Money => MONEY.to_vec(),
            Self::YearlyChance => YEARLY_CHANCES.to_vec(),
        }
    }

    /// Number and unit as they stand in a text, so that [`Dimension::integer`] gives the same
    /// integer again.
    pub(crate) fn text(self, integer: u64) -> (String, &'static str) {
        let unit = match self {
            Self::Size => shortest(integer),
            Self::Time => largest(TIMES, integer),
            Self::Power => largest(&POWERS[..2], integer),
            _ => self.units()[0],
        };
        (decimal(integer, unit.scale), unit.name)
    }
}

/// The unit in which a size is the smallest whole number.
fn shortest(size_bytes: u64) -> Unit {
    let exact = SIZES.iter().filter(|unit| unit.name != "sectors" && size_bytes.is_multiple_of(unit.scale));
    exact.copied().min_by_key(|unit| size_bytes / unit.scale).unwrap_or(unit("B", 1))
}

/// The first of the units, from large to small, of which there is at least one.
fn largest(units: &[Unit], integer: u64) -> Unit {
    let last = units[units.len() - 1];
    units.iter().find(|unit| integer >= unit.scale).copied().unwrap_or(last)
}

fn one_of(names: &str) -> String {
    if names.contains(',') { format!("one of {names}") } else { names.to_owned() }
}

/// `integer / scale` without loss, with a point only where one is needed.
fn decimal(integer: u64, scale: u64) -> String {
    let whole = integer / scale;
    let rest = u128::from(integer % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let behind = rest * 10_u128.pow(DECIMALS as u32) / u128::from(scale);
    format!("{whole}.{behind:0DECIMALS$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: &[Dimension] = &[
        Dimension::Size,
        Dimension::Rate,
        Dimension::Time,
        Dimension::Count("writes"),
        Dimension::Power,
        Dimension::Money,
        Dimension::YearlyChance,
    ];

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(integer in 0_u64..(1 << 42), which in 0..ALL.len()) {
            let (number, unit) = ALL[which].text(integer);
            let value: toml::Table = format!("value = {number}").parse().expect("a number is TOML");
            prop_assert_eq!(ALL[which].integer(&value["value"], Some(unit)), Ok(integer));
        }
    }

    #[test]
    fn units_are_told_apart() {
        let value = toml::Value::Float(19.68);
        assert_eq!(Dimension::Rate.integer(&value, Some("MB/s")), Ok(19_680_000));
        assert_eq!(Dimension::Rate.integer(&value, Some("MiB/s")), Ok(20_635_976));
        let wrong = Dimension::Time.integer(&value, Some("MB/s")).expect_err("a rate is no time");
        assert_eq!(wrong, "\"MB/s\" is no unit for it: write one of \"s\", \"ms\", \"us\", \"ns\"");
        assert!(Dimension::Rate.integer(&toml::Value::Float(f64::NAN), Some("MB/s")).is_err());
        assert!(Dimension::Rate.integer(&toml::Value::Float(-1.0), Some("MB/s")).is_err());
        assert!(Dimension::Size.integer(&toml::Value::Integer(i64::MAX), Some("TiB")).is_err());
    }
}
