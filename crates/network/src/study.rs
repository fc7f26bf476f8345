//! The study: what is to be done, in which order, and its doing.
//!
//! A round measures each workload once, the array's own and those over every link, in an order of
//! its own. So whatever drifts falls on all alike, and the array's own rates come from between the
//! others, not from before them.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::judge::{Measured, judge};
use crate::link::LinkSpeed;
use crate::nfs_kind::{NfsKind, is_installed};
use crate::options::Options;
use crate::pair::{LinkError, Pair};
use crate::result::{Findings, LeftOut};
use crate::scene::{Scene, Served};
use crate::servers::Servers;
use crate::workload::{Direction, Protocol, WORKLOADS, Workload};

/// What the array is taken to write and read by itself, for the estimate of a study's time.
const ASSUMED_ARRAY_BYTES_PER_S: u64 = 100_000_000;
/// What a step takes beside its transfer: deleting, comparing, starting a client.
const BESIDE: Duration = Duration::from_millis(500);

/// What there is to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// A directory.
    pub directory: bool,
    /// A block device whose content may be overwritten.
    pub device: bool,
}

/// One transfer that is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// In which round, from 1.
    pub round: u32,
    /// What.
    pub workload: &'static Workload,
    /// Over which link; over none for the array itself.
    pub link: Option<LinkSpeed>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.workload.name)?;
        self.link.map_or(Ok(()), |link| write!(f, " at {link}"))
    }
}

/// What a study will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPlan {
    /// In this order.
    pub steps: Vec<Step>,
    /// Who serves NFS to whom, if anything goes by it.
    pub nfs: Option<String>,
    /// What it will not do.
    pub left_out: Vec<LeftOut>,
    /// What it writes to the array's file system or device.
    pub written_bytes: u64,
    /// What it takes if the links are full and the array is no slower.
    pub duration: Duration,
}

/// Plans a study of what is offered, with the programs that are there.
pub fn plan(options: &Options, offer: Offer) -> TransferPlan {
    let mut left_out = Vec::new();
    let possible: Vec<Protocol> = options
        .protocols
        .iter()
        .copied()
        .filter(|&protocol| {
            let reason = obstacle(protocol, offer, options.nfs);
            left_out.extend(reason.clone().map(|reason| LeftOut { what: protocol.name().to_owned(), reason }));
            reason.is_none()
        })
        .collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut steps = Vec::new();
    for round in 1..=options.repeats {
        let mut order = round_of(round, &possible, &options.links, offer);
        shuffle(&mut order, &mut random);
        steps.append(&mut order);
    }
    let put = |step: &&Step| step.workload.direction == Direction::Put;
    let puts = steps.iter().filter(put).count() as u64;
    let written_bytes = options.size_bytes.saturating_mul(puts + u64::from(offer.directory));
    let duration = duration(&steps, options);
    let has_nfs = possible.contains(&Protocol::Nfs);
    let nfs = has_nfs.then(|| format!("{}; {}", options.nfs.client(), options.nfs.server().0));
    TransferPlan { steps, nfs, left_out, written_bytes, duration }
}

/// Everything once, in no order yet.
fn round_of(round: u32, possible: &[Protocol], links: &[LinkSpeed], offer: Offer) -> Vec<Step> {
    let mut steps = Vec::new();
    for workload in &WORKLOADS {
        let step = |link| Step { round, workload, link };
        match workload.protocol {
            Protocol::Array if offer.directory => steps.push(step(None)),
            Protocol::Device if possible.contains(&Protocol::Nbd) => steps.push(step(None)),
            protocol if possible.contains(&protocol) => steps.extend(links.iter().map(|link| step(Some(*link)))),
            _ => {}
        }
    }
    steps
}

/// Why a protocol cannot be measured.
fn obstacle(protocol: Protocol, offer: Offer, nfs: NfsKind) -> Option<String> {
    let offered = if protocol.is_of_files() { offer.directory } else { offer.device };
    if !offered {
        let mend = match protocol.is_of_files() {
            true => "it transfers files: give a directory, or an array of which everything may be overwritten",
            false => "it transfers blocks, and there is only a directory: give the array's members",
        };
        return Some(mend.to_owned());
    }
    let absent: Vec<_> = protocol.programs(nfs).iter().filter(|(program, _)| !is_installed(program)).collect();
    let (program, package) = absent.first()?;
    Some(format!("{program} is missing: install {package}"))
}

fn duration(steps: &[Step], options: &Options) -> Duration {
    let transfer = |step: &Step| {
        let link = step.link.map_or(u64::MAX, LinkSpeed::payload_bytes_per_s);
        let bytes_per_s = link.clamp(1, ASSUMED_ARRAY_BYTES_PER_S);
        let at = |bytes_per_s| Duration::from_millis(options.size_bytes.saturating_mul(1000) / bytes_per_s);
        // What was put is read off the array again, to be compared.
        let compared = u32::from(step.workload.direction == Direction::Put);
        at(bytes_per_s) + at(ASSUMED_ARRAY_BYTES_PER_S) * compared + BESIDE
    };
    let links = u32::try_from(options.links.len()).unwrap_or(u32::MAX);
    steps.iter().map(transfer).sum::<Duration>() + options.calibration * 2 * links
}

fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        let other = random.next_u64() % (last as u64 + 1);
        items.swap(last, usize::try_from(other).expect("no larger than a usize"));
    }
}

/// Why there is nothing to tell of.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The hosts or their link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// What both sides need could not be brought there.
    #[error("the study's files: {0}")]
    Files(#[from] std::io::Error),
    /// The servers' place.
    #[error("the servers' files: {0}")]
    Servers(String),
}

impl From<crate::HostError> for StudyError {
    fn from(error: crate::HostError) -> Self {
        Self::Link(error.into())
    }
}

/// Does what was planned. `progress` hears of each step before it is done, and of how many are
/// done. Files that have to be in memory, and those of the servers, go below `place`, which is
/// empty and has the same name on all hosts.
///
/// # Errors
/// If there is no link, or nothing can be prepared. A workload that fails is left out, with the
/// reason.
pub fn run(
    pair: &Pair,
    served: &Served,
    place: &Path,
    options: &Options,
    plan: TransferPlan,
    progress: &mut dyn FnMut(&str, usize),
) -> Result<Findings, StudyError> {
    let mut links = Vec::new();
    for &link in &options.links {
        progress(&format!("what a link of {link} carries"), 0);
        pair.shape(link)?;
        links.push(pair.calibrate(link, options.calibration)?);
    }
    progress("content for both sides", 0);
    let mut scene = Scene::prepare(pair, served, place, options)?;
    let TransferPlan { steps, mut left_out, .. } = plan;
    let mut servers = match &served.directory {
        Some(directory) => {
            Some(Servers::prepare(&pair.server, directory, place, options.nfs).map_err(StudyError::Servers)?)
        }
        None => None,
    };
    for protocol in Protocol::OVER_LINKS {
        let wanted = steps.iter().any(|step| step.workload.protocol == protocol);
        let Some(servers) = servers.as_mut().filter(|_| wanted) else { continue };
        progress(&format!("the server of {protocol}"), 0);
        if let Err(error) = servers.start(protocol) {
            left_out.push(LeftOut { what: protocol.name().to_owned(), reason: error.to_string() });
        }
    }
    let measured = carry_out(&mut scene, pair, &steps, &mut left_out, progress)?;
    if let Some(servers) = servers {
        // They are killed with their host if they do not end; what they served has been compared.
        let _ = servers.stop();
    }
    let rows = judge(&measured, &links, options.size_bytes, options.nfs);
    let Options { seed, size_bytes, repeats, .. } = *options;
    Ok(Findings { seed, size_bytes, repeats, served: served.description.clone(), links, rows, left_out })
}

/// Goes through the steps. What failed once is not tried again.
fn carry_out(
    scene: &mut Scene<'_>,
    pair: &Pair,
    steps: &[Step],
    left_out: &mut Vec<LeftOut>,
    progress: &mut dyn FnMut(&str, usize),
) -> Result<Vec<Measured>, StudyError> {
    let mut measured = Vec::new();
    for (done, step) in steps.iter().enumerate() {
        let is_out = |out: &LeftOut| out.what == step.workload.protocol.name() || out.what == step.to_string();
        if left_out.iter().any(is_out) {
            continue;
        }
        progress(&step.to_string(), done);
        if let Some(link) = step.link {
            pair.shape(link)?;
        }
        match scene.run(step.workload) {
            Ok(run) => measured.push(Measured { workload: step.workload, link: step.link, run }),
            Err(reason) => left_out.push(LeftOut { what: step.to_string(), reason }),
        }
    }
    Ok(measured)
}
