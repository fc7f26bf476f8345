// Inside single runs: how latencies are distributed, and how steady the throughput is.

import type { Bucket, Measurement, Metric, StudyReport } from "../api";
import { type LatencySeries, latencyChart } from "../charts/latency";
import { runsChart } from "../charts/timeline";
import { chooser, element, section } from "../dom";
import { figure, legend } from "../figure";
import { latency } from "../format";
import { METRIC_NAMES, histogramsOf, latencyTail, measuredMetrics, notableArrays, rates, runsOf } from "../shape";
import { type Column, table } from "../table";
import { levelName, levelScales, seriesColors } from "../theme";
import { driveName } from "./drives";

export function runs(report: StudyReport): HTMLElement {
  const metrics = measuredMetrics(report);
  const options = metrics.map((metric) => ({ value: metric, label: METRIC_NAMES[metric] }));
  return section("runs", "Inside the runs", latencyPart(report, metrics, options), timePart(report, metrics, options));
}

type Options = Parameters<typeof chooser>[1];

/** Takes a value back from a drop-down of metrics. */
function chosen(metrics: readonly Metric[], value: string): Metric {
  return metrics.find((metric) => metric === value) ?? "sequential_read";
}

function latencyPart(report: StudyReport, metrics: readonly Metric[], options: Options): HTMLElement {
  const place = element("div");
  const first = metrics.includes("random_read") ? "random_read" : (metrics[0] ?? "sequential_read");
  const choice = chooser("Workload", options, first, (value) => place.replaceChildren(latencyFigure(report, chosen(metrics, value))));
  return element("div", {}, choice, place);
}

function latencyFigure(report: StudyReport, metric: Metric): HTMLElement {
  const sources = latencySources(report, metric);
  const series: LatencySeries[] = sources.map(({ histograms, ...rest }) => ({ ...rest, tail: latencyTail(histograms) }));
  return figure({
    title: `Latency distribution, ${METRIC_NAMES[metric].toLowerCase()}`,
    caption:
      "Read upwards from a percentile: so many of a hundred requests took at most this long. Both axes are logarithmic, " +
      "so that the slow requests, which one notices, have room. All valid repeats taken together; each level's best array, and one drive for scale.",
    legend: legend(series),
    panels: series.length === 0 ? [] : [{ title: "", draw: latencyChart(series) }],
    table: latencyTable(metric, series),
  });
}

interface LatencySource extends Omit<LatencySeries, "tail"> {
  histograms: Bucket[][];
}

/** The arrays in the colours of their levels, and the first drive in grey. */
function latencySources(report: StudyReport, metric: Metric): LatencySource[] {
  const notable = notableArrays(report);
  const { color } = levelScales(report.arrays.map(({ configuration }) => configuration.level));
  const seen = new Set<string>();
  const arrays = notable.map((summary) => {
    const result = report.arrays[summary.array];
    const level = levelName(result?.configuration.level ?? "");
    const source: LatencySource = {
      name: summary.name,
      color: color.range[color.domain.indexOf(level)] ?? "var(--text)",
      histograms: histogramsOf(result?.measurements ?? [], metric),
    };
    if (seen.has(level)) source.dash = "3 3";
    seen.add(level);
    return source;
  });
  const drives = report.alone.slice(0, 1).map(({ drive, measurements }) => ({
    name: `${driveName(report, drive)} alone`,
    color: "var(--muted)",
    dash: "6 4",
    histograms: histogramsOf(measurements, metric),
  }));
  return [...arrays, ...drives].filter(({ histograms }) => histograms.length > 0);
}

const SHARES = [0.5, 0.9, 0.99, 0.999, 0.9999] as const;

function latencyTable(metric: Metric, series: readonly LatencySeries[]): HTMLElement {
  // Ten requests must lie beyond a percentile for it to say anything.
  const at = ({ tail }: LatencySeries, share: number): number => {
    const least = tail.at(-1)?.beyond ?? 1;
    if (1 - share < 10 * least) return NaN;
    return tail.find(({ beyond }) => beyond <= 1 - share + 1e-9)?.ns ?? NaN;
  };
  const columns: Column<LatencySeries>[] = [
    { label: "Target", value: ({ name }) => name },
    ...SHARES.map((share) => ({
      label: `${Number((share * 100).toFixed(2))} %`,
      value: (row: LatencySeries) => at(row, share),
      cell: (row: LatencySeries) => (Number.isNaN(at(row, share)) ? "–" : latency(at(row, share))),
    })),
    { label: "Slowest", value: ({ tail }) => tail.at(-1)?.ns ?? NaN, cell: ({ tail }) => latency(tail.at(-1)?.ns ?? 0) },
  ];
  return table(`Latency, ${METRIC_NAMES[metric].toLowerCase()}`, columns, series);
}

function timePart(report: StudyReport, metrics: readonly Metric[], options: Options): HTMLElement {
  const targets = timeTargets(report);
  const place = element("div");
  let metric: Metric = metrics.includes("sequential_write") ? "sequential_write" : (metrics[0] ?? "sequential_read");
  let target = targets[0]?.name ?? "";
  const redraw = (): void => {
    const measurements = targets.find(({ name }) => name === target)?.measurements ?? [];
    place.replaceChildren(timeFigure(target, metric, runsOf(measurements, metric)));
  };
  const names = targets.map(({ name }) => ({ value: name, label: name }));
  const controls = element(
    "div",
    { class: "choosers" },
    chooser("Target", names, target, (value) => {
      target = value;
      redraw();
    }),
    chooser("Workload", options, metric, (value) => {
      metric = chosen(metrics, value);
      redraw();
    }),
  );
  return element("div", {}, controls, place);
}

/** Every array, the recommended one first, then every drive. */
function timeTargets(report: StudyReport): { name: string; measurements: Measurement[] }[] {
  const arrays = report.analysis.arrays.map((summary) => ({
    name: summary.name,
    measurements: report.arrays[summary.array]?.measurements ?? [],
  }));
  const recommended = arrays.splice(report.analysis.recommendation.array ?? 0, 1);
  const drives = report.alone.map(({ drive, measurements }) => ({ name: driveName(report, drive), measurements }));
  return [...recommended, ...arrays, ...drives];
}

function timeFigure(target: string, metric: Metric, measurements: readonly Measurement[]): HTMLElement {
  const colors = seriesColors(measurements.length);
  const series = measurements.map((run, index) => ({
    name: `run ${run.repeat}`,
    color: colors[index] ?? "var(--text)",
    rates: rates(run.series, run.elapsed_ns),
  }));
  return figure({
    title: `Throughput over time, ${METRIC_NAMES[metric].toLowerCase()}, ${target}`,
    caption: "Every repeat. A write rate that falls and stays down shows a cache or spare area that has filled up.",
    legend: legend(series),
    panels: series.length === 0 ? [] : [{ title: "", draw: runsChart(series) }],
  });
}
