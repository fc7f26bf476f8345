//! Changing one parameter of a description, as `size=64M` in the notation does: in its text, which
//! is then read again. So a change can do nothing that a text cannot.

use toml::{Table, Value};

use super::{Description, DescriptionError, check, read, write};
use crate::Medium;

pub(super) fn change(description: &Description, name: &str, value: &str) -> Result<Description, DescriptionError> {
    let mut table: Table = write::to_text(description).parse().expect("what is written can be read");
    if let Some(part) = name.strip_prefix("fake.").filter(|part| FAKE_PARTS.contains(part)) {
        add_fake(&mut table, part);
    }
    let mut found = Vec::new();
    find(&Value::Table(table.clone()), "", name, &mut found);
    let path = match &found[..] {
        [path] => path.clone(),
        [] => return Err(DescriptionError::Unknown { path: name.to_owned() }),
        [first, second, ..] => {
            let what = format!("it may be `{first}` or `{second}`: write all of one of them");
            return Err(DescriptionError::Value { path: name.to_owned(), what });
        }
    };
    let mut parts = path.split('.');
    let first = parts.next().and_then(|part| table.get_mut(part));
    let parameter = parts.fold(first, |value, part| step(value?, part)).and_then(Value::as_table_mut);
    put(parameter.expect("the path was found in this table"), value);
    let mut changed = read::parse_unchecked(table)?;
    scale_zones(&mut changed, description.model.size_bytes);
    check::check(&changed)?;
    Ok(changed)
}

/// What no honest drive has, and can be given to one nevertheless.
const FAKE_PARTS: [&str; 3] = ["real", "repeat", "cache"];

/// Puts a parameter there to be changed, if it is not there.
fn add_fake(table: &mut Table, part: &str) {
    let fake = table.entry("fake").or_insert_with(|| Value::Table(Table::new()));
    let nothing = [("value", Value::Integer(0)), ("unit", Value::String("B".to_owned()))];
    let nothing = nothing.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    if let Some(fake) = fake.as_table_mut() {
        fake.entry(part).or_insert(Value::Table(nothing));
    }
}

/// The paths of all parameters that a name may mean: their last parts are its parts.
fn find(value: &Value, path: &str, name: &str, found: &mut Vec<String>) {
    let join = |part: &str| if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
    match value {
        Value::Table(table) if table.contains_key("value") => {
            let before = path.strip_suffix(name);
            if before.is_some_and(|before| before.is_empty() || before.ends_with('.')) {
                found.push(path.to_owned());
            }
        }
        Value::Table(table) => table.iter().for_each(|(part, value)| find(value, &join(part), name, found)),
        Value::Array(list) => {
            let parts = list.iter().enumerate();
            parts.for_each(|(place, value)| find(value, &join(&(place + 1).to_string()), name, found));
        }
        _ => {}
    }
}

fn step<'a>(value: &'a mut Value, part: &str) -> Option<&'a mut Value> {
    match value {
        Value::Table(table) => table.get_mut(part),
        Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?.checked_sub(1)?),
        _ => None,
    }
}

/// Puts a value into a parameter. Number and unit stand together, as `25MB/s`; without a unit a
/// size is in bytes, and anything else in the unit that it had. K, M, G and T are powers of two, as
/// everywhere on shoal's command line.
fn put(parameter: &mut Table, text: &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number = digits.parse().map(Value::Integer).or_else(|_| digits.parse().map(Value::Float));
    let word = text.parse().map_or_else(|_| Value::String(text.to_owned()), Value::Boolean);
    let old = parameter.get("unit").and_then(Value::as_str).unwrap_or_default();
    let unit = match unit {
        "" if old.ends_with('B') => "B",
        "" => old,
        "K" => "KiB",
        "M" => "MiB",
        "G" => "GiB",
        "T" => "TiB",
        "mA" => "mA at 5 V",
        unit => unit,
    };
    let unit = Value::String(unit.to_owned());
    match number {
        Ok(number) if parameter.contains_key("unit") => {
            parameter.insert("value".to_owned(), number);
            parameter.insert("unit".to_owned(), unit);
        }
        _ => {
            parameter.insert("value".to_owned(), word);
        }
    }
    parameter.remove("spread");
    parameter.insert("status".to_owned(), Value::String("assumed".to_owned()));
    parameter.insert("source".to_owned(), Value::String(format!("changed to {text}")));
}

/// A smaller disk has the same zones in proportion.
fn scale_zones(description: &mut Description, size_before: u64) {
    let size = description.model.size_bytes;
    if let (Medium::Disk(disk), true) = (&mut description.model.medium, size != size_before) {
        for zone in &mut disk.zones {
            let scaled = u128::from(zone.start_byte) * u128::from(size) / u128::from(size_before);
            zone.start_byte = u64::try_from(scaled).unwrap_or(u64::MAX);
        }
    }
}
