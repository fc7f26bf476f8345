//! Disks in software and hardware RAID5: one writer and two, and over gigabit.
//!
//! Disks and buses would allow four times what was measured, so the host set the pace. Its pace is
//! an input here; what two writers or a network make of it is foretold.

mod claims;

pub(crate) use claims::claims;

use shoal_sim::{HostModel, Scheduler};
use shoal_volume::{ArrayLevel, ArrayVolume, Level, ParityLayout, Raid0Layout, SimulatedWorld, Volume};

use crate::ReplayError;
use crate::calibrate::{ns_per_byte, solve};
use crate::experiment::Experiment;
use crate::host::PAGE_BYTES;
use crate::methods::{Call, Hop, Paced};
use crate::outcomes::Outcomes;
use crate::rig::{array, fleet};

const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);
const CHUNK_BYTES: u32 = 64 << 10;
/// The study's test file.
const WHOLE_FILE_BYTES: u64 = 3_280_000_000;
/// What is played of it: some hundred batches, of which one is as the other.
const FILE_BYTES: u64 = WHOLE_FILE_BYTES / 8;
/// Data in a stripe: of eight disks, and of twice six.
const SOFTWARE_ROW_BYTES: u64 = 7 * CHUNK_BYTES as u64;
const RAID50_ROW_BYTES: u64 = 2 * 5 * CHUNK_BYTES as u64;
/// `bdflush` of Linux 2.4 writes `ndirty` = 500 blocks of 4 KiB at a time (`fs/buffer.c`).
const BATCH_2_4_BYTES: u64 = 500 * 4096;
/// Linux 2.6 writes `MAX_WRITEBACK_PAGES` = 1024 pages of a file at a time (`mm/page-writeback.c`).
const BATCH_2_6_BYTES: u64 = 1024 * 4096;
/// The published paces of the host, in MB/s: a program that writes, and cp.
const WRITER_MB_PER_S: f64 = 29.0;
const COPY_MB_PER_S: f64 = 33.0;
/// FTP's figure, in MB/s.
const FTP_MB_PER_S: f64 = 22.0;
/// An NFS write of the time, and what its answer is taken to add.
const NFS_CALL: Call = Call { bytes: 8 << 10, turn_ns: 100_000 };

/// As [`linux_2_6`](crate::host::linux_2_6), also for 2.4, without a loss between windows.
fn host() -> HostModel {
    HostModel { piece_bytes: PAGE_BYTES, scheduler: Scheduler::None, ..HostModel::default() }
}

/// Eight disks on the four channels of two cards, on one PCI bus.
fn software_raid5() -> Result<ArrayVolume<SimulatedWorld>, ReplayError> {
    array(&fleet("wd2500jb*8@pci/ata133*8")?.topology, &host(), ArrayLevel::Plain(RAID5), CHUNK_BYTES)
}

/// One sub-array on a controller that computes parity itself: its disks share PCI with nobody here.
fn raid5_of_six() -> Result<ArrayVolume<SimulatedWorld>, ReplayError> {
    array(&fleet("wd2500jb*6@ata133*6")?.topology, &host(), ArrayLevel::Plain(RAID5), CHUNK_BYTES)
}

/// Two of them, striped by the kernel.
fn raid50() -> Result<ArrayVolume<SimulatedWorld>, ReplayError> {
    let outer = Level::Raid0(Raid0Layout::Original);
    let level = ArrayLevel::Nested { outer, inner: RAID5, groups: 2 };
    array(&fleet("wd2500jb*12@ata133*12")?.topology, &host(), level, CHUNK_BYTES)
}

pub(crate) fn experiments() -> Vec<Experiment> {
    vec![
        Experiment::new(|outcomes| writers("RAID50", raid50, (BATCH_2_6_BYTES, RAID50_ROW_BYTES), outcomes)),
        Experiment::new(|outcomes| {
            writers("software RAID5", software_raid5, (BATCH_2_4_BYTES, SOFTWARE_ROW_BYTES), outcomes)
        }),
        Experiment::new(networks),
        Experiment::new(sizes),
    ]
}

/// One writer, and two whose files lie one behind the other.
fn writers(
    name: &str,
    volume: fn() -> Result<ArrayVolume<SimulatedWorld>, ReplayError>,
    (batch_bytes, row_bytes): (u64, u64),
    outcomes: &mut Outcomes,
) -> Result<(), ReplayError> {
    let host = Paced::calibrated(volume, (batch_bytes, row_bytes), FILE_BYTES, WRITER_MB_PER_S)?;
    outcomes.put(format!("{name}, one writer"), host.write(volume()?, &[0], FILE_BYTES, Hop::default())?);
    let apart = WHOLE_FILE_BYTES / batch_bytes * batch_bytes;
    let both = host.write(volume()?, &[0, apart], 2 * FILE_BYTES, Hop::default())?;
    outcomes.put(format!("{name}, two writers"), both);
    Ok(())
}

/// The network path from FTP and the copy within the computer; then what NFS makes of it.
fn networks(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let paced = |rate| Paced::calibrated(software_raid5, (BATCH_2_4_BYTES, SOFTWARE_ROW_BYTES), FILE_BYTES, rate);
    let (copy, writer) = (paced(COPY_MB_PER_S)?, paced(WRITER_MB_PER_S)?);
    let written = |host: Paced, hop| host.write(software_raid5()?, &[0], FILE_BYTES, hop);
    let hop = |byte_ns: f64| Hop { byte_ps: (byte_ns * 1e3) as u64, call: None };
    let ftp = |byte_ns| Ok(ns_per_byte(written(copy, hop(byte_ns))?));
    let wire = hop(solve(ftp, ns_per_byte(FTP_MB_PER_S))?);
    let calls = Hop { call: Some(NFS_CALL), ..wire };
    outcomes.put("FTP", written(copy, wire)?);
    outcomes.put("NFS copy", written(copy, wire)?);
    outcomes.put("asynchronous NFS", written(writer, wire)?);
    outcomes.put("synchronous NFS", written(writer, calls)?);
    Ok(())
}

fn sizes(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    outcomes.put("RAID5 of six, TB", raid5_of_six()?.size_bytes() as f64 / 1e12);
    outcomes.put("RAID50 of twelve, TB", raid50()?.size_bytes() as f64 / 1e12);
    // What drives and buses allow when the host has no work of its own.
    let idle = Paced::idle((BATCH_2_4_BYTES, SOFTWARE_ROW_BYTES));
    let ceiling = idle.write(software_raid5()?, &[0], FILE_BYTES, Hop::default())?;
    outcomes.put("software RAID5, no work of the host's", ceiling);
    Ok(())
}
