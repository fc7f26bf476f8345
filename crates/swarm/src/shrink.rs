//! Makes a failing scenario smaller, as long as the same checker objects.
//!
//! Runs of faults and steps are taken out, long ones first; then drives, buffers and other
//! peculiarities. What is left need not be the smallest there is, but every single fault and step
//! of it is needed.

use shoal_sim::{FaultKind, Scheduler};
use shoal_volume::Arena;

use crate::fleet::Make;
use crate::hunt::play_caught;
use crate::limits::SHRINK_TRIES_MAX;
use crate::player::arena;
use crate::scenario::Reordering;
use crate::{Failure, Scenario};

/// A scenario that fails, and cannot easily be made smaller.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario.
    pub scenario: Scenario,
    /// How it fails.
    pub failure: Failure,
}

struct Shrinker {
    arena: Arena,
    tries: u32,
    best: Shrunk,
}

/// Shrinks a scenario that fails.
pub fn shrink(scenario: Scenario, failure: Failure) -> std::io::Result<Shrunk> {
    let arena = arena(scenario.drives())?;
    let mut shrinker = Shrinker { arena, tries: 0, best: Shrunk { scenario, failure } };
    while shrinker.round() {}
    Ok(shrinker.best)
}

impl Shrinker {
    /// Tries everything once; whether anything helped.
    fn round(&mut self) -> bool {
        let helped = [
            self.cut(|scenario| scenario.faults.faults.len(), remove_faults),
            self.cut(|scenario| scenario.steps.len(), remove_steps),
            self.simplify(),
        ];
        helped.contains(&true) && self.tries < SHRINK_TRIES_MAX
    }

    /// Removes runs of something, halving their length down to one.
    fn cut(&mut self, count: impl Fn(&Scenario) -> usize, remove: impl Fn(&mut Scenario, usize, usize)) -> bool {
        let (mut helped, mut length) = (false, count(&self.best.scenario).div_ceil(2));
        while length > 0 {
            let mut start = 0;
            while start < count(&self.best.scenario) {
                let end = (start + length).min(count(&self.best.scenario));
                if self.try_out(|scenario| remove(scenario, start, end)) {
                    helped = true;
                } else {
                    start = end;
                }
            }
            length /= 2;
        }
        helped
    }

    fn simplify(&mut self) -> bool {
        let changes: [fn(&mut Scenario); 12] = [
            remove_drawer,
            remove_spare,
            remove_member,
            |scenario| scenario.depth = 1,
            |scenario| scenario.scratch_bytes = 4096,
            |scenario| scenario.assume_clean = true,
            |scenario| scenario.reordering = Reordering::NONE,
            |scenario| scenario.write_back_bytes = 0,
            |scenario| scenario.scheduler = Scheduler::Deadline,
            |scenario| scenario.safe_mode_delay_ms = 200,
            |scenario| scenario.extra_bytes.fill(0),
            |scenario| scenario.makes.iter_mut().for_each(|make| *make = (Make::Fast, 0)),
        ];
        let mut helped = false;
        for change in changes {
            while self.try_out(change) {
                helped = true;
            }
        }
        helped
    }

    /// Keeps a change if it changes anything and the same checker still objects.
    fn try_out(&mut self, change: impl Fn(&mut Scenario)) -> bool {
        let mut scenario = self.best.scenario.clone();
        change(&mut scenario);
        if self.tries >= SHRINK_TRIES_MAX || scenario == self.best.scenario {
            return false;
        }
        self.tries += 1;
        match play_caught(&scenario, &self.arena, false).failure {
            Some(failure) if failure.checker == self.best.failure.checker => {
                self.best = Shrunk { scenario, failure };
                true
            }
            _ => false,
        }
    }
}

fn remove_faults(scenario: &mut Scenario, start: usize, end: usize) {
    scenario.faults.faults.drain(start..end);
}

/// Faults that come later come as many requests earlier.
fn remove_steps(scenario: &mut Scenario, start: usize, end: usize) {
    let requests = |steps: &[crate::Step]| steps.iter().filter(|step| step.is_request()).count() as u32;
    let (before, removed) = (requests(&scenario.steps[..start]), requests(&scenario.steps[start..end]));
    scenario.steps.drain(start..end);
    for fault in &mut scenario.faults.faults {
        let after_them = fault.after_requests.saturating_sub(before + removed);
        fault.after_requests = fault.after_requests.min(before) + after_them;
    }
}

fn remove_member(scenario: &mut Scenario) {
    if scenario.groups() == 1 && scenario.members > 2 {
        scenario.members -= 1;
        remove_drive(scenario, scenario.members);
    }
}

fn remove_spare(scenario: &mut Scenario) {
    if scenario.spares > 0 {
        scenario.spares -= 1;
        remove_drive(scenario, scenario.members + scenario.spares);
    }
}

fn remove_drawer(scenario: &mut Scenario) {
    if scenario.drawer > 0 {
        scenario.drawer -= 1;
        remove_drive(scenario, scenario.drives());
    }
}

fn remove_drive(scenario: &mut Scenario, drive: usize) {
    scenario.makes.remove(drive);
    scenario.extra_bytes.remove(drive);
    scenario.faults.faults.retain_mut(|fault| match drive_of(&mut fault.kind) {
        Some(of) if *of == drive => false,
        Some(of) => {
            *of -= usize::from(*of > drive);
            true
        }
        None => true,
    });
}

fn drive_of(fault: &mut FaultKind) -> Option<&mut usize> {
    match fault {
        FaultKind::Stall { drive, .. }
        | FaultKind::Misbehave { drive, .. }
        | FaultKind::Latent { drive, .. }
        | FaultKind::BitFlip { drive, .. }
        | FaultKind::Unplug { drive }
        | FaultKind::Hang { drive }
        | FaultKind::HangAtStart { drive, .. }
        | FaultKind::Away { drive, .. }
        | FaultKind::Return { drive } => Some(drive),
        FaultKind::PowerCut { .. } | FaultKind::PowerCutAfterError { .. } | FaultKind::HubLoss { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_keep_their_place_when_steps_are_removed() {
        let mut scenario = crate::sample(1);
        let places: Vec<_> = scenario.faults.faults.iter().map(|fault| fault.after_requests).collect();
        let requests = scenario.requests() as u32;
        remove_steps(&mut scenario, 0, 10);
        let removed = requests - scenario.requests() as u32;
        for (fault, place) in scenario.faults.faults.iter().zip(places) {
            assert_eq!(fault.after_requests, place.saturating_sub(removed));
        }
    }

    #[test]
    fn a_drive_that_is_removed_takes_its_faults_along() {
        let mut scenario = (0..).map(crate::sample).find(|it| it.groups() == 1 && it.members > 3).unwrap();
        let drives = scenario.drives();
        scenario.faults.faults.clear();
        for drive in 0..drives {
            let kind = FaultKind::Unplug { drive };
            scenario.faults.faults.push(shoal_sim::PlannedFault { after_requests: 0, kind });
        }
        remove_member(&mut scenario);
        let left: Vec<_> = scenario.faults.faults.iter_mut().map(|fault| *drive_of(&mut fault.kind).unwrap()).collect();
        assert_eq!(left, (0..drives - 1).collect::<Vec<_>>());
        assert_eq!(scenario.makes.len(), drives - 1);
    }
}
