// The arrays over chunk size, number of members and level.

import type { Metric, StudyReport } from "../api";
import { chunkChart, membersChart } from "../charts/levels";
import { requestsChart } from "../charts/requests";
import { section } from "../dom";
import { figure, legend } from "../figure";
import { binaryBytes, grouped, threeDigits } from "../format";
import { type LevelPoint, METRIC_NAMES, byChunk, byMembers, isSequential, measuredMetrics, typicalDrive, workloadOf } from "../shape";
import { type Column, VERDICT_ORDER, table, verdictMark } from "../table";
import { levelName, levelScales } from "../theme";

type Scales = ReturnType<typeof levelScales>;

export function arrays(report: StudyReport): HTMLElement {
  const scales = levelScales(report.arrays.map(({ configuration }) => configuration.level));
  const metrics = measuredMetrics(report);
  const sequential = metrics.filter(isSequential);
  const random = metrics.filter((metric) => metric === "random_read" || metric === "random_write");
  return section(
    "arrays",
    "The arrays",
    varied(byChunk, (point) => point.chunkBytes ?? 0, report, sequential) && chunkFigure(report, sequential, scales),
    varied(byMembers, (point) => point.members, report, sequential) && membersFigure(report, sequential, scales),
    random.length > 0 && requestsFigure(report, random, scales),
  );
}

/** Whether the plan varied this factor at all: a chart over one value shows nothing. */
function varied(
  points: typeof byChunk,
  factor: (point: LevelPoint) => number,
  report: StudyReport,
  metrics: readonly Metric[],
): boolean {
  return metrics.some((metric) => new Set(points(report, metric).map(factor)).size > 1);
}

function levelLegend({ color, symbol }: Scales): Parameters<typeof legend>[0] {
  return color.domain.map((name, index) => ({
    name,
    color: color.range[index] ?? "var(--text)",
    symbol: symbol.range[index] ?? "circle",
  }));
}

function chunkFigure(report: StudyReport, metrics: readonly Metric[], scales: Scales): HTMLElement {
  const members = [...new Set(metrics.flatMap((metric) => byChunk(report, metric)).map((point) => point.members))];
  return figure({
    title: "Throughput by chunk size and level",
    caption: `Medians, with whiskers from the slowest to the fastest repeat; ${members.toSorted().join(" or ")} members. Differences smaller than the whiskers are none.`,
    legend: legend(levelLegend(scales)),
    panels: metrics.map((metric) => ({ title: METRIC_NAMES[metric], draw: chunkChart(byChunk(report, metric), scales) })),
    table: pointsTable("Throughput by chunk size and level", report, metrics, byChunk),
  });
}

function membersFigure(report: StudyReport, metrics: readonly Metric[], scales: Scales): HTMLElement {
  const chunks = new Set(metrics.flatMap((metric) => byMembers(report, metric)).flatMap((point) => point.chunkBytes ?? []));
  return figure({
    title: "Throughput by number of members",
    caption:
      `Chunk ${[...chunks].map(binaryBytes).join(" or ")}. The dashed line is as many times the drive in the middle as there are members; ` +
      "the dotted line is what all drives do at once, each for itself.",
    legend: legend([
      ...levelLegend(scales),
      { name: "ideal", color: "var(--muted)", dash: "6 4" },
      { name: "all drives at once", color: "var(--muted)", dash: "2 3" },
    ]),
    panels: metrics.map((metric) => ({
      title: METRIC_NAMES[metric],
      draw: membersChart(byMembers(report, metric), scales, { drive: typicalDrive(report, metric), ceiling: ceiling(report, metric) }),
    })),
    table: pointsTable("Throughput by number of members", report, metrics, byMembers),
  });
}

function ceiling(report: StudyReport, metric: Metric): number | undefined {
  const together = report.analysis.together.find((summary) => summary.metric === metric);
  return together && together.total_bytes_per_s.median / 1e6;
}

function pointsTable(caption: string, report: StudyReport, metrics: readonly Metric[], points: typeof byChunk): HTMLElement {
  type Row = LevelPoint & { metric: Metric };
  const rows: Row[] = metrics.flatMap((metric) => points(report, metric).map((point) => ({ ...point, metric })));
  const columns: Column<Row>[] = [
    { label: "Workload", value: (row) => METRIC_NAMES[row.metric] },
    { label: "Level", value: (row) => row.level },
    { label: "Members", value: (row) => row.members },
    { label: "Chunk", value: (row) => row.chunkBytes ?? NaN, cell: (row) => (row.chunkBytes ? binaryBytes(row.chunkBytes) : "–") },
    { label: "Median, MB/s", value: (row) => row.median, cell: (row) => threeDigits(row.median) },
    { label: "Slowest", value: (row) => row.min, cell: (row) => threeDigits(row.min) },
    { label: "Fastest", value: (row) => row.max, cell: (row) => threeDigits(row.max) },
    { label: "Validity", value: (row) => VERDICT_ORDER[row.verdict], cell: (row) => verdictMark(row.verdict) },
  ];
  return table(caption, columns, rows);
}

function requestsFigure(report: StudyReport, metrics: readonly Metric[], scales: Scales): HTMLElement {
  const rates = (metric: Metric): Parameters<typeof requestsChart>[0] =>
    report.analysis.arrays
      .flatMap((summary) => {
        const iops = workloadOf(summary.workloads, metric)?.iops;
        const level = report.arrays[summary.array]?.configuration.level;
        return iops && level && iops.min > 0 ? { array: summary.name, level: levelName(level), ...iops } : [];
      })
      .toSorted((left, right) => right.median - left.median);
  type Row = ReturnType<typeof rates>[number] & { metric: Metric };
  const columns: Column<Row>[] = [
    { label: "Workload", value: (row) => METRIC_NAMES[row.metric] },
    { label: "Array", value: (row) => row.array },
    { label: "Median, per s", value: (row) => row.median, cell: (row) => grouped(row.median) },
    { label: "Slowest", value: (row) => row.min, cell: (row) => grouped(row.min) },
    { label: "Fastest", value: (row) => row.max, cell: (row) => grouped(row.max) },
  ];
  const rows = metrics.flatMap((metric) => rates(metric).map((rate) => ({ ...rate, metric })));
  return figure({
    title: "Small requests",
    caption: `Requests per second with many in flight, best first, on a logarithmic axis; whiskers from the slowest to the fastest repeat.`,
    legend: legend(levelLegend(scales)),
    panels: metrics.map((metric) => ({ title: METRIC_NAMES[metric], draw: requestsChart(rates(metric), scales) })),
    table: table("Small requests per second", columns, rows),
  });
}
