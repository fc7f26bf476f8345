//! Writing: the text that reads back as the same description.

use std::fmt::Write as _;

use super::facts::Price;
use super::fields::{Field, Visitor, walk};
use super::{Description, DescriptionError, Origin, Parameter};
use crate::BusKind;

pub(super) fn to_text(description: &Description) -> String {
    write(description).0
}

pub(super) fn parameters(description: &Description) -> Vec<Parameter> {
    write(description).1
}

fn write(description: &Description) -> (String, Vec<Parameter>) {
    let mut writer = Writer { description, text: String::new(), parameters: Vec::new() };
    walk(&mut description.clone(), &mut writer).expect("the writer refuses nothing, and a description has one medium");
    (writer.text, writer.parameters)
}

struct Writer<'a> {
    description: &'a Description,
    text: String,
    parameters: Vec<Parameter>,
}

impl Writer<'_> {
    /// One line: `name = { value = .., unit = "..", status = "..", source = ".." }`.
    fn line(&mut self, path: &str, value: &str, unit: Option<&str>, date: Option<&str>) {
        let name = path.rsplit('.').next().unwrap_or(path);
        let mut line = format!("{name} = {{ value = {value}");
        let mut add = |key: &str, text: &str| {
            // Writing to a String cannot fail.
            let _ = write!(line, ", {key} = {}", toml::Value::String(text.to_owned()));
        };
        if let Some(unit) = unit {
            add("unit", unit);
        }
        if let Some(date) = date {
            add("date", date);
        }
        let origin = self.description.origins.get(path).cloned().unwrap_or_else(Origin::unknown);
        add("status", origin.status.word());
        if let Some(spread) = origin.spread_ppm {
            add("spread", &format!("{} %", f64::from(spread) / 10_000.0));
        }
        add("source", &origin.source);
        self.text.push_str(&line);
        self.text.push_str(" }\n");
        let value = unit.map_or_else(|| value.trim_matches('"').to_owned(), |unit| format!("{value} {unit}"));
        self.parameters.push(Parameter { path: path.to_owned(), value, origin });
    }

    fn quantity(&mut self, field: &Field, value: u64, date: Option<&str>) {
        let (number, unit) = field.dimension.text(value);
        self.line(&field.path, &number, Some(unit), date);
    }
}

impl Visitor for Writer<'_> {
    fn word(&mut self, path: &str, value: &mut String) -> Result<(), DescriptionError> {
        self.text.push_str(&format!("{path} = {}\n", toml::Value::String(value.clone())));
        Ok(())
    }

    fn section(&mut self, path: &str, present: bool) -> Result<bool, DescriptionError> {
        if present {
            let (list, place) = path.rsplit_once('.').unwrap_or((path, ""));
            let header = if place.parse::<usize>().is_ok() { format!("[[{list}]]") } else { format!("[{path}]") };
            self.text.push_str(&format!("\n{header}\n"));
        }
        Ok(present)
    }

    fn list(&mut self, _path: &str, length: usize) -> Result<usize, DescriptionError> {
        Ok(length)
    }

    fn number(&mut self, field: &Field, value: &mut u64) -> Result<(), DescriptionError> {
        self.quantity(field, *value, None);
        Ok(())
    }

    fn optional(&mut self, field: &Field, value: &mut Option<u64>) -> Result<(), DescriptionError> {
        if let Some(value) = *value {
            self.quantity(field, value, None);
        }
        Ok(())
    }

    fn flag(&mut self, path: &str, value: &mut bool) -> Result<(), DescriptionError> {
        self.line(path, &value.to_string(), None, None);
        Ok(())
    }

    fn bus(&mut self, path: &str, value: &mut BusKind) -> Result<(), DescriptionError> {
        self.line(path, &format!("\"{}\"", value.word()), None, None);
        Ok(())
    }

    fn price(&mut self, field: &Field, value: &mut Option<Price>) -> Result<(), DescriptionError> {
        if let Some(price) = value {
            self.quantity(field, price.usd_cents, Some(&price.date));
        }
        Ok(())
    }

    fn date(&mut self, path: &str, value: &mut Option<String>) -> Result<(), DescriptionError> {
        if let Some(date) = value {
            self.line(path, &format!("\"{date}\""), None, None);
        }
        Ok(())
    }
}
