//! A network study as text.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use shoal_bench::Spread;
use shoal_network::{Bound, Calibration, Findings, LinkSpeed, Row};
use shoal_text::{format_ns, format_rate, format_size};

use super::document::{NetworkDocument, NetworkPlanDocument, PublishedDocument};
use super::small::SmallDocument;

/// What would be done.
pub(super) fn plan_text(plan: &NetworkPlanDocument) -> String {
    let mut text = String::new();
    describe_plan(&mut text, plan).expect("strings take everything");
    text
}

fn describe_plan(text: &mut String, plan: &NetworkPlanDocument) -> std::fmt::Result {
    let links: Vec<String> = plan.links_bits_per_s.iter().map(|bits| link_text(Some(*bits))).collect();
    writeln!(text, "{} transfers of {}, of {}", plan.steps.len(), format_size(plan.size_bytes), plan.served)?;
    writeln!(text, "  over links of {}, between two hosts of this machine", links.join(" and "))?;
    writeln!(text, "  written to the array: {}", format_size(plan.written_bytes))?;
    writeln!(text, "  in memory: {}", format_size(plan.memory_bytes))?;
    writeln!(text, "  time: {} or more, if the array does 100 MB/s", format_ns(plan.duration_ns))?;
    if plan.small_bytes > 0 {
        writeln!(
            text,
            "  before that in blocks of 4 KiB, drives alone and together: {}",
            format_size(plan.small_bytes)
        )?;
    }
    if plan.overwrites_array {
        writeln!(text, "  ALL THAT THE ARRAY OR ITS DRIVES HOLD IS LOST")?;
    }
    if let Some(nfs) = &plan.nfs {
        writeln!(text, "  NFS by {nfs}")?;
    }
    for out in &plan.left_out {
        writeln!(text, "  {}: not measured: {}", out.what, out.reason)?;
    }
    let first = plan.steps.len() / plan.repeats.max(1) as usize;
    let more = if plan.repeats > 1 { ", and so on in other orders" } else { "" };
    writeln!(text, "  in an order by seed {}: {}{more}", plan.seed, plan.steps[..first].join(", "))
}

/// What was found.
pub(super) fn text(document: &NetworkDocument) -> String {
    let mut text = String::new();
    describe(&mut text, document).expect("strings take everything");
    text
}

fn describe(text: &mut String, document: &NetworkDocument) -> std::fmt::Result {
    let findings = &document.findings;
    let size = format_size(findings.size_bytes);
    writeln!(text, "Network study of {}: {size} a transfer, {} repeats", findings.served, findings.repeats)?;
    writeln!(text, "Client, server and drives share this machine's processors.\n")?;
    for link in &findings.links {
        describe_link(text, link)?;
    }
    writeln!(text, "\n{}", lines(&table(findings)))?;
    notes(text, findings)?;
    sides(text, findings)?;
    for out in &findings.left_out {
        writeln!(text, "{}: not measured: {}", out.what, out.reason)?;
    }
    writeln!(
        text,
        "\nMB/s: as the client saw it. On the drives: until the file was, too. Of the array: against the array"
    )?;
    writeln!(text, "itself, without a network. CPU: seconds of a processor for a GB. Seed {}.", findings.seed)?;
    small(text, &document.small)?;
    document.published.as_ref().map_or(Ok(()), |published| beside(text, published))
}

/// Who is at the ends of each protocol.
fn sides(text: &mut String, findings: &Findings) -> std::fmt::Result {
    let mut told: Vec<String> = Vec::new();
    for row in findings.rows.iter().filter(|row| row.link_bits_per_s.is_some()) {
        let protocol = row.workload.split('-').next().unwrap_or_default();
        let side = format!("{protocol}: {}; {}", row.client, row.server);
        if !told.contains(&side) {
            writeln!(text, "{side}")?;
            told.push(side);
        }
    }
    Ok(())
}

fn describe_link(text: &mut String, link: &Calibration) -> std::fmt::Result {
    writeln!(
        text,
        "Link of {}: a TCP stream got {} to the server, {} to the client ({} expected), a byte and back {}",
        link_text(Some(link.link_bits_per_s)),
        format_rate(link.to_server_bytes_per_s),
        format_rate(link.to_client_bytes_per_s),
        format_rate(link.expected_bytes_per_s),
        format_ns(link.round_trip_ns),
    )
}

fn link_text(bits_per_s: Option<u64>) -> String {
    bits_per_s.and_then(LinkSpeed::of).map_or_else(|| "none".to_owned(), |link| link.to_string())
}

fn table(findings: &Findings) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "workload",
        "link",
        "MB/s",
        "min-max",
        "on the drives",
        "of the array",
        "of the link",
        "CPU server",
        "client",
        "bound by",
    ]);
    for row in &findings.rows {
        table.add_row(cells(row, findings));
    }
    for column in table.column_iter_mut().skip(2).take(7) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn cells(row: &Row, findings: &Findings) -> [String; 10] {
    let mark = if row.validity.reasons.is_empty() { "" } else { " *" };
    let per_cent = |per_mille: Option<u64>| per_mille.map_or(String::new(), |part| format!("{} %", (part + 5) / 10));
    let processor = |of: fn(&shoal_network::CpuUse) -> u64| {
        let ns = Spread::of(row.runs.iter().map(|run| of(&run.cpu))).map_or(0, |spread| spread.median);
        format!("{:.1}", ns as f64 / findings.size_bytes.max(1) as f64)
    };
    [
        format!("{}{mark}", row.workload),
        link_text(row.link_bits_per_s),
        megabytes(row.bytes_per_s.median),
        format!("{}-{}", megabytes(row.bytes_per_s.min), megabytes(row.bytes_per_s.max)),
        row.durable_bytes_per_s.map_or(String::new(), |rate| megabytes(rate.median)),
        per_cent(row.of_array_per_mille),
        per_cent(row.of_link_per_mille),
        processor(|cpu| cpu.server_ns),
        processor(|cpu| cpu.client_ns),
        bound_text(row.bound_by).to_owned(),
    ]
}

fn megabytes(bytes_per_s: u64) -> String {
    format!("{:.1}", bytes_per_s as f64 / 1e6)
}

fn bound_text(bound: Bound) -> &'static str {
    match bound {
        Bound::Link => "link",
        Bound::Array => "array",
        Bound::Processor => "processor",
        Bound::Protocol => "protocol",
    }
}

/// What speaks against rows, each reason once.
fn notes(text: &mut String, findings: &Findings) -> std::fmt::Result {
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for row in &findings.rows {
        let name = match row.link_bits_per_s {
            Some(_) => format!("{} at {}", row.workload, link_text(row.link_bits_per_s)),
            None => row.workload.clone(),
        };
        for reason in &row.validity.reasons {
            match told.iter_mut().find(|(why, _)| *why == reason.text) {
                Some((_, of)) => of.push(name.clone()),
                None => told.push((&reason.text, vec![name.clone()])),
            }
        }
    }
    for (why, of) in told {
        writeln!(text, "* {why}: {}", of.join(", "))?;
    }
    Ok(())
}

/// Blocks of 4 KiB, a line for each run, as the study of a Raspberry Pi has them.
fn small(text: &mut String, tables: &[SmallDocument]) -> std::fmt::Result {
    if tables.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["4 KiB, one at a time", "", "run", "MB/s", "99.99 % within"]);
    for one in tables {
        for (run, number) in one.runs.iter().zip(1..) {
            let latency = run.latency_99_99_ns.map_or_else(String::new, format_ns);
            let mark = if run.validity.reasons.is_empty() { "" } else { " *" };
            let rate = format!("{:.3}", run.bytes_per_s as f64 / 1e6);
            table.add_row([
                format!("{}{mark}", one.target),
                one.direction.name().to_owned(),
                format!("{number}"),
                rate,
                latency,
            ]);
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(text, "\n{}", lines(&table))?;
    let mut reasons: Vec<&str> = Vec::new();
    for reason in tables.iter().flat_map(|one| &one.runs).flat_map(|run| &run.validity.reasons) {
        if !reasons.contains(&reason.text.as_str()) {
            writeln!(text, "* {}", reason.text)?;
            reasons.push(&reason.text);
        }
    }
    Ok(())
}

/// The table without the blanks at the ends of its lines.
fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn beside(text: &mut String, published: &PublishedDocument) -> std::fmt::Result {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["published", "measured", "unit", "figure", "by"]);
    for figure in &published.figures {
        table.add_row([
            format!("{}", figure.published),
            figure.measured.map_or_else(|| "not measured".to_owned(), |value| format!("{value:.3}")),
            figure.unit.clone(),
            figure.figure.clone(),
            figure.workload.clone(),
        ]);
    }
    for column in table.column_iter_mut().take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(text, "\nBeside the study {}:\n{}", published.study, lines(&table))
}
