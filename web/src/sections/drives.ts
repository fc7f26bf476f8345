// The drives: what each does alone, and what is left of it when all work.

import type { Metric, StudyReport, WorkloadSummary } from "../api";
import { drivesChart } from "../charts/drives";
import { element, section } from "../dom";
import { figure, legend } from "../figure";
import { bytes, grouped, listed, megabytes, rate, spreadPercent } from "../format";
import { METRIC_NAMES, isSequential, measuredMetrics, workloadOf } from "../shape";
import { type Column, VERDICT_ORDER, table, verdictMark } from "../table";

export function drives(report: StudyReport): HTMLElement {
  const metrics = measuredMetrics(report).filter(isSequential);
  return section(
    "drives",
    "The drives",
    ...findings(report).map((text) => element("p", { class: "finding" }, text)),
    figure({
      title: "Each drive alone, and all at once",
      caption:
        "Medians of the repeats, in MB/s (a million bytes a second). Where the pairs lie apart, the drives share a bus or a " +
        "host that cannot carry them all.",
      legend: legend([
        { name: "alone", color: "var(--series-4)", symbol: "circle" },
        { name: "while all work", color: "var(--series-1)", symbol: "circle", hollow: true },
      ]),
      panels: metrics.map((metric) => ({ title: METRIC_NAMES[metric], draw: drivesChart(speeds(report, metric)) })),
      table: drivesTable(report),
    }),
  );
}

function speeds(report: StudyReport, metric: Metric): Parameters<typeof drivesChart>[0] {
  return report.analysis.drives.map((summary) => ({
    name: driveName(report, summary.drive),
    alone: perMega(workloadOf(summary.workloads, metric)?.bytes_per_s.median),
    together: perMega(share(report, metric, summary.drive)),
  }));
}

function perMega(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value / 1e6;
}

function share(report: StudyReport, metric: Metric, drive: number): number | undefined {
  const together = report.analysis.together.find((summary) => summary.metric === metric);
  return together?.drives.find((part) => part.drive === drive)?.bytes_per_s.median;
}

/** A drive's short name. */
export function driveName(report: StudyReport, drive: number): string {
  return report.drives[drive]?.name ?? `drive ${drive}`;
}

/** Slow drives and shared bottlenecks, in words. */
function findings(report: StudyReport): string[] {
  const slow = new Map<number, string[]>();
  for (const { drive, metric, bytes_per_s, typical_bytes_per_s } of report.analysis.stragglers) {
    const percent = Math.round((100 * bytes_per_s) / typical_bytes_per_s);
    slow.set(drive, [...(slow.get(drive) ?? []), `${METRIC_NAMES[metric].toLowerCase()} (${percent} %)`]);
  }
  const stragglers = [...slow].map(
    ([drive, metrics]) =>
      `${driveName(report, drive)} is much slower than the drive in the middle: ${listed(metrics)}. It holds up every array that it is in.`,
  );
  const limited = report.analysis.together.flatMap((summary) =>
    summary.bus_limited && summary.alone_bytes_per_s
      ? `${METRIC_NAMES[summary.metric].toLowerCase()} ${rate(summary.total_bytes_per_s.median)} instead of ${rate(summary.alone_bytes_per_s)}`
      : [],
  );
  if (limited.length === 0) return stragglers;
  return [...stragglers, `All at once, the drives are held up by what they share: ${listed(limited)}.`];
}

function drivesTable(report: StudyReport): HTMLElement {
  type Row = StudyReport["analysis"]["drives"][number];
  const workload = (row: Row, metric: Metric): WorkloadSummary | undefined => workloadOf(row.workloads, metric);
  const columns: Column<Row>[] = [
    { label: "Drive", value: (row) => driveName(report, row.drive) },
    { label: "Model", value: (row) => report.drives[row.drive]?.model ?? "–" },
    { label: "Bus", value: (row) => report.drives[row.drive]?.bus ?? "–" },
    {
      label: "Size",
      value: (row) => report.drives[row.drive]?.size_bytes ?? NaN,
      cell: (row) => bytes(report.drives[row.drive]?.size_bytes ?? 0),
    },
    ...measuredMetrics(report).flatMap((metric) => metricColumns(report, metric, workload)),
    {
      label: "Validity",
      value: (row) => Math.max(...row.workloads.map(({ verdict }) => VERDICT_ORDER[verdict])),
      cell: (row) => {
        const worst = row.workloads.map(({ verdict }) => verdict).toSorted((left, right) => VERDICT_ORDER[right] - VERDICT_ORDER[left]);
        return verdictMark(worst[0] ?? "invalid");
      },
    },
  ];
  return table("The drives, alone and while all work", columns, report.analysis.drives);
}

function metricColumns<Row extends { drive: number }>(
  report: StudyReport,
  metric: Metric,
  workload: (row: Row, metric: Metric) => WorkloadSummary | undefined,
): Column<Row>[] {
  if (!isSequential(metric)) {
    const value = (row: Row): number => workload(row, metric)?.iops.median ?? NaN;
    return [{ label: `${METRIC_NAMES[metric]}, per s`, value, cell: (row) => (Number.isNaN(value(row)) ? "–" : grouped(value(row))) }];
  }
  const alone = (row: Row): number => workload(row, metric)?.bytes_per_s.median ?? NaN;
  const together = (row: Row): number => share(report, metric, row.drive) ?? NaN;
  return [
    {
      label: `${METRIC_NAMES[metric]}, MB/s`,
      value: alone,
      cell: (row) => {
        const spread = workload(row, metric)?.bytes_per_s;
        return spread ? `${megabytes(spread.median)} ${spreadPercent(spread)}` : "–";
      },
    },
    { label: "all at once", value: together, cell: (row) => (Number.isNaN(together(row)) ? "–" : megabytes(together(row))) },
  ];
}
