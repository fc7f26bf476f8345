//! Reading: takes each part out of the parsed text; what is left over is nothing that a description
//! has.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use super::facts::Price;
use super::fields::{Field, Visitor, walk};
use super::{Description, DescriptionError, Facts, Origin, Status, check};
use crate::limits::{LIST_PARTS_MAX, TEXT_BYTES_MAX};
use crate::{BusKind, DriveModel, Flash, Medium, PerDirection};

/// A parameter as it stands in the text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    value: Value,
    unit: Option<String>,
    status: Status,
    source: String,
    spread: Option<String>,
    date: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Description, DescriptionError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(DescriptionError::TooLong { length: text.len() });
    }
    let table = text.parse::<Table>().map_err(|error| syntax(text, &error))?;
    let description = parse_unchecked(table)?;
    check::check(&description)?;
    Ok(description)
}

/// Everything but what parameters have to be together.
pub(super) fn parse_unchecked(table: Table) -> Result<Description, DescriptionError> {
    let mut reader = Reader { rest: Value::Table(table), origins: BTreeMap::new() };
    let mut description = nothing();
    walk(&mut description, &mut reader)?;
    if let Some(path) = first_leaf(&reader.rest) {
        return Err(DescriptionError::Unknown { path });
    }
    description.origins = reader.origins;
    Ok(description)
}

fn syntax(text: &str, error: &toml::de::Error) -> DescriptionError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
    DescriptionError::Syntax { line, what: one_line(error.message()) }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the walk fills in.
fn nothing() -> Description {
    let model = DriveModel {
        name: String::new(),
        title: String::new(),
        size_bytes: 0,
        logical_block_bytes: 0,
        bus: BusKind::Direct,
        command_ns: PerDirection::default(),
        page_bytes: 0,
        page_buffers: 0,
        write_through: false,
        queued_commands: 0,
        medium: Medium::Flash(Flash::default()),
        fake: None,
    };
    Description { model, facts: Facts::default(), origins: BTreeMap::new() }
}

struct Reader {
    rest: Value,
    origins: BTreeMap<String, Origin>,
}

impl Reader {
    /// What stands at a path.
    fn find(&mut self, path: &str) -> Option<&mut Value> {
        path.split('.').try_fold(&mut self.rest, |value, part| match value {
            Value::Table(table) => table.get_mut(part),
            Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?.checked_sub(1)?),
            _ => None,
        })
    }

    /// Takes out what stands at a path.
    fn take(&mut self, path: &str) -> Option<Value> {
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let parent = if parent.is_empty() { Some(&mut self.rest) } else { self.find(parent) };
        parent?.as_table_mut()?.remove(name)
    }

    /// Takes out a parameter, and keeps where it is from.
    fn parameter(&mut self, path: &str) -> Result<Option<Parameter>, DescriptionError> {
        let Some(value) = self.take(path) else { return Ok(None) };
        let wrong = |what: String| DescriptionError::Value { path: path.to_owned(), what };
        if !value.is_table() {
            return Err(wrong(format!("it is a bare {}: write {EXAMPLE}", value.type_str())));
        }
        let parameter: Parameter = value
            .try_into()
            .map_err(|error: toml::de::Error| wrong(format!("{}: write {EXAMPLE}", one_line(error.message()))))?;
        let spread_ppm = parameter.spread.as_deref().map(spread).transpose().map_err(wrong)?;
        let origin = Origin { status: parameter.status, source: parameter.source.clone(), spread_ppm };
        if !is_one_line(&origin.source) {
            return Err(wrong("its source is empty or longer than a line: say in one line where it is from".into()));
        }
        self.origins.insert(path.to_owned(), origin);
        Ok(Some(parameter))
    }

    fn needed(&mut self, path: &str) -> Result<Parameter, DescriptionError> {
        self.parameter(path)?.ok_or_else(|| DescriptionError::Missing { path: path.to_owned() })
    }
}

const EXAMPLE: &str = r#"{ value = .., unit = "..", status = "..", source = ".." }"#;

fn is_one_line(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= 400 && !text.chars().any(char::is_control)
}

fn integer(parameter: &Parameter, field: &Field) -> Result<u64, DescriptionError> {
    let wrong = |what| DescriptionError::Value { path: field.path.clone(), what };
    let value = field.dimension.integer(&parameter.value, parameter.unit.as_deref()).map_err(wrong)?;
    within(field, value)?;
    Ok(value)
}

fn within(field: &Field, value: u64) -> Result<(), DescriptionError> {
    let (least, greatest) = field.range;
    if (least..=greatest).contains(&value) {
        return Ok(());
    }
    let text = |value| {
        let (number, unit) = field.dimension.text(value);
        format!("{number} {unit}")
    };
    let what = format!("{} is no sensible value: from {} to {}", text(value), text(least), text(greatest));
    Err(DescriptionError::Value { path: field.path.clone(), what })
}

fn without_unit(parameter: &Parameter, path: &str) -> Result<(), DescriptionError> {
    match &parameter.unit {
        None => Ok(()),
        Some(unit) => Err(DescriptionError::Value {
            path: path.to_owned(),
            what: format!("it has no unit: take out unit = \"{unit}\""),
        }),
    }
}

fn spread(text: &str) -> Result<u32, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        // The cast is of an integer between 0 and 10^8.
        Some(percent) if (0.0..=10_000.0).contains(&percent) => Ok((percent * 10_000.0).round() as u32),
        _ => Err(format!("spread = \"{text}\" is none: write it as \"0.5 %\"")),
    }
}

/// Whether a text is a year, a month or a day.
fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let year = parts.next().is_some_and(|year| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()));
    let within =
        |part: &str, greatest| part.len() == 2 && part.parse().is_ok_and(|number: u8| (1..=greatest).contains(&number));
    year && parts.next().is_none_or(|month| within(month, 12))
        && parts.next().is_none_or(|day| within(day, 31))
        && parts.next().is_none()
}

fn dated(path: &str, text: Option<&str>) -> Result<String, DescriptionError> {
    let text = text.filter(|text| is_date(text));
    text.map(str::to_owned).ok_or_else(|| DescriptionError::Value {
        path: path.to_owned(),
        what: "it needs a date: write it as \"2007\", \"2007-03\" or \"2007-03-01\"".to_owned(),
    })
}

/// The first thing in a value that is neither table nor list.
fn first_leaf(value: &Value) -> Option<String> {
    let below = |name: String, value: &Value| {
        if !matches!(value, Value::Table(_) | Value::Array(_)) || value.get("value").is_some() {
            return Some(name);
        }
        first_leaf(value).map(|rest| format!("{name}.{rest}"))
    };
    match value {
        Value::Table(table) => table.iter().find_map(|(name, value)| below(name.clone(), value)),
        Value::Array(list) => list.iter().enumerate().find_map(|(place, value)| below((place + 1).to_string(), value)),
        _ => None,
    }
}

impl Visitor for Reader {
    fn word(&mut self, path: &str, value: &mut String) -> Result<(), DescriptionError> {
        match self.take(path) {
            Some(Value::String(text)) if is_one_line(&text) => *value = text,
            _ => return Err(DescriptionError::Word { path: path.to_owned() }),
        }
        Ok(())
    }

    fn section(&mut self, path: &str, _present: bool) -> Result<bool, DescriptionError> {
        match self.find(path) {
            None => Ok(false),
            Some(Value::Table(_)) => Ok(true),
            Some(_) => Err(DescriptionError::Section { path: path.to_owned() }),
        }
    }

    fn list(&mut self, path: &str, _length: usize) -> Result<usize, DescriptionError> {
        match self.find(path) {
            None => Ok(0),
            Some(Value::Array(list)) if list.len() <= LIST_PARTS_MAX => Ok(list.len()),
            Some(_) => Err(DescriptionError::List { path: path.to_owned() }),
        }
    }

    fn number(&mut self, field: &Field, value: &mut u64) -> Result<(), DescriptionError> {
        *value = integer(&self.needed(&field.path)?, field)?;
        Ok(())
    }

    fn optional(&mut self, field: &Field, value: &mut Option<u64>) -> Result<(), DescriptionError> {
        let parameter = self.parameter(&field.path)?;
        *value = parameter.map(|parameter| integer(&parameter, field)).transpose()?;
        Ok(())
    }

    fn flag(&mut self, path: &str, value: &mut bool) -> Result<(), DescriptionError> {
        let parameter = self.needed(path)?;
        without_unit(&parameter, path)?;
        *value = parameter.value.as_bool().ok_or_else(|| DescriptionError::Value {
            path: path.to_owned(),
            what: "it is neither true nor false: write one of them, without quotes".to_owned(),
        })?;
        Ok(())
    }

    fn bus(&mut self, path: &str, value: &mut BusKind) -> Result<(), DescriptionError> {
        let parameter = self.needed(path)?;
        without_unit(&parameter, path)?;
        let kind = parameter.value.as_str().and_then(BusKind::from_word);
        *value = kind.ok_or_else(|| DescriptionError::Value {
            path: path.to_owned(),
            what: format!("it is no bus: write one of {}", BusKind::words()),
        })?;
        Ok(())
    }

    fn price(&mut self, field: &Field, value: &mut Option<Price>) -> Result<(), DescriptionError> {
        let Some(parameter) = self.parameter(&field.path)? else { return Ok(()) };
        let usd_cents = integer(&parameter, field)?;
        *value = Some(Price { usd_cents, date: dated(&field.path, parameter.date.as_deref())? });
        Ok(())
    }

    fn date(&mut self, path: &str, value: &mut Option<String>) -> Result<(), DescriptionError> {
        let Some(parameter) = self.parameter(path)? else { return Ok(()) };
        without_unit(&parameter, path)?;
        *value = Some(dated(path, parameter.value.as_str())?);
        Ok(())
    }
}
