//! A network study, as the lab book keeps it: each way to transfer content, with its repeats.

use std::collections::BTreeMap;

use shoal_labbook::{Measured, Target};
use shoal_network::{Findings, Row, Run};
use shoal_text::{format_bit_rate, format_size};

const NS_PER_S: u128 = 1_000_000_000;

/// What was served, with what was measured of it.
pub(super) fn target(findings: &Findings) -> Target {
    let rows = findings.rows.iter();
    Target {
        name: findings.served.clone(),
        kind: "served".to_owned(),
        size_bytes: 0,
        drive: None,
        array: None,
        members: Vec::new(),
        simulated: None,
        measurements: rows.flat_map(|row| (1..).zip(&row.runs).map(|run| measured(findings, row, run))).collect(),
    }
}

fn measured(findings: &Findings, row: &Row, (repeat, run): (u32, &Run)) -> Measured {
    let link =
        row.link_bits_per_s.map_or("without a link".to_owned(), |bits| format!("over {}", format_bit_rate(bits)));
    let rate = |elapsed_ns: u64| {
        let bytes_per_s = (u128::from(findings.size_bytes) * NS_PER_S).checked_div(u128::from(elapsed_ns)).unwrap_or(0);
        u64::try_from(bytes_per_s).unwrap_or(u64::MAX)
    };
    let mut figures = BTreeMap::from([
        ("bytes_per_s".to_owned(), rate(run.elapsed_ns)),
        ("elapsed_ns".to_owned(), run.elapsed_ns),
        ("cpu_server_ns".to_owned(), run.cpu.server_ns),
        ("cpu_client_ns".to_owned(), run.cpu.client_ns),
    ]);
    if let Some(settle_ns) = run.settle_ns {
        figures.insert("durable_bytes_per_s".to_owned(), rate(run.elapsed_ns.saturating_add(settle_ns)));
    }
    let settings = [
        ("method", row.method.clone()),
        ("client", row.client.clone()),
        ("server", row.server.clone()),
        ("size_bytes", findings.size_bytes.to_string()),
        ("seed", findings.seed.to_string()),
    ];
    Measured {
        workload: format!("{} {link}, {}", row.workload, format_size(findings.size_bytes)),
        settings: settings.map(|(name, value)| (name.to_owned(), value)).into(),
        repeat,
        figures,
        validity: row.validity.clone(),
        read_histogram: Vec::new(),
        write_histogram: Vec::new(),
        series: Vec::new(),
    }
}
