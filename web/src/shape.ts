// The document's parts in the shape that charts and tables take. Nothing is concluded here: medians, ties and places
// come with the document.

import type {
  ArraySummary,
  Bucket,
  FaultRecord,
  Interval,
  Measurement,
  Metric,
  Spread,
  StudyReport,
  Verdict,
  WorkloadSummary,
} from "./api";
import { levelName } from "./theme";

export const METRICS: readonly Metric[] = ["sequential_read", "sequential_write", "random_read", "random_write", "mixed"];

export const METRIC_NAMES: Record<Metric, string> = {
  sequential_read: "Sequential read",
  sequential_write: "Sequential write",
  random_read: "Random read",
  random_write: "Random write",
  mixed: "Mixed",
};

export function isSequential(metric: Metric): boolean {
  return metric === "sequential_read" || metric === "sequential_write";
}

/** What the plan measured, in one order everywhere. */
export function measuredMetrics(report: StudyReport): Metric[] {
  const workloads = [...report.analysis.drives, ...report.analysis.arrays].flatMap((target) => target.workloads);
  const present = new Set(workloads.map((workload) => workload.metric));
  return METRICS.filter((metric) => present.has(metric));
}

/** The summary that stands for a metric: the first in the plan's order. */
export function workloadOf(workloads: readonly WorkloadSummary[], metric: Metric): WorkloadSummary | undefined {
  return workloads.find((workload) => workload.metric === metric);
}

/** The figure that a metric is quoted by: throughput if sequential, else requests per second. */
export function figureOf(workload: WorkloadSummary): Spread {
  return isSequential(workload.metric) ? workload.bytes_per_s : workload.iops;
}

/** One array's throughput as a point with whiskers. Speeds in MB/s. */
export interface LevelPoint {
  array: string;
  level: string;
  members: number;
  chunkBytes: number | undefined;
  median: number;
  min: number;
  max: number;
  verdict: Verdict;
}

function levelPoints(report: StudyReport, metric: Metric): LevelPoint[] {
  return report.analysis.arrays.flatMap((summary) => {
    const configuration = report.arrays[summary.array]?.configuration;
    const workload = workloadOf(summary.workloads, metric);
    if (configuration === undefined || workload === undefined) return [];
    const { median, min, max } = workload.bytes_per_s;
    return {
      array: summary.name,
      level: levelName(configuration.level),
      members: configuration.members.length,
      chunkBytes: configuration.chunk_bytes ?? undefined,
      median: median / 1e6,
      min: min / 1e6,
      max: max / 1e6,
      verdict: workload.verdict,
    };
  });
}

function groupedBy<Item, Key>(items: readonly Item[], key: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Of each level, the arrays of the number of members that was measured with most chunk sizes; of those, the most members. */
export function byChunk(report: StudyReport, metric: Metric): LevelPoint[] {
  const striped = levelPoints(report, metric).filter((point) => point.chunkBytes !== undefined);
  return mostVaried(striped, (point) => point.members, (point) => point.chunkBytes ?? 0);
}

/** Of each level, the arrays of the chunk size that was measured with most numbers of members; of those, the largest. */
export function byMembers(report: StudyReport, metric: Metric): LevelPoint[] {
  return mostVaried(levelPoints(report, metric), (point) => point.chunkBytes ?? 0, (point) => point.members);
}

function mostVaried(
  points: LevelPoint[],
  fixed: (point: LevelPoint) => number,
  varied: (point: LevelPoint) => number,
): LevelPoint[] {
  return [...groupedBy(points, (point) => point.level).values()].flatMap((level) => {
    const candidates = [...groupedBy(level, fixed)].map(([value, group]) => ({
      value,
      group,
      variety: new Set(group.map(varied)).size,
    }));
    candidates.sort((left, right) => right.variety - left.variety || right.value - left.value);
    return (candidates[0]?.group ?? []).toSorted((left, right) => varied(left) - varied(right));
  });
}

/** The drive in the middle, measured alone, in MB/s: what the ideal line multiplies. */
export function typicalDrive(report: StudyReport, metric: Metric): number | undefined {
  const speeds = report.analysis.drives.flatMap((drive) => workloadOf(drive.workloads, metric)?.bytes_per_s.median ?? []);
  return speeds.length === 0 ? undefined : medianOf(speeds) / 1e6;
}

/** The middle of some numbers; of an even number, the lower of the middle two. */
export function medianOf(values: readonly number[]): number {
  const ordered = values.toSorted((left, right) => left - right);
  return ordered[Math.floor((ordered.length - 1) / 2)] ?? NaN;
}

/** A point of a latency distribution: `beyond` of all requests, as a share, took longer than this. */
export interface TailPoint {
  beyond: number;
  ns: number;
}

/** The distribution of several runs taken together, from the fastest request to the slowest. */
export function latencyTail(histograms: readonly (readonly Bucket[])[]): TailPoint[] {
  const counts = new Map<number, number>();
  for (const { up_to_ns, count } of histograms.flat()) counts.set(up_to_ns, (counts.get(up_to_ns) ?? 0) + count);
  const buckets = [...counts].toSorted(([left], [right]) => left - right);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let passed = 0;
  return buckets.map(([ns, count]) => {
    passed += count;
    // The slowest request has none beyond it; it is drawn where one in all of them lies.
    return { beyond: Math.max(total - passed, 1) / total, ns };
  });
}

/** The histograms behind a metric's runs, invalid runs apart. */
export function histogramsOf(measurements: readonly Measurement[], metric: Metric): Bucket[][] {
  return runsOf(measurements, metric)
    .filter((run) => run.validity.verdict !== "invalid")
    .flatMap((run) => [run.read?.histogram, run.write?.histogram])
    .filter((histogram): histogram is Bucket[] => histogram !== undefined && histogram.length > 0);
}

/** The runs that belong to a metric. */
export function runsOf(measurements: readonly Measurement[], metric: Metric): Measurement[] {
  return measurements.filter((measurement) => metricOf(measurement) === metric);
}

function metricOf({ workload }: Measurement): Metric {
  if (workload.read_percent !== 0 && workload.read_percent !== 100) return "mixed";
  const direction = workload.read_percent === 100 ? "read" : "write";
  return `${workload.pattern}_${direction}`;
}

/** Throughput in MB/s from `start` to `end`, in seconds. */
export interface RateInterval {
  start: number;
  end: number;
  megabytesPerSecond: number;
}

/** A series with its lengths: an interval ends where the next begins, the last one with the run. */
export function rates(series: readonly Interval[], elapsedNs: number, offsetNs = 0): RateInterval[] {
  return series.flatMap((interval, index) => {
    const endNs = series[index + 1]?.start_ns ?? elapsedNs;
    const lengthNs = endNs - interval.start_ns;
    const previousNs = interval.start_ns - (series[index - 1]?.start_ns ?? 0);
    // A stub of an interval at the end says nothing about speed.
    if (lengthNs <= 0 || (index > 0 && lengthNs < previousNs / 4)) return [];
    const megabytesPerSecond = ((interval.read_bytes + interval.write_bytes) * 1e3) / lengthNs;
    return { start: (offsetNs + interval.start_ns) / 1e9, end: (offsetNs + endNs) / 1e9, megabytesPerSecond };
  });
}

/** The load's throughput through a fault, from before it to after the rebuild. */
export function faultRates(fault: FaultRecord): RateInterval[] {
  return fault.phases.flatMap(({ measurement, start_ns }) => rates(measurement.series, measurement.elapsed_ns, start_ns));
}

/** Whose results are worth comparing: the recommended array and the runner-up, each level's best ranked, a lone drive. */
export function notableArrays(report: StudyReport): ArraySummary[] {
  const { rankings, recommendation, arrays } = report.analysis;
  const ranked = rankings[0]?.entries.map((entry) => entry.array) ?? arrays.map((summary) => summary.array);
  const levels = new Set<string>();
  const notable = ranked.filter((array) => {
    const level = report.arrays[array]?.configuration.level;
    if (level === undefined || levels.has(level)) return array === recommendation.array;
    levels.add(level);
    return true;
  });
  return notable.flatMap((array) => arrays[array] ?? []);
}
