// Throughput over chunk size and over the number of members, a line per level, with whiskers over the repeats.

import * as Plot from "@observablehq/plot";
import { CHART, type Draw, TIP } from "../figure";
import { binaryBytes, threeDigits } from "../format";
import type { LevelPoint } from "../shape";
import type { levelScales } from "../theme";

type Scales = ReturnType<typeof levelScales>;

function marks(points: LevelPoint[], x: (point: LevelPoint) => string | number): Plot.Markish[] {
  const tip = (point: LevelPoint): string =>
    `${point.array}\n${threeDigits(point.median)} MB/s (${threeDigits(point.min)} to ${threeDigits(point.max)})` +
    (point.verdict === "valid" ? "" : `\n${point.verdict}`);
  return [
    Plot.ruleY([0], { stroke: "var(--border)" }),
    Plot.line(points, { x, y: "median", z: "level", stroke: "level", strokeWidth: 2 }),
    Plot.ruleX(points, { x, y1: "min", y2: "max", stroke: "level", strokeWidth: 1.5, marker: "tick" }),
    Plot.dot(points, { x, y: "median", symbol: "level", fill: "level", stroke: "var(--card)", r: 5 }),
    Plot.tip(points, Plot.pointer({ x, y: "median", title: tip, ...TIP })),
  ];
}

/** Throughput by chunk size. */
export function chunkChart(points: LevelPoint[], scales: Scales): Draw {
  const chunks = [...new Set(points.map((point) => point.chunkBytes ?? 0))].toSorted((left, right) => left - right);
  return (width) =>
    Plot.plot({
      ...CHART,
      ...scales,
      height: 280,
      marks: marks(points, (point) => binaryBytes(point.chunkBytes ?? 0)),
      width,
      x: { domain: chunks.map(binaryBytes), label: "Chunk size →", type: "point", padding: 0.4 },
      y: { grid: true, label: "↑ MB/s", nice: true, zero: true },
    });
}

/** What the lines are held against, in MB/s. */
export interface Ideal {
  drive: number | undefined;
  ceiling: number | undefined;
}

/** Throughput by number of members; dashed, as many times a typical drive; dotted, all drives at once. */
export function membersChart(points: LevelPoint[], scales: Scales, { drive, ceiling }: Ideal): Draw {
  const counts = [...new Set(points.map((point) => point.members))].toSorted((left, right) => left - right);
  const most = counts.at(-1) ?? 1;
  const ideal = drive === undefined ? [] : [1, most].map((members) => ({ members, median: members * drive }));
  return (width) =>
    Plot.plot({
      ...CHART,
      ...scales,
      height: 280,
      marks: [
        Plot.line(ideal, { x: "members", y: "median", stroke: "var(--muted)", strokeDasharray: "6 4" }),
        Plot.ruleY(ceiling === undefined ? [] : [ceiling], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
        ...marks(points, (point) => point.members),
      ],
      width,
      x: { domain: [1, most + 0.2], label: "Members →", ticks: counts, tickFormat: String },
      y: { grid: true, label: "↑ MB/s", nice: true, zero: true },
    });
}
