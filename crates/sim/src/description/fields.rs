//! What a description consists of, said once: reading, writing and changing one are visitors of
//! this walk.

use super::facts::Price;
use super::units::Dimension;
use super::{Description, DescriptionError};
use crate::{AllocationUnits, BusKind, Disk, Fake, FastArea, Flash, Medium, Stall, Zone};

/// A parameter that is a number.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Where it stands, as `flash.read_rate`, `flash.stall.1.every`.
    pub(super) path: String,
    /// What kind of quantity it is.
    pub(super) dimension: Dimension,
    /// Least and greatest value that make sense.
    pub(super) range: (u64, u64),
}

/// What can be done with each part of a description. Whoever only looks leaves the values as they
/// are.
pub(super) trait Visitor {
    /// A word about the drive itself, which has no source.
    fn word(&mut self, path: &str, value: &mut String) -> Result<(), DescriptionError>;
    /// Whether a section that may be missing is there; `present` is what the description has.
    fn section(&mut self, path: &str, present: bool) -> Result<bool, DescriptionError>;
    /// How many parts a list has; at most [`crate::limits::LIST_PARTS_MAX`].
    fn list(&mut self, path: &str, length: usize) -> Result<usize, DescriptionError>;
    /// A number that has to be there.
    fn number(&mut self, field: &Field, value: &mut u64) -> Result<(), DescriptionError>;
    /// A number that may be unknown.
    fn optional(&mut self, field: &Field, value: &mut Option<u64>) -> Result<(), DescriptionError>;
    /// Yes or no.
    fn flag(&mut self, path: &str, value: &mut bool) -> Result<(), DescriptionError>;
    /// A kind of bus.
    fn bus(&mut self, path: &str, value: &mut BusKind) -> Result<(), DescriptionError>;
    /// A price, with its date.
    fn price(&mut self, field: &Field, value: &mut Option<Price>) -> Result<(), DescriptionError>;
    /// A date that may be unknown.
    fn date(&mut self, path: &str, value: &mut Option<String>) -> Result<(), DescriptionError>;
}

const HOUR_NS: u64 = 3_600_000_000_000;
const SIZE: (Dimension, (u64, u64)) = (Dimension::Size, (4096, 1 << 52));
const SMALL_SIZE: (Dimension, (u64, u64)) = (Dimension::Size, (512, 16 << 20));
const RATE: (Dimension, (u64, u64)) = (Dimension::Rate, (1_000, 1_000_000_000_000));
const DURATION: (Dimension, (u64, u64)) = (Dimension::Time, (0, HOUR_NS));
const POWER: (Dimension, (u64, u64)) = (Dimension::Power, (0, 1_000_000));

const fn count(what: &'static str, least: u64, greatest: u64) -> (Dimension, (u64, u64)) {
    (Dimension::Count(what), (least, greatest))
}

fn field(path: impl Into<String>, (dimension, range): (Dimension, (u64, u64))) -> Field {
    Field { path: path.into(), dimension, range }
}

/// Shows every part to the visitor, in the order of the text.
pub(super) fn walk(description: &mut Description, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    let model = &mut description.model;
    visitor.word("name", &mut model.name)?;
    visitor.word("title", &mut model.title)?;
    visitor.section("drive", true)?;
    visitor.number(&field("drive.size", SIZE), &mut model.size_bytes)?;
    narrow(visitor, field("drive.logical_block", SMALL_SIZE), &mut model.logical_block_bytes)?;
    visitor.bus("drive.bus", &mut model.bus)?;
    narrow(visitor, field("drive.queued_commands", count("commands", 1, 65_536)), &mut model.queued_commands)?;
    visitor.section("command", true)?;
    visitor.number(&field("command.read", DURATION), &mut model.command_ns.read)?;
    visitor.number(&field("command.write", DURATION), &mut model.command_ns.write)?;
    visitor.section("buffer", true)?;
    narrow(visitor, field("buffer.page", SMALL_SIZE), &mut model.page_bytes)?;
    narrow(visitor, field("buffer.pages", count("pages", 1, 65_536)), &mut model.page_buffers)?;
    visitor.flag("buffer.write_through", &mut model.write_through)?;
    walk_medium(&mut model.medium, visitor)?;
    walk_fake(&mut model.fake, visitor)?;
    walk_facts(description, visitor)
}

fn walk_medium(medium: &mut Medium, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    let (flash, disk) = match medium {
        Medium::Flash(flash) => (Some(flash), None),
        Medium::Disk(disk) => (None, Some(disk)),
    };
    let has = (visitor.section("flash", flash.is_some())?, visitor.section("disk", disk.is_some())?);
    match (has, flash, disk) {
        ((true, false), Some(flash), None) => walk_flash(flash, visitor),
        ((false, true), None, Some(disk)) => walk_disk(disk, visitor),
        ((true, false), ..) => {
            *medium = Medium::Flash(Flash::default());
            walk_medium(medium, visitor)
        }
        ((false, true), ..) => {
            *medium = Medium::Disk(Disk::default());
            walk_medium(medium, visitor)
        }
        _ => Err(DescriptionError::Medium),
    }
}

fn walk_flash(flash: &mut Flash, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    visitor.number(&field("flash.read_rate", RATE), &mut flash.bytes_per_s.read)?;
    visitor.number(&field("flash.write_rate", RATE), &mut flash.bytes_per_s.write)?;
    visitor.number(&field("flash.random_read", DURATION), &mut flash.random_ns.read)?;
    visitor.number(&field("flash.random_write", DURATION), &mut flash.random_ns.write)?;
    let cycles = field("flash.program_erase_cycles", count("cycles", 1, 100_000_000));
    narrow_optional(visitor, cycles, &mut flash.program_erase_cycles)?;
    if visitor.section("flash.allocation", flash.allocation.is_some())? {
        let nothing = AllocationUnits { unit_bytes: 0, open_units: 0, copy_bytes_per_s: 0 };
        walk_allocation(flash.allocation.get_or_insert(nothing), visitor)?;
    }
    if visitor.section("flash.fast_area", flash.fast_area.is_some())? {
        let nothing = FastArea { size_bytes: 0, write_bytes_per_s: 0, drain_bytes_per_s: 0 };
        let area = flash.fast_area.get_or_insert(nothing);
        visitor.number(&field("flash.fast_area.size", SIZE), &mut area.size_bytes)?;
        visitor.number(&field("flash.fast_area.write_rate", RATE), &mut area.write_bytes_per_s)?;
        let drain = field("flash.fast_area.drain_rate", (Dimension::Rate, (0, 1_000_000_000_000)));
        visitor.number(&drain, &mut area.drain_bytes_per_s)?;
    }
    let length = visitor.list("flash.stall", flash.stalls.len())?;
    flash.stalls.resize(length, Stall { every_writes: 1, duration_ns: 0, phase_writes: 0 });
    for (place, stall) in flash.stalls.iter_mut().enumerate() {
        walk_stall(&format!("flash.stall.{}", place + 1), stall, visitor)?;
    }
    Ok(())
}

fn walk_allocation(units: &mut AllocationUnits, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    visitor.number(&field("flash.allocation.unit", (Dimension::Size, (4096, 1 << 40))), &mut units.unit_bytes)?;
    narrow(visitor, field("flash.allocation.open", count("units", 1, 65_536)), &mut units.open_units)?;
    visitor.number(&field("flash.allocation.copy_rate", RATE), &mut units.copy_bytes_per_s)
}

fn walk_stall(path: &str, stall: &mut Stall, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    visitor.section(path, true)?;
    let writes = |least| count("writes", least, u64::from(u32::MAX));
    narrow(visitor, field(format!("{path}.every"), writes(1)), &mut stall.every_writes)?;
    visitor.number(&field(format!("{path}.duration"), DURATION), &mut stall.duration_ns)?;
    narrow(visitor, field(format!("{path}.phase"), writes(0)), &mut stall.phase_writes)
}

fn walk_disk(disk: &mut Disk, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    visitor.number(&field("disk.track_seek", DURATION), &mut disk.track_seek_ns)?;
    visitor.number(&field("disk.average_seek", DURATION), &mut disk.average_seek_ns)?;
    visitor.number(&field("disk.full_seek", DURATION), &mut disk.full_seek_ns)?;
    visitor.number(&field("disk.rotation", DURATION), &mut disk.rotation_ns)?;
    let length = visitor.list("disk.zone", disk.zones.len())?;
    disk.zones.resize(length, Zone { start_byte: 0, bytes_per_s: 0 });
    for (place, zone) in disk.zones.iter_mut().enumerate() {
        let path = format!("disk.zone.{}", place + 1);
        visitor.section(&path, true)?;
        visitor.number(&field(format!("{path}.start"), (Dimension::Size, (0, 1 << 52))), &mut zone.start_byte)?;
        visitor.number(&field(format!("{path}.rate"), RATE), &mut zone.bytes_per_s)?;
    }
    Ok(())
}

fn walk_fake(fake: &mut Option<Fake>, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    if !visitor.section("fake", fake.is_some())? {
        return Ok(());
    }
    let fake = fake.get_or_insert(Fake { real_bytes: 0, repeat_bytes: None, cache_bytes: 0 });
    visitor.number(&field("fake.real", SIZE), &mut fake.real_bytes)?;
    visitor.optional(&field("fake.repeat", SIZE), &mut fake.repeat_bytes)?;
    let mut cache_bytes = Some(fake.cache_bytes).filter(|&bytes| bytes > 0);
    visitor.optional(&field("fake.cache", SIZE), &mut cache_bytes)?;
    fake.cache_bytes = cache_bytes.unwrap_or(0);
    Ok(())
}

fn walk_facts(description: &mut Description, visitor: &mut impl Visitor) -> Result<(), DescriptionError> {
    let facts = &mut description.facts;
    let known = *facts != super::Facts::default();
    if !visitor.section("facts", known)? {
        return Ok(());
    }
    visitor.price(&field("facts.price", (Dimension::Money, (0, 100_000_000_000))), &mut facts.price)?;
    visitor.date("facts.released", &mut facts.released)?;
    narrow_optional(visitor, field("facts.power_idle", POWER), &mut facts.power.idle_mw)?;
    narrow_optional(visitor, field("facts.power_active", POWER), &mut facts.power.active_mw)?;
    narrow_optional(visitor, field("facts.power_start", POWER), &mut facts.power.start_mw)?;
    let yearly = field("facts.yearly_failures", (Dimension::YearlyChance, (0, 1_000_000)));
    narrow_optional(visitor, yearly, &mut facts.yearly_failure_ppm)?;
    let unreadable = field("facts.bits_per_unreadable_sector", count("bits", 1_000_000_000, 1 << 62));
    visitor.optional(&unreadable, &mut facts.bits_per_unreadable_sector)
}

/// A number that fits 32 bits, as its range says.
fn narrow(visitor: &mut impl Visitor, field: Field, value: &mut u32) -> Result<(), DescriptionError> {
    let mut wide = u64::from(*value);
    visitor.number(&field, &mut wide)?;
    *value = u32::try_from(wide).expect("the field's range fits 32 bits");
    Ok(())
}

fn narrow_optional(visitor: &mut impl Visitor, field: Field, value: &mut Option<u32>) -> Result<(), DescriptionError> {
    let mut wide = value.map(u64::from);
    visitor.optional(&field, &mut wide)?;
    *value = wide.map(|wide| u32::try_from(wide).expect("the field's range fits 32 bits"));
    Ok(())
}
