//! Two Rally2 sticks in RAID0 on a laptop, by hdparm, seeker and dd.

mod claims;
mod stick;

pub(crate) use claims::claims;

use std::sync::OnceLock;

use shoal_sim::{DriveModel, HostModel, Topology};
use shoal_volume::{ArrayLevel, ArrayVolume, Level, Raid0Layout, SimulatedWorld, Volume};

use crate::ReplayError;
use crate::experiment::Experiment;
use crate::host::{ReadAhead, TURN_NS, WriteBack, linux_2_6, md_read_ahead_bytes, write_pages_in_step};
use crate::methods::{buffered_read, dd_write, megabytes_per_s, seeker};
use crate::outcomes::Outcomes;
use crate::rig::{alone, array, drive, fleet};

const RAID0: ArrayLevel = ArrayLevel::Plain(Level::Raid0(Raid0Layout::Original));
/// mdadm's default of the time.
const CHUNK_BYTES: u32 = 64 << 10;
/// What `hdparm -a` was set to.
pub(crate) const READ_AHEAD_SECTORS: [u32; 3] = [512, 1024, 2048];
/// A tenth of memory (`vm_dirty_ratio` of kernels up to 2.6.21), of which the laptop is taken to
/// have 2 GiB.
const DIRTY_BYTES: u64 = (2 << 30) / 10;
/// `bs=1024 count=1000000`, and four times as much.
const SINGLE_BYTES: u64 = 1_024_000_000;
const ARRAY_BYTES: u64 = 4 * SINGLE_BYTES;
/// Of the file written page by page, which takes the same time for each: enough to be steady.
const IN_STEP_BYTES: u64 = 32 << 20;

fn host() -> HostModel {
    HostModel { dirty_bytes: DIRTY_BYTES, ..linux_2_6(TURN_NS) }
}

fn one_stick() -> Result<Topology, ReplayError> {
    static STICK: OnceLock<DriveModel> = OnceLock::new();
    let model = match STICK.get() {
        Some(model) => model.clone(),
        None => {
            let model = stick::stick()?;
            STICK.get_or_init(|| model).clone()
        }
    };
    Ok(alone(model))
}

/// On one bus, as a laptop has them.
fn two_sticks() -> Result<ArrayVolume<SimulatedWorld>, ReplayError> {
    let mut topology = one_stick()?;
    topology.drives.push(topology.drives[0].clone());
    array(&topology, &host(), RAID0, CHUNK_BYTES)
}

/// The longest first.
pub(crate) fn experiments() -> Vec<Experiment> {
    vec![
        Experiment::new(array_write),
        Experiment::new(single_write),
        Experiment::new(sync_write),
        Experiment::new(array_reads),
        Experiment::new(single_read),
        Experiment::new(seeks),
    ]
}

fn array_write(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let rate = dd_write(WriteBack::new(two_sticks()?, host().dirty_bytes), ARRAY_BYTES, false)?;
    outcomes.put("array, dd write", rate);
    outcomes.put("array, dd write, s", ARRAY_BYTES as f64 / 1e6 / rate);
    Ok(())
}

fn single_write(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let file = WriteBack::new(drive(&one_stick()?, &host())?, host().dirty_bytes);
    outcomes.put("single, dd write", dd_write(file, SINGLE_BYTES, false)?);
    Ok(())
}

fn sync_write(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let rate = megabytes_per_s(IN_STEP_BYTES, write_pages_in_step(two_sticks()?, IN_STEP_BYTES)?);
    outcomes.put("array, sync write", rate);
    outcomes.put("array, sync write, s", SINGLE_BYTES as f64 / 1e6 / rate);
    Ok(())
}

fn array_reads(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let default_sectors = md_read_ahead_bytes(&host(), 2, CHUNK_BYTES) / 512;
    outcomes.put("array, default read-ahead in sectors", f64::from(default_sectors));
    for sectors in READ_AHEAD_SECTORS {
        let file = ReadAhead::new(two_sticks()?, sectors * 512, host().turn_ns);
        outcomes.put(format!("array, hdparm -t, {sectors} sectors"), buffered_read(file)?);
    }
    outcomes.put("capacity in GB", two_sticks()?.size_bytes() as f64 / 1e9);
    Ok(())
}

fn single_read(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let host = host();
    let file = ReadAhead::new(drive(&one_stick()?, &host)?, host.read_ahead_bytes, host.turn_ns);
    outcomes.put("single, hdparm -t", buffered_read(file)?);
    let disk = fleet("laptop-7200")?.topology;
    let file = ReadAhead::new(drive(&disk, &host)?, host.read_ahead_bytes, host.turn_ns);
    outcomes.put("laptop disk, hdparm -t", buffered_read(file)?);
    Ok(())
}

fn seeks(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let single = seeker(&mut drive(&one_stick()?, &host())?)?;
    outcomes.put("single, seeker, ms", single.access_ms());
    let both = seeker(&mut two_sticks()?)?;
    outcomes.put("array, seeker, ms", both.access_ms());
    outcomes.put("array, seeker, seeks/s", both.seeks_per_s());
    for (name, disk) in [("laptop disk", "laptop-7200"), ("7200 rpm disk", "wd2500jb")] {
        let disk = seeker(&mut drive(&fleet(disk)?.topology, &host())?)?;
        outcomes.put(format!("{name}, seeker, ms"), disk.access_ms());
    }
    Ok(())
}
