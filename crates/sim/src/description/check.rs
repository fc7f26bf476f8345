//! What has to be true of parameters together.

use super::{Description, DescriptionError};
use crate::{Disk, DriveModel, Fake, Flash, Medium};

pub(super) fn check(description: &Description) -> Result<(), DescriptionError> {
    let model = &description.model;
    let wrong = |path: &str, what: &str| Err(DescriptionError::Value { path: path.to_owned(), what: what.to_owned() });
    if !is_name(&model.name) {
        return wrong("name", "a name is lowercase letters and digits, in words joined by single hyphens");
    }
    if !model.logical_block_bytes.is_power_of_two() {
        return wrong("drive.logical_block", "it is no power of two: write 512 or 4096 bytes");
    }
    if !model.size_bytes.is_multiple_of(u64::from(model.logical_block_bytes)) {
        return wrong("drive.size", "it is no multiple of drive.logical_block");
    }
    if !model.page_bytes.is_multiple_of(512) {
        return wrong("buffer.page", "it is no multiple of 512 bytes");
    }
    if let Some(fake) = &model.fake {
        check_fake(model, fake)?;
    }
    match &model.medium {
        Medium::Flash(flash) => check_flash(model, flash),
        Medium::Disk(disk) => check_disk(model, disk),
    }
}

fn is_name(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    name.len() <= 64 && name.split('-').all(is_word)
}

fn check_flash(model: &DriveModel, flash: &Flash) -> Result<(), DescriptionError> {
    let wrong = |path: String, what: &str| Err(DescriptionError::Value { path, what: what.to_owned() });
    for (place, stall) in flash.stalls.iter().enumerate() {
        if stall.phase_writes >= stall.every_writes {
            return wrong(
                format!("flash.stall.{}.phase", place + 1),
                "it is not below `every`: begin within the first round",
            );
        }
    }
    if flash.allocation.is_some_and(|units| !units.unit_bytes.is_multiple_of(u64::from(model.logical_block_bytes))) {
        return wrong("flash.allocation.unit".to_owned(), "it is no multiple of drive.logical_block");
    }
    if flash.fast_area.is_some_and(|area| area.size_bytes > model.size_bytes) {
        return wrong("flash.fast_area.size".to_owned(), "it is larger than the drive");
    }
    Ok(())
}

fn check_fake(model: &DriveModel, fake: &Fake) -> Result<(), DescriptionError> {
    let wrong = |path: &str, what: &str| Err(DescriptionError::Value { path: path.to_owned(), what: what.to_owned() });
    let is_whole = |bytes: u64| bytes.is_multiple_of(4096);
    if !is_whole(fake.real_bytes) {
        return wrong("fake.real", "it is no multiple of 4 KiB");
    }
    if fake.real_bytes >= model.size_bytes {
        return wrong("fake.real", "it is not below drive.size, so the drive is no fake");
    }
    match fake.repeat_bytes {
        Some(bytes) if !is_whole(bytes) => wrong("fake.repeat", "it is no multiple of 4 KiB"),
        Some(bytes) if bytes < fake.real_bytes => {
            wrong("fake.repeat", "it is below fake.real, which nothing could fill")
        }
        Some(bytes) if bytes >= model.size_bytes => wrong("fake.repeat", "it is not below drive.size: nothing repeats"),
        _ => Ok(()),
    }
}

fn check_disk(model: &DriveModel, disk: &Disk) -> Result<(), DescriptionError> {
    let wrong = |path: String, what: &str| Err(DescriptionError::Value { path, what: what.to_owned() });
    if disk.zones.first().is_none_or(|zone| zone.start_byte != 0) {
        return wrong("disk.zone".to_owned(), "there has to be one that starts at 0 B");
    }
    for (place, pair) in disk.zones.windows(2).enumerate() {
        if pair[0].start_byte >= pair[1].start_byte {
            return wrong(format!("disk.zone.{}.start", place + 2), "it does not start after the zone before");
        }
    }
    if disk.zones.last().is_some_and(|zone| zone.start_byte >= model.size_bytes) {
        return wrong(format!("disk.zone.{}.start", disk.zones.len()), "it starts beyond the end of the drive");
    }
    if !(disk.track_seek_ns <= disk.average_seek_ns && disk.average_seek_ns <= disk.full_seek_ns) {
        return wrong("disk.average_seek".to_owned(), "it does not lie between track_seek and full_seek");
    }
    if disk.rotation_ns == 0 {
        return wrong("disk.rotation".to_owned(), "a disk turns: write the time of one turn");
    }
    Ok(())
}
