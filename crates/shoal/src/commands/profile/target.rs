//! What is measured: a real drive or a simulated one, and what it says of itself.

use shoal_drive::{Access, Drive, DriveKind};
use shoal_inventory::{SimulatedDrives, open_drives};
use shoal_profile::{Given, STEP_BYTES_MAX};
use shoal_sim::BusKind;
use shoal_text::format_day;
use shoal_volume::{Contents, DriveId, RealWorld, SimulatedWorld, World};

use crate::args::{ArrayArgs, Cli, ProfileArgs};
use crate::attaching::check_overwritable;
use crate::exit::Failure;
use crate::setup::join;

/// Drives in their world; the first is the one that is described.
pub(super) enum Target {
    Real { world: Box<RealWorld>, drives: Vec<DriveId>, given: Given },
    Simulated { world: Box<SimulatedWorld>, drives: Vec<DriveId>, given: Given, notation: String },
}

/// Above this a USB link is none of USB 2.0.
const USB2_BITS_PER_S: u64 = 480_000_000;

/// Opens what the arguments name. Only drives whose content may be lost are opened for writing.
pub(super) fn open(cli: &Cli, args: &ProfileArgs) -> Result<Target, Failure> {
    let bus = args.bus.as_deref().map(named_bus).transpose()?;
    if let Some(simulated) = SimulatedDrives::named(&args.drives)? {
        let opened = simulated.open_all(Contents::Discarded, (1, STEP_BYTES_MAX), 0)?;
        let title = simulated.drives().next().map(|(description, ..)| description.model.title.clone());
        let (title, plugged) = (title.unwrap_or_default(), simulated.bus_of(0));
        let given = given(args, &opened.world, opened.drives[0], (&title, bus.unwrap_or(plugged), None))?;
        let notation = simulated.notation().to_owned();
        return Ok(Target::Simulated { world: opened.world.into(), drives: opened.drives, given, notation });
    }
    let (first, others) = args.drives.split_at(1);
    let mut drives = if args.write {
        check_overwritable(first, &ArrayArgs::default(), args.force)?.open()?
    } else {
        open_drives(first, Access::Read)?
    };
    let said = said(&drives[0]);
    drives.extend(open_drives(others, Access::Read)?);
    let opened = join(cli, drives, 1, STEP_BYTES_MAX)?;
    let (title, plugged, rotates) = said;
    let given = given(args, &opened.world, opened.drives[0], (&title, bus.unwrap_or(plugged), rotates))?;
    Ok(Target::Real { world: opened.world.into(), drives: opened.drives, given })
}

fn named_bus(word: &str) -> Result<BusKind, Failure> {
    let message = || Failure::Usage(format!("`{word}` is no bus: write usb2, usb3, ata133, sata3, sata6 or direct"));
    BusKind::from_word(word).ok_or_else(message)
}

/// What a drive says of itself: title, bus, and whether it rotates where that can be believed:
/// bridges call sticks rotating.
fn said(drive: &Drive) -> (String, BusKind, Option<bool>) {
    let identity = drive.identity();
    let bus = match identity.usb.as_ref().map(|port| port.link_bits_per_s) {
        Some(Some(bits_per_s)) if bits_per_s > USB2_BITS_PER_S => BusKind::Usb3,
        Some(_) => BusKind::Usb2,
        None => BusKind::Direct,
    };
    let words: Vec<String> = [identity.vendor, identity.model].into_iter().flatten().collect();
    let path = drive.path();
    let title = match (words.is_empty(), drive.kind()) {
        (false, _) => words.join(" "),
        (true, DriveKind::File) => format!("the file {}", path.display()),
        (true, DriveKind::BlockDevice) => path.display().to_string(),
    };
    let rotates =
        (identity.is_rotational_as_reported == Some(false) || drive.kind() == DriveKind::File).then_some(false);
    (title, bus, rotates)
}

fn given(
    args: &ProfileArgs,
    world: &impl World,
    drive: DriveId,
    (title, bus, rotates): (&str, BusKind, Option<bool>),
) -> Result<Given, Failure> {
    let facts = world.facts(drive);
    let name = args.name.clone().unwrap_or_else(|| name_of(title));
    if name_of(&name) != name {
        let message = format!("--name {name}: a name is lowercase words joined by hyphens, as {}", name_of(&name));
        return Err(Failure::Usage(message));
    }
    // A description is one line of text at each place.
    let title: String = title.chars().filter(|letter| !letter.is_control()).take(200).collect();
    let block = u64::from(facts.logical_block_bytes);
    Ok(Given {
        name,
        title: if title.trim().is_empty() { facts.name } else { title },
        size_bytes: facts.size_bytes / block * block,
        logical_block_bytes: facts.logical_block_bytes,
        bus,
        rotates,
        date: format_day(world.unix_time_s()),
    })
}

/// Lowercase words joined by hyphens, out of anything.
fn name_of(text: &str) -> String {
    let lowercase = text.to_ascii_lowercase();
    let words = lowercase.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "drive".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_gives_a_name() {
        assert_eq!(name_of("SanDisk  Cruzer(TM) 2GB "), "sandisk-cruzer-tm-2gb");
        assert_eq!(name_of("//"), "drive");
    }
}
