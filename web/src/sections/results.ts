// All results: medians per array and workload, and every single run with its validity.

import type { ArraySummary, Measurement, StudyReport, WorkloadSummary } from "../api";
import { element, section } from "../dom";
import { binaryBytes, bytes, grouped, latency, megabytes, permille, spreadPercent } from "../format";
import { METRIC_NAMES } from "../shape";
import { type Column, VERDICT_ORDER, table, verdictMark } from "../table";

export function results(report: StudyReport): HTMLElement {
  return section(
    "results",
    "All results",
    element("div", { class: "card" }, element("h3", {}, "Arrays"), summariesTable(report)),
    element(
      "details",
      { class: "card" },
      element("summary", {}, "Every run, with its validity"),
      runsTable(report),
    ),
  );
}

interface SummaryRow {
  summary: ArraySummary;
  workload: WorkloadSummary;
}

/** A number that may not be there, for sorting and for showing. */
function optional<Row>(label: string, value: (row: Row) => number | undefined, show: (value: number) => string): Column<Row> {
  return {
    label,
    value: (row) => value(row) ?? NaN,
    cell: (row) => {
      const present = value(row);
      return present === undefined ? "–" : show(present);
    },
  };
}

function summariesTable(report: StudyReport): HTMLElement {
  const rows = report.analysis.arrays.flatMap((summary) => summary.workloads.map((workload) => ({ summary, workload })));
  const configuration = ({ summary }: SummaryRow) => report.arrays[summary.array]?.configuration;
  const columns: Column<SummaryRow>[] = [
    { label: "Array", value: ({ summary }) => summary.name },
    { label: "Workload", value: ({ workload }) => METRIC_NAMES[workload.metric] },
    optional("Capacity", (row) => configuration(row)?.capacity_bytes, bytes),
    { label: "May fail", value: (row) => configuration(row)?.redundancy ?? NaN, title: "drives that may fail, in any combination" },
    { label: "Request", value: ({ workload }) => workload.block_size_bytes, cell: ({ workload }) => `${binaryBytes(workload.block_size_bytes)} × ${workload.depth}`, title: "size and number in flight" },
    { label: "MB/s", value: ({ workload }) => workload.bytes_per_s.median, cell: ({ workload }) => megabytes(workload.bytes_per_s.median) },
    { label: "Per s", value: ({ workload }) => workload.iops.median, cell: ({ workload }) => grouped(workload.iops.median), title: "requests per second" },
    { label: "Spread", value: ({ workload }) => relativeSpread(workload), cell: ({ workload }) => spreadPercent(workload.bytes_per_s) || "–" },
    optional("Expected MB/s", ({ workload }) => workload.expected?.bytes_per_s, megabytes),
    optional("Of expected", ({ workload }) => workload.expected?.efficiency_permille, permille),
    optional("Latency, 50 %", ({ workload }) => workload.latency_50_ns?.median, latency),
    optional("99 %", ({ workload }) => workload.latency_99_ns?.median, latency),
    optional("CPU per request", ({ workload }) => workload.cpu_ns_per_io?.median, latency),
    { label: "Validity", value: ({ workload }) => VERDICT_ORDER[workload.verdict], cell: ({ workload }) => verdictMark(workload.verdict) },
  ];
  return table("Medians by array and workload", columns, rows);
}

function relativeSpread({ bytes_per_s: { median, min, max } }: WorkloadSummary): number {
  return median === 0 ? NaN : (max - min) / median;
}

interface RunRow {
  setting: string;
  measurement: Measurement;
}

function allRuns(report: StudyReport): RunRow[] {
  const alone = report.alone.flatMap(({ measurements }) => measurements.map((measurement) => ({ setting: "alone", measurement })));
  const together = report.together.flatMap(({ drives }) => drives.map(({ measurement }) => ({ setting: "all at once", measurement })));
  const arrays = report.arrays.flatMap(({ measurements }) => measurements.map((measurement) => ({ setting: "array", measurement })));
  return [...alone, ...together, ...arrays];
}

function runsTable(report: StudyReport): HTMLElement {
  const workload = ({ measurement }: RunRow): string => {
    const { pattern, read_percent, block_size_bytes, depth } = measurement.workload;
    const direction = read_percent === 100 ? "read" : read_percent === 0 ? "write" : `${read_percent} % read`;
    return `${pattern} ${direction}, ${binaryBytes(block_size_bytes)} × ${depth}`;
  };
  const columns: Column<RunRow>[] = [
    { label: "Target", value: ({ measurement }) => measurement.target.name },
    { label: "Setting", value: ({ setting }) => setting },
    { label: "Workload", value: workload },
    { label: "Run", value: ({ measurement }) => measurement.repeat },
    { label: "MB/s", value: ({ measurement }) => measurement.bytes_per_s, cell: ({ measurement }) => megabytes(measurement.bytes_per_s) },
    { label: "Per s", value: ({ measurement }) => measurement.iops, cell: ({ measurement }) => grouped(measurement.iops) },
    optional("Latency, 50 %", ({ measurement }) => measurement.latency_ns.percentiles["50"], latency),
    optional("99 %", ({ measurement }) => measurement.latency_ns.percentiles["99"], latency),
    { label: "Slowest", value: ({ measurement }) => measurement.latency_ns.max, cell: ({ measurement }) => latency(measurement.latency_ns.max) },
    {
      label: "Validity",
      value: ({ measurement }) => VERDICT_ORDER[measurement.validity.verdict],
      cell: ({ measurement }) => verdictMark(measurement.validity.verdict, measurement.validity.reasons.map(({ text }) => text)),
    },
  ];
  return table("Every run", columns, allRuns(report));
}
