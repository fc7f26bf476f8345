//! What goes wrong in a world.

use shoal_sim::{Area, Fault, FaultKind, FaultPlan, Misbehaviour, MisbehaviourKind, PlannedFault};

use super::Theme;
use crate::random::Random;

/// How many faults of each kind a world has.
struct Character {
    power_cuts: u64,
    cuts_after_errors: u64,
    away: u64,
    plugs: u64,
    errors: u64,
    latent: u64,
    stalls: u64,
    silent: u64,
    lies: u64,
    metadata: u64,
    hangs: u64,
    hangs_at_start: u64,
    hub_losses: u64,
}

impl Character {
    fn of(theme: Theme, redundancy: bool, random: &mut Random) -> Self {
        let loud = u64::from(redundancy);
        let chance = |of: Theme, usual| if theme == of { 100 } else { usual };
        let mut some = |chance, most| if random.percent(chance) { random.within(1..=most) } else { 0 };
        Self {
            power_cuts: some(chance(Theme::Lies, chance(Theme::Metadata, 75)), 5),
            cuts_after_errors: some(chance(Theme::FailedFlushes, 10), 3),
            away: loud * some(chance(Theme::Subsets, 50), 4),
            plugs: loud * some(50, 3),
            errors: some(chance(Theme::FailedFlushes, 30), if theme == Theme::FailedFlushes { 6 } else { 3 }),
            latent: some(40, 4),
            stalls: some(30, 3),
            silent: some(12, 3),
            lies: loud * some(chance(Theme::Lies, 2), 3),
            metadata: loud * some(chance(Theme::Metadata, 5), 4),
            hangs: loud * some(20, 3),
            hangs_at_start: loud * some(10, 2),
            hub_losses: some(20, 2),
        }
    }
}

/// The faults of a world of so many drives, whose user makes so many requests.
pub(super) fn faults(theme: Theme, redundancy: bool, drives: usize, requests: u32, random: &mut Random) -> FaultPlan {
    let character = Character::of(theme, redundancy, random);
    // Drives that have most of the faults: more than one at a time where the level allows it.
    let victims = [random.below(drives as u64) as usize, random.below(drives as u64) as usize];
    let mut plan = FaultSampler { faults: Vec::new(), victims, drives, requests };
    plan.add(character.power_cuts, random, &power_cut);
    plan.add(character.cuts_after_errors, random, &|_, random| {
        let reach = random.pick(&[1, 12, 40, 200, 1000]);
        FaultKind::PowerCutAfterError { after_events: random.below(reach) as u32 }
    });
    plan.add(character.away, random, &|drive, random| FaultKind::Away { drive, starts: random.within(1..=3) as u32 });
    match theme {
        Theme::FailedFlushes => plan.add(character.errors, random, &flush_error),
        _ => plan.add(character.errors, random, &error),
    }
    plan.add(character.latent, random, &latent);
    plan.add(character.stalls, random, &stall);
    plan.add(character.silent, random, &silent);
    plan.add(character.metadata, random, &metadata);
    plan.add(character.hangs, random, &|drive, _| FaultKind::Hang { drive });
    plan.add(character.hangs_at_start, random, &hang_at_start);
    plan.add_lies(character.lies, random);
    plan.add_plugs(character.plugs, random);
    plan.add_hub_losses(character.hub_losses, random);
    plan.faults.sort_by_key(|fault| fault.after_requests);
    FaultPlan { faults: plan.faults }
}

/// Faults so far, and what they are chosen from.
struct FaultSampler {
    faults: Vec<PlannedFault>,
    victims: [usize; 2],
    drives: usize,
    requests: u32,
}

impl FaultSampler {
    fn any_time(&self, random: &mut Random) -> u32 {
        random.within(0..=u64::from(self.requests)) as u32
    }

    fn any_drive(&self, random: &mut Random) -> usize {
        if random.percent(70) { random.pick(&self.victims) } else { random.below(self.drives as u64) as usize }
    }

    fn add(&mut self, count: u64, random: &mut Random, fault: &dyn Fn(usize, &mut Random) -> FaultKind) {
        for _ in 0..count {
            let drive = self.any_drive(random);
            let after_requests = self.any_time(random);
            self.faults.push(PlannedFault { after_requests, kind: fault(drive, random) });
        }
    }

    /// A drive that lies does it several times in a row.
    fn add_lies(&mut self, count: u64, random: &mut Random) {
        for _ in 0..count {
            let (drive, after_requests) = (self.any_drive(random), self.any_time(random));
            let misbehaviour = Misbehaviour { kind: MisbehaviourKind::FlushLost, within: 0..u64::MAX, skip: 0 };
            let lie = PlannedFault { after_requests, kind: FaultKind::Misbehave { drive, misbehaviour } };
            self.faults.extend(vec![lie; random.within(1..=12) as usize]);
        }
    }

    fn add_plugs(&mut self, count: u64, random: &mut Random) {
        for _ in 0..count {
            let drive = random.pick(&self.victims);
            let after_requests = self.any_time(random);
            self.faults.push(PlannedFault { after_requests, kind: FaultKind::Unplug { drive } });
            if random.percent(70) {
                let after_requests = after_requests + random.within(0..=40) as u32;
                self.faults.push(PlannedFault { after_requests, kind: FaultKind::Return { drive } });
            }
        }
    }

    fn add_hub_losses(&mut self, count: u64, random: &mut Random) {
        for _ in 0..count {
            let after_requests = self.any_time(random);
            self.faults.push(PlannedFault { after_requests, kind: hub_loss(random) });
            let after_requests = after_requests + random.within(0..=40) as u32;
            let back = |drive| PlannedFault { after_requests, kind: FaultKind::Return { drive } };
            self.faults.extend((0..self.drives).map(back));
        }
    }
}

/// At once, or in the midst of what the array does by then: under way, in a record run, while it is
/// opened.
fn power_cut(_: usize, random: &mut Random) -> FaultKind {
    let within = random.pick(&[0, 0, 40, 200, 1000, 5000]);
    FaultKind::PowerCut { after_events: random.within(0..=within) as u32 }
}

/// At once, while the array is opened, or a while later.
fn hang_at_start(drive: usize, random: &mut Random) -> FaultKind {
    let within = random.pick(&[0, 30, 300]);
    FaultKind::HangAtStart { drive, after_ios: random.within(0..=within) as u32 }
}

/// Of one hub, or of all.
fn hub_loss(random: &mut Random) -> FaultKind {
    FaultKind::HubLoss { bus: random.percent(50).then(|| random.below(3) as usize) }
}

fn anywhere(kind: MisbehaviourKind, random: &mut Random) -> Misbehaviour {
    Misbehaviour { kind, within: 0..u64::MAX, skip: random.below(20) as u32 }
}

fn error(drive: usize, random: &mut Random) -> FaultKind {
    let fault = random.pick(&[Fault::Io, Fault::TimedOut]);
    let of_writes = random.pick(&[Fault::Io, Fault::TimedOut, Fault::NoSpace]);
    let kind = random.pick(&[
        MisbehaviourKind::ReadFails(fault),
        MisbehaviourKind::ReadFails(fault),
        MisbehaviourKind::WriteFails(of_writes),
        MisbehaviourKind::FlushFails(fault),
    ]);
    FaultKind::Misbehave { drive, misbehaviour: anywhere(kind, random) }
}

/// Among the first few flushes.
pub(super) fn flush_error(drive: usize, random: &mut Random) -> FaultKind {
    let kind = MisbehaviourKind::FlushFails(random.pick(&[Fault::Io, Fault::TimedOut]));
    FaultKind::Misbehave {
        drive,
        misbehaviour: Misbehaviour { kind, within: 0..u64::MAX, skip: random.below(4) as u32 },
    }
}

pub(super) fn metadata(drive: usize, random: &mut Random) -> FaultKind {
    let offset = random.below(1 << 20);
    if random.percent(40) {
        return FaultKind::BitFlip { drive, area: Area::Metadata, offset, bit: random.below(8) as u32 };
    }
    FaultKind::Latent { drive, area: Area::Metadata, offset, length: 512 * random.within(1..=8) }
}

fn latent(drive: usize, random: &mut Random) -> FaultKind {
    FaultKind::Latent { drive, area: Area::Content, offset: random.below(1 << 20), length: 512 * random.within(1..=40) }
}

fn stall(drive: usize, random: &mut Random) -> FaultKind {
    FaultKind::Stall { drive, duration_ns: 1_000_000 * random.pick(&[5, 50, 500, 3000]) }
}

fn silent(drive: usize, random: &mut Random) -> FaultKind {
    let distance = 512 * (random.below(2000) as i64 - 1000);
    let misbehave = |kind, random: &mut Random| FaultKind::Misbehave { drive, misbehaviour: anywhere(kind, random) };
    match random.below(5) {
        0 => misbehave(MisbehaviourKind::WriteLost, random),
        1 => misbehave(MisbehaviourKind::WriteMisdirected { distance }, random),
        2 => misbehave(MisbehaviourKind::WriteTorn, random),
        _ => FaultKind::BitFlip {
            drive,
            area: Area::Content,
            offset: random.below(1 << 20),
            bit: random.below(8) as u32,
        },
    }
}
