//! Runs put together to rows: the middle and the extremes, against the array itself and against the
//! link, and what speaks against them.

use std::num::NonZero;

use shoal_bench::{Reason, ReasonCode, Spread, Validity, Verdict};

use crate::link::LinkSpeed;
use crate::nfs_kind::NfsKind;
use crate::result::{Bound, Calibration, Row, Run};
use crate::workload::{Direction, Protocol, WORKLOADS, Workload};

/// A link is full from so much of it on, in thousandths.
const FULL_PER_MILLE: u64 = 950;
/// The array sets the pace from so much of its own rate on.
const ARRAY_PER_MILLE: u64 = 900;
/// The machine is busy from so much of its processors' time on.
const BUSY_PER_MILLE: u64 = 900;
/// A link that carries less than this of what it should is not the link that was asked for.
const LINK_PER_MILLE: u64 = 970;
/// A client that is done so much before the drives was answered by a cache.
const AHEAD_PER_MILLE: u64 = 1250;
/// A transfer shorter than this says more of its begin and end than of its rate.
const SHORT_NS: u64 = 1_000_000_000;

/// A run, and of what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) workload: &'static Workload,
    pub(crate) link: Option<LinkSpeed>,
    pub(crate) run: Run,
}

/// Makes rows, in the order of the workloads and then of the links.
pub(crate) fn judge(measured: &[Measured], links: &[Calibration], size_bytes: u64, nfs: NfsKind) -> Vec<Row> {
    let mut rows = Vec::new();
    for workload in &WORKLOADS {
        let speeds = links.iter().map(|link| LinkSpeed::of(link.link_bits_per_s));
        for link in std::iter::once(None).chain(speeds) {
            let of_row = |one: &&Measured| one.workload == workload && one.link == link;
            let runs: Vec<Run> = measured.iter().filter(of_row).map(|one| one.run).collect();
            rows.extend(Numbers::of(workload, link, runs, size_bytes).map(|numbers| numbers.row(measured, links, nfs)));
        }
    }
    rows
}

/// A row before it is compared with others.
struct Numbers {
    workload: &'static Workload,
    link: Option<LinkSpeed>,
    runs: Vec<Run>,
    size_bytes: u64,
    bytes_per_s: Spread,
    durable: Option<Spread>,
}

impl Numbers {
    fn of(workload: &'static Workload, link: Option<LinkSpeed>, runs: Vec<Run>, size_bytes: u64) -> Option<Self> {
        let bytes_per_s = Spread::of(runs.iter().map(|run| rate(size_bytes, run.elapsed_ns)))?;
        let durable = Spread::of(runs.iter().filter_map(|run| Some(rate(size_bytes, run.elapsed_ns + run.settle_ns?))));
        Some(Self { workload, link, runs, size_bytes, bytes_per_s, durable })
    }

    /// What is held against the array: content on the drives, or content that came.
    fn true_rate(&self) -> u64 {
        self.durable.unwrap_or(self.bytes_per_s).median
    }

    fn row(self, measured: &[Measured], links: &[Calibration], nfs: NfsKind) -> Row {
        let of_array_per_mille = self.of_array(measured);
        let of_link_per_mille = self.link.map(|link| per_mille(self.bytes_per_s.median, link.payload_bytes_per_s()));
        let bound_by = self.bound_by(of_array_per_mille, of_link_per_mille);
        let validity = self.validity(links);
        let protocol = self.workload.protocol;
        Row {
            workload: self.workload.name.to_owned(),
            method: self.workload.method.to_owned(),
            link_bits_per_s: self.link.map(LinkSpeed::bits_per_s),
            client: protocol.client(nfs).to_owned(),
            server: protocol.server(nfs).to_owned(),
            runs: self.runs,
            bytes_per_s: self.bytes_per_s,
            durable_bytes_per_s: self.durable,
            of_array_per_mille,
            of_link_per_mille,
            bound_by,
            validity,
        }
    }

    /// Against the array without a network.
    fn of_array(&self, measured: &[Measured]) -> Option<u64> {
        let Workload { protocol, direction, .. } = *self.workload;
        let base = WORKLOADS.iter().find(|other| (other.protocol, other.direction) == (protocol.base(), direction))?;
        let runs = measured.iter().filter(|one| one.workload == base).map(|one| one.run).collect();
        let base = Self::of(base, None, runs, self.size_bytes).filter(|_| protocol != protocol.base())?;
        Some(per_mille(self.true_rate(), base.true_rate()))
    }

    fn bound_by(&self, of_array: Option<u64>, of_link: Option<u64>) -> Bound {
        let is_local = matches!(self.workload.protocol, Protocol::Array | Protocol::Device);
        match (of_link, of_array) {
            (Some(link), _) if link >= FULL_PER_MILLE => Bound::Link,
            (_, Some(array)) if array >= ARRAY_PER_MILLE => Bound::Array,
            _ if self.busy_per_mille() >= BUSY_PER_MILLE => Bound::Processor,
            _ if is_local => Bound::Array,
            _ => Bound::Protocol,
        }
    }

    /// How much of the processors' time was used, in the middle one of the runs.
    fn busy_per_mille(&self) -> u64 {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
        let busy = |run: &Run| per_mille(run.cpu.machine_ns, total_ns(run).saturating_mul(processors));
        Spread::of(self.runs.iter().map(busy)).map_or(0, |busy| busy.median)
    }

    fn validity(&self, links: &[Calibration]) -> Validity {
        let mut reasons = Vec::new();
        let mut suspect = |code, text: String| reasons.push(Reason { code, verdict: Verdict::Suspect, text });
        if self.runs.iter().any(|run| total_ns(run) < SHORT_NS) {
            suspect(ReasonCode::TooShort, "a transfer took less than a second: transfer more (--size)".to_owned());
        }
        if self.busy_per_mille() >= BUSY_PER_MILLE {
            let text = "all processors were busy: one machine plays client, server and drives".to_owned();
            suspect(ReasonCode::CpuBound, text);
        }
        let ahead = self.durable.is_some_and(|durable| {
            self.workload.direction == Direction::Put
                && per_mille(self.bytes_per_s.median, durable.median) >= AHEAD_PER_MILLE
        });
        if ahead {
            let text = "the client was done well before the drives were: a cache answered".to_owned();
            suspect(ReasonCode::Buffered, text);
        }
        let own = links.iter().find(|link| Some(link.link_bits_per_s) == self.link.map(LinkSpeed::bits_per_s));
        if let Some(link) = own {
            let worst = link.to_server_bytes_per_s.min(link.to_client_bytes_per_s);
            let reached = per_mille(worst, link.expected_bytes_per_s);
            if reached < LINK_PER_MILLE {
                let text = format!("the link itself carried {}.{} % of what it should", reached / 10, reached % 10);
                suspect(ReasonCode::GeneratorBound, text);
            }
        }
        let verdict = reasons.iter().map(|reason| reason.verdict).max().unwrap_or(Verdict::Valid);
        Validity { verdict, reasons }
    }
}

/// Until all was where it had to be.
fn total_ns(run: &Run) -> u64 {
    run.elapsed_ns.saturating_add(run.settle_ns.unwrap_or(0)).max(1)
}

fn rate(bytes: u64, elapsed_ns: u64) -> u64 {
    u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(elapsed_ns.max(1))).unwrap_or(u64::MAX)
}

fn per_mille(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 1000 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}
