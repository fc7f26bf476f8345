//! Trials of a year, with failures made likely and weighed for it. The method is described in the
//! parent module.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Loss, Probability, RepairTimes, Survival};

/// Half of a 95 % interval, in standard errors.
const STANDARD_ERRORS: f64 = 1.96;
/// Failures are made so likely that this many are to be expected before what would otherwise come
/// first.
const EXPECTED_FAILURES: f64 = 0.8;

/// The chances of loss within `years`, from `trials` trials.
pub fn estimate(survival: &Survival, years: f64, trials: u32, seed: u64) -> Loss {
    if survival.sets.iter().all(|set| set.tolerance == 0) {
        let rate: f64 = survival.members.iter().map(|member| member.failures_per_year).sum();
        let shared: f64 = shared_rates(survival).iter().map(|shared| shared.rate).sum();
        let array = Probability::exact(-(-(rate * (1.0 - survival.shared_cause) + shared) * years).exp_m1());
        return Loss { array, blocks: Probability::exact(0.0), anything: array };
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let causes = Causes::new(survival);
    let mut sums = [Sum::default(); 3];
    for _ in 0..trials {
        let outcome = Trial::new(survival, &causes, years, &mut random).run();
        let (array, blocks) = (if outcome.is_lost { 1.0 } else { 0.0 }, 1.0 - outcome.all_readable);
        let blocks_alone = if outcome.is_lost { 0.0 } else { blocks };
        for (sum, value) in sums.iter_mut().zip([array, blocks_alone, array.max(blocks)]) {
            sum.add(outcome.weight * value);
        }
    }
    let [array, blocks, anything] = sums.map(Sum::probability);
    Loss { array, blocks, anything }
}

/// A running sum of weighed outcomes.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: f64,
    total: f64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.total += value;
        self.squares += value * value;
    }

    fn probability(self) -> Probability {
        let mean = self.total / self.count.max(1.0);
        let variance = (self.squares / self.count.max(1.0) - mean * mean).max(0.0);
        Probability {
            estimate: mean.clamp(0.0, 1.0),
            plus_minus: STANDARD_ERRORS * (variance / self.count.max(1.0)).sqrt(),
        }
    }
}

/// What strikes all drives of a bus.
struct Shared {
    rate: f64,
    members: Vec<usize>,
}

/// The buses' shared causes; each as likely as its frailest drive makes it.
fn shared_rates(survival: &Survival) -> Vec<Shared> {
    let mut buses: Vec<usize> = survival.members.iter().map(|member| member.bus).collect();
    buses.sort_unstable();
    buses.dedup();
    let of_bus = |bus: usize| {
        let on_it = survival.members.iter().enumerate().filter(|(_, member)| member.bus == bus);
        let members: Vec<usize> = on_it.map(|(number, _)| number).collect();
        let rates = members.iter().map(|&number| survival.members[number].failures_per_year);
        Shared { rate: survival.shared_cause * rates.fold(0.0, f64::max), members }
    };
    buses.into_iter().map(of_bus).filter(|shared| shared.rate > 0.0).collect()
}

/// Everything that can go wrong, and how often.
struct Causes {
    own: Vec<f64>,
    shared: Vec<Shared>,
}

impl Causes {
    fn new(survival: &Survival) -> Self {
        let own = survival.members.iter().map(|member| member.failures_per_year * (1.0 - survival.shared_cause));
        Self { own: own.collect(), shared: shared_rates(survival) }
    }
}

/// A member that has failed, and its repair.
#[derive(Clone, Copy)]
struct Repair {
    rebuild_start: f64,
    end: f64,
}

struct Outcome {
    is_lost: bool,
    /// Chance that every rebuild could read all that it needed.
    all_readable: f64,
    weight: f64,
}

/// One year.
struct Trial<'a> {
    survival: &'a Survival,
    causes: &'a Causes,
    random: &'a mut Xoshiro256PlusPlus,
    years: f64,
    now: f64,
    /// Of each member, if it has failed.
    repairs: Vec<Option<Repair>>,
    /// Bits read so far, for a member's rebuild, that nothing else could have stood in for, times
    /// their chance to be unreadable.
    exposure: Vec<f64>,
    /// When each spare is there (again).
    spares: Vec<f64>,
    outcome: Outcome,
}

impl<'a> Trial<'a> {
    fn new(survival: &'a Survival, causes: &'a Causes, years: f64, random: &'a mut Xoshiro256PlusPlus) -> Self {
        let count = survival.members.len();
        Self {
            survival,
            causes,
            random,
            years,
            now: 0.0,
            repairs: vec![None; count],
            exposure: vec![0.0; count],
            spares: vec![0.0; survival.spares],
            outcome: Outcome { is_lost: false, all_readable: 1.0, weight: 1.0 },
        }
    }

    fn run(mut self) -> Outcome {
        while self.now < self.years && !self.outcome.is_lost {
            let rate = self.failure_rate();
            let repaired = self.next_repair();
            let until = repaired.map_or(self.years, |(_, end)| end.min(self.years));
            let bias = self.bias(rate, until - self.now);
            let wait = self.exponential(rate * bias);
            let fails = self.now + wait < until;
            let next = if fails { self.now + wait } else { until };
            self.outcome.weight *= (rate * (bias - 1.0) * (next - self.now)).exp();
            self.expose(next);
            self.now = next;
            if fails {
                self.outcome.weight /= bias;
                self.fail(rate);
            } else if let Some((member, _)) = repaired.filter(|(_, end)| *end <= self.years) {
                self.outcome.all_readable *= (-self.exposure[member]).exp();
                self.repairs[member] = None;
                self.exposure[member] = 0.0;
            }
        }
        self.outcome
    }

    fn works(&self, member: usize) -> bool {
        self.repairs[member].is_none()
    }

    /// Of all causes that would still make a difference.
    fn failure_rate(&self) -> f64 {
        let own = self.causes.own.iter().enumerate().filter(|(member, _)| self.works(*member));
        let shared = self.causes.shared.iter().filter(|shared| shared.members.iter().any(|&it| self.works(it)));
        own.map(|(_, rate)| rate).sum::<f64>() + shared.map(|shared| shared.rate).sum::<f64>()
    }

    fn next_repair(&self) -> Option<(usize, f64)> {
        let ends = self.repairs.iter().enumerate().filter_map(|(member, repair)| repair.map(|it| (member, it.end)));
        ends.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn bias(&self, rate: f64, span: f64) -> f64 {
        if rate * span > 0.0 { (EXPECTED_FAILURES / (rate * span)).max(1.0) } else { 1.0 }
    }

    /// A number above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        const STEPS: f64 = (1_u64 << 53) as f64;
        ((self.random.next_u64() >> 11) + 1) as f64 / STEPS
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        if rate > 0.0 { -self.uniform().ln() / rate } else { f64::INFINITY }
    }

    /// Something fails: which, by their rates.
    fn fail(&mut self, rate: f64) {
        let mut left = self.uniform() * rate;
        let causes = self.causes;
        for (member, own) in causes.own.iter().enumerate() {
            if self.works(member) {
                left -= own;
                if left <= 0.0 {
                    self.lose(member);
                    return;
                }
            }
        }
        for shared in &causes.shared {
            if shared.members.iter().any(|&member| self.works(member)) {
                left -= shared.rate;
                if left <= 0.0 {
                    shared.members.iter().for_each(|&member| self.lose(member));
                    return;
                }
            }
        }
    }

    fn lose(&mut self, member: usize) {
        if !self.works(member) {
            return;
        }
        let (replace, rebuild) =
            (self.repair_time(self.survival.replace_years), self.repair_time(self.survival.rebuild_years));
        let now = self.now;
        let spare = self.spares.iter_mut().filter(|there| **there <= now).min_by(|a, b| a.total_cmp(b));
        let rebuild_start = match spare {
            Some(there) => {
                *there = now + replace; // another is bought
                now
            }
            None => now + replace,
        };
        self.repairs[member] = Some(Repair { rebuild_start, end: rebuild_start + rebuild });
        self.exposure[member] = 0.0;
        let repairs = &self.repairs;
        let lost = |set: &super::RedundancySet| {
            set.members.iter().filter(|&&it| repairs[it].is_some()).count() > set.tolerance
        };
        self.outcome.is_lost |= self.survival.sets.iter().any(lost);
    }

    fn repair_time(&mut self, mean_years: f64) -> f64 {
        match self.survival.repair_times {
            RepairTimes::Fixed => mean_years,
            RepairTimes::Exponential if mean_years > 0.0 => self.exponential(1.0 / mean_years),
            RepairTimes::Exponential => 0.0,
        }
    }

    /// Notes what is read, until `next`, that nothing else could stand in for.
    fn expose(&mut self, next: f64) {
        for set in &self.survival.sets {
            let failed = set.members.iter().filter(|&&member| self.repairs[member].is_some()).count();
            if failed == 0 || failed < set.tolerance {
                continue;
            }
            let works = |member: &&usize| self.repairs[**member].is_none();
            let per_bit: f64 =
                set.members.iter().filter(works).map(|&member| self.survival.members[member].unreadable_per_bit).sum();
            for &member in &set.members {
                let Some(repair) = self.repairs[member] else { continue };
                let length = repair.end - repair.rebuild_start;
                let overlap = (next.min(repair.end) - self.now.max(repair.rebuild_start)).max(0.0);
                if length > 0.0 {
                    self.exposure[member] += per_bit * set.bytes_per_member as f64 * 8.0 * overlap / length;
                }
            }
        }
    }
}
