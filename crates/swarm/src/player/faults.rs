//! Faults strike, and drives come and go.

use std::collections::BTreeSet;
use std::ops::Range;

use shoal_sim::{Area, FaultKind, Misbehaviour, MisbehaviourKind, SECTOR_BYTES, Struck};
use shoal_volume::{ConsistencyPolicy, ContentMap, DriveId};

use super::Player;
use super::power::superblock;
use super::requests::BLOCK;
use crate::checkers::Failure;
use crate::scenario::ToldFault;

/// Of a partial parity log: its header, and what lies behind it.
const PPL_BYTES: u64 = 16 << 10;

impl Player<'_> {
    /// Lets a fault happen, or passes it over.
    pub(super) fn strike(&mut self, fault: &FaultKind) -> Result<(), Failure> {
        let happened = match fault {
            FaultKind::PowerCut { after_events } => {
                self.cut_power(*after_events);
                return Ok(());
            }
            FaultKind::PowerCutAfterError { after_events } => {
                self.chronicle.borrow_mut().plan_cut_after_error(*after_events);
                return Ok(());
            }
            FaultKind::Hang { drive } => self.hang(*drive),
            FaultKind::HangAtStart { drive, after_ios } => self.hangs.at_start.insert(*drive, *after_ios).is_none(),
            FaultKind::HubLoss { bus } => self.lose_hub(*bus)?,
            FaultKind::Away { drive, starts } => {
                self.ids[*drive].is_some() && self.away.insert(*drive, *starts).is_none()
            }
            FaultKind::Stall { drive, duration_ns } => self.stall(*drive, *duration_ns),
            FaultKind::Misbehave { drive, misbehaviour } => self.misbehave(*drive, misbehaviour),
            FaultKind::Latent { drive, area: Area::Content, offset, length } => self.spoil(*drive, *offset, *length),
            FaultKind::Latent { drive, area: Area::Metadata | Area::Log, offset, length } => {
                self.mar(*drive, *offset, *length)
            }
            FaultKind::BitFlip { drive, area: Area::Content, offset, bit } => self.flip(*drive, *offset, *bit),
            FaultKind::BitFlip { drive, area: Area::Metadata, offset, bit } => self.falsify(*drive, *offset, *bit),
            FaultKind::BitFlip { drive, area: Area::Log, offset, bit } => self.flip_log(*drive, *offset, *bit),
            FaultKind::Unplug { drive } => self.unplug(*drive),
            FaultKind::Return { drive } => self.replug(*drive),
        };
        if happened {
            self.note(format_args!("* {}", ToldFault(fault)));
            self.heed_holes();
        } else {
            self.counts.passed_over += 1;
        }
        Ok(())
    }

    fn stall(&mut self, drive: usize, duration_ns: u64) -> bool {
        let is_there = self.ids[drive].is_some();
        if is_there {
            self.array_mut().world_mut().inner_mut().simulation_mut().stall(drive, duration_ns);
            self.counts.stalls += 1;
        }
        is_there
    }

    /// The part of a drive that content lies on, if it is a member that is there.
    fn data_area(&self, drive: usize) -> Option<(DriveId, Range<u64>)> {
        let id = self.ids[drive]?;
        Some((id, self.array().content_map().data_area(id)?))
    }

    fn misbehave(&mut self, drive: usize, misbehaviour: &Misbehaviour) -> bool {
        let Some((id, area)) = self.data_area(drive) else { return false };
        let within = match misbehaviour.kind {
            MisbehaviourKind::WriteFails(_) | MisbehaviourKind::FlushFails(_) => 0..self.scenario.bytes_of(drive),
            _ => area,
        };
        if misbehaviour.kind.is_silent() {
            // In an array of arrays the area has superblocks in it, whose loss would be another
            // matter.
            if self.scenario.groups() > 1 || !self.is_in_sync_member(drive) {
                return false;
            }
            // What was said of the array may be lost, too.
            let is_lie = misbehaviour.kind == MisbehaviourKind::FlushLost;
            if is_lie && (self.redundancy() == 0 || !self.can_spare(drive)) {
                return false;
            }
            let map = self.array().content_map();
            self.armed.insert(drive, (id, map));
        } else if self.is_last_copy(drive) {
            let is_of_reads = matches!(misbehaviour.kind, MisbehaviourKind::ReadFails(_));
            self.answers.reads_may_fail = true;
            self.answers.changes_may_fail |= !is_of_reads;
            // It takes the member out, and with it all of the array.
            self.answers.all_may_fail |= !is_of_reads && self.redundancy() == 0;
            self.counts.last_copies += 1;
        } else if !self.can_spare(drive) {
            return false;
        }
        if !misbehaviour.kind.is_silent() {
            self.counts.errors += 1;
        }
        self.content(drive).arm(Misbehaviour { within, ..misbehaviour.clone() });
        true
    }

    fn is_in_sync_member(&self, drive: usize) -> bool {
        self.seats().iter().any(|seat| seat.drive == Some(drive))
    }

    fn spoil(&mut self, drive: usize, offset: u64, length: u64) -> bool {
        let Some((_, area)) = self.data_area(drive) else { return false };
        if self.is_last_copy(drive) {
            self.answers.reads_may_fail = true;
            self.counts.last_copies += 1;
        } else if !self.can_spare(drive) {
            return false;
        }
        let offset = area.start + offset % (area.end - area.start) / BLOCK * BLOCK;
        self.content(drive).spoil(offset, length.min(area.end - offset));
        self.counts.latent += 1;
        true
    }

    fn flip(&mut self, drive: usize, offset: u64, bit: u32) -> bool {
        let Some((id, area)) = self.data_area(drive) else { return false };
        let offset = area.start + offset % (area.end - area.start);
        let blocks = self.array().content_map().bears_on(id, offset / BLOCK * BLOCK);
        if blocks.is_empty() {
            return false;
        }
        self.content(drive).flip_bit(offset, bit);
        self.silent.happened(blocks.into_iter().map(|offset| (offset / BLOCK) as usize));
        self.counts.silent += 1;
        true
    }

    /// Sectors of superblock, bitmap or log cannot be read any more.
    fn mar(&mut self, drive: usize, offset: u64, length: u64) -> bool {
        let Some(areas) = self.metadata(drive) else { return false };
        let area = &areas[offset as usize % areas.len()];
        let start = area.start + offset % (area.end - area.start) / SECTOR_BYTES * SECTOR_BYTES;
        self.content(drive).spoil(start, length.min(area.end - start));
        self.counts.marred += 1;
        true
    }

    /// A bit of the superblock flips, which its checksum shows.
    fn falsify(&mut self, drive: usize, offset: u64, bit: u32) -> bool {
        let Some(areas) = self.metadata(drive) else { return false };
        let superblock = superblock(self.content(drive)).map_or(0, |own| own.written_bytes() as u64);
        let Some(offset) = offset.checked_rem(superblock) else { return false };
        self.content(drive).flip_bit(areas[0].start + offset, bit);
        self.counts.marred += 1;
        true
    }

    /// A bit flips in the bitmap or log. Of a bitmap nothing shows it; but the other copies do not
    /// have it. It is read at the next start, and written anew then.
    fn flip_log(&mut self, drive: usize, offset: u64, bit: u32) -> bool {
        let (is_spared, is_member) = (self.metadata(drive).is_some(), self.is_in_sync_member(drive));
        let Some(own) = superblock(self.content(drive)).filter(|_| is_spared && is_member) else { return false };
        // The header with the first bits, which are all there are; or that of a log and what lies
        // behind it.
        let used =
            own.bitmap_area().map(|area| (area, SECTOR_BYTES)).or_else(|| own.ppl_area().map(|area| (area, PPL_BYTES)));
        let Some((area, used_bytes)) = used else { return false };
        self.content(drive).flip_bit(area.offset_bytes + offset % used_bytes.min(area.size_bytes), bit);
        self.flipped.insert(drive);
        self.counts.flipped += 1;
        true
    }

    /// Where superblock, bitmap or log, and list of bad blocks of a member lie that the array can
    /// do without.
    fn metadata(&mut self, drive: usize) -> Option<Vec<Range<u64>>> {
        if self.redundancy() == 0 || self.ids[drive].is_none() || !self.can_spare(drive) {
            return None;
        }
        let own = superblock(self.content(drive))?;
        let start = own.super_offset_bytes();
        let beside = |offset_sectors: i32, bytes: u64| {
            let first = start.checked_add_signed(i64::from(offset_sectors) * SECTOR_BYTES as i64)?;
            (offset_sectors != 0).then(|| first..first + bytes)
        };
        let bad_blocks =
            beside(own.bad_block_log.offset_sectors, u64::from(own.bad_block_log.size_sectors) * SECTOR_BYTES);
        // Of a PPL the low half is its offset.
        let log = match self.scenario.consistency {
            ConsistencyPolicy::Ppl => beside(i32::from(own.bitmap_offset as i16), 8 * SECTOR_BYTES),
            _ => beside(own.bitmap_offset, 8 * SECTOR_BYTES),
        };
        Some([Some(start..start + 2 * SECTOR_BYTES), bad_blocks, log].into_iter().flatten().collect())
    }

    fn unplug(&mut self, drive: usize) -> bool {
        if self.ids[drive].is_none() || !self.can_spare(drive) {
            return false;
        }
        self.pull(drive);
        self.counts.unplugged += 1;
        true
    }

    fn replug(&mut self, drive: usize) -> bool {
        if self.ids[drive].is_some() {
            return false;
        }
        let world = self.array_mut().world_mut();
        let old = DriveId(u32::try_from(drive).expect("a handful"));
        let id = world.inner_mut().replug(old);
        world.placement.give(id);
        self.ids[drive] = Some(id);
        self.returned.insert(drive);
        self.away.remove(&drive);
        true
    }

    /// Gives drives back to the array that were plugged in again: as what they were if a bitmap
    /// knows what they missed, else as new ones.
    pub(super) fn take_in_returned(&mut self) -> Result<(), Failure> {
        for drive in self.returned.clone() {
            let Some(id) = self.ids[drive] else {
                self.returned.remove(&drive);
                continue;
            };
            // The array has to notice first that its drive is not there any more.
            if self.has_ghosts() {
                continue;
            }
            self.returned.remove(&drive);
            if self.drives_in_use().contains(&drive) {
                continue;
            }
            let re_added = self.array_mut().re_add_drive(id);
            self.note(format_args!("drive {drive} is re-added: {re_added:?}"));
            // Nothing goes over all of a vast drive.
            if re_added.is_err() && !self.scenario.is_vast() {
                let added = self.array_mut().add_drive(id);
                self.note(format_args!("drive {drive} is added: {added:?}"));
            }
        }
        Ok(())
    }

    /// Whether some member is on a drive that was pulled, and the array does not know.
    pub(super) fn has_ghosts(&self) -> bool {
        self.seats().iter().any(|seat| seat.is_ghost())
    }

    /// A member is copied to a free drive, which takes its place.
    pub(super) fn replace(&mut self, seat: usize) -> Result<(), Failure> {
        let seats = self.seats();
        let (Some(old), Some(new)) = (seats[seat % seats.len()].drive, self.free_drives().first().copied()) else {
            return Ok(());
        };
        // It may take over before its fault strikes.
        let is_armed = self.content(new).is_armed() || self.content(new).owes_a_flush();
        if is_armed && !self.can_spare(old) {
            return Ok(());
        }
        let (Some(old), Some(new)) = (self.ids[old], self.ids[new]) else { return Ok(()) };
        self.array_mut().world_mut().placement.give(new);
        let replaced = self.array_mut().replace_drive(old, new);
        self.counts.replaced += u64::from(replaced.is_ok());
        self.note(format_args!("{old:?} is replaced by {new:?}: {replaced:?}"));
        Ok(())
    }

    /// A member is taken out by hand.
    pub(super) fn take_out(&mut self, seat: usize) -> Result<(), Failure> {
        let seats = self.seats();
        let Some(drive) = seats[seat % seats.len()].drive else { return Ok(()) };
        let Some(id) = self.ids[drive].filter(|_| self.can_spare(drive)) else { return Ok(()) };
        // The array may have done much by the time that the order is carried out.
        self.forget_closed_holes();
        self.find_lost_to_holes(&BTreeSet::from([seat % seats.len()]));
        let failed = self.array_mut().fail_drive(id);
        self.note(format_args!("drive {drive} is taken out: {failed:?}"));
        Ok(())
    }

    /// Notes what faults have struck: which blocks silent ones bear on, by the drive's place now
    /// and when it was armed, and who has refused something that the array may not have heard of
    /// yet.
    pub(super) fn note_struck(&mut self) {
        let mut now = None;
        for drive in 0..self.scenario.drives() {
            let struck = self.content(drive).take_struck();
            if struck.iter().any(|struck| is_refusal(struck.kind)) {
                self.failing.insert(drive);
                self.refusals += 1;
            }
            if struck.iter().any(|struck| matches!(struck.kind, MisbehaviourKind::ReadFails(_))) {
                self.rereading.insert(drive);
            }
            if let Some((old_id, before)) = self.armed.get(&drive).filter(|_| !struck.is_empty()).cloned() {
                let id = self.ids[drive].unwrap_or(old_id);
                let now = now.get_or_insert_with(|| self.array().content_map());
                self.taint(struck, &[(old_id, &before), (id, now)]);
            }
        }
        if self.answers.pending() == 0 {
            self.rereading.clear();
        }
        if self.failing.is_empty() {
            return;
        }
        let seats = self.seats();
        let is_member = |drive: usize| seats.iter().any(|seat| seat.drive == Some(drive) && seat.is_held);
        self.failing.retain(|drive| is_member(*drive));
    }

    /// Notes the blocks that silent faults of a drive bear on, by the names that it had and what it
    /// held by them.
    pub(super) fn taint(&mut self, struck: Vec<Struck>, maps: &[(DriveId, &ContentMap)]) {
        for struck in struck.into_iter().filter(|struck| struck.kind.is_silent()) {
            self.counts.silent += 1;
            if struck.kind == MisbehaviourKind::FlushLost && !struck.damaged.is_empty() {
                self.counts.lies += 1;
                self.taint_unsettled();
            }
            let sectors = struck.damaged.into_iter().flat_map(|range| range.step_by(BLOCK as usize));
            let bears_on = |at| maps.iter().flat_map(move |(id, map)| map.bears_on(*id, at));
            let blocks: Vec<_> = sectors.flat_map(bears_on).map(|offset| (offset / BLOCK) as usize).collect();
            self.silent.happened(blocks);
        }
    }

    /// Bits or log entries that were to mend what is under way may be lost with a flush.
    pub(super) fn taint_unsettled(&mut self) {
        let unsettled: Vec<_> = self.promises.unsettled().collect();
        let tied = unsettled.into_iter().flat_map(|block| self.seats.tied_to(block as u64 * BLOCK));
        self.silent.happened(tied.map(|offset| (offset / BLOCK) as usize).collect::<Vec<_>>());
    }
}

fn is_refusal(kind: MisbehaviourKind) -> bool {
    matches!(kind, MisbehaviourKind::WriteFails(_) | MisbehaviourKind::FlushFails(_))
}
