// The share of requests that took longer, on a scale that gives the slow ones room.

import * as Plot from "@observablehq/plot";
import { CHART, type Draw, TIP } from "../figure";
import { latency } from "../format";
import type { TailPoint } from "../shape";

export interface LatencySeries {
  name: string;
  color: string;
  dash?: string;
  tail: TailPoint[];
}

const PERCENTILES = ["0", "50", "90", "99", "99.9", "99.99", "99.999"] as const;

/** 0.01 as "99". */
function percentileLabel(beyond: number): string {
  return PERCENTILES.find((label) => Math.abs(1 - Number(label) / 100 - beyond) < beyond / 100) ?? "";
}

export function latencyChart(series: LatencySeries[]): Draw {
  const points = series.flatMap(({ name, tail }) => tail.map((point) => ({ name, ...point })));
  const least = Math.min(...points.map(({ beyond }) => beyond), 0.01);
  const ticks = PERCENTILES.map((label) => 1 - Number(label) / 100).filter((beyond) => beyond >= least);
  const tip = ({ name, beyond, ns }: (typeof points)[number]): string =>
    `${name}\n${Number(((1 - beyond) * 100).toPrecision(5))} % took at most ${latency(ns)}`;
  return (width) =>
    Plot.plot({
      ...CHART,
      height: 340,
      marginLeft: 58,
      marks: [
        ...series.map(({ tail, color, dash }) =>
          Plot.line(tail, { x: "beyond", y: "ns", stroke: color, strokeWidth: 2, strokeDasharray: dash ?? "none", curve: "step-after" }),
        ),
        Plot.tip(points, Plot.pointer({ x: "beyond", y: "ns", title: tip, ...TIP })),
      ],
      width,
      x: { domain: [1, least], grid: true, label: "Percentile of requests →", tickFormat: percentileLabel, ticks, type: "log" },
      y: { grid: true, label: "↑ Latency", tickFormat: (ns: number) => latency(ns), ticks: 5, type: "log" },
    });
}
