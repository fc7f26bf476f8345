// The share of requests that took longer, on a scale that gives the slow ones room.

import * as Plot from "@observablehq/plot";
import { CHART, type Draw, TIP } from "../figure";
import { latency, tick } from "../format";
import type { TailPoint } from "../shape";
import { logAxis } from "./log";

export interface LatencySeries {
  name: string;
  color: string;
  dash?: string;
  tail: TailPoint[];
}

const PERCENTILES = ["0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"] as const;

/** A percentile's place: every further nine is one further on. */
function nines(beyond: number): number {
  return -Math.log10(beyond);
}

export function latencyChart(series: LatencySeries[]): Draw {
  const points = series.flatMap(({ name, tail }) => tail.map((point) => ({ name, ...point })));
  const last = Math.max(...points.map(({ beyond }) => nines(beyond)), 1);
  const places = new Map(PERCENTILES.map((label) => [nines(1 - Number(label) / 100), label]));
  const tip = ({ name, beyond, ns }: (typeof points)[number]): string =>
    `${name}\n${Number(((1 - beyond) * 100).toPrecision(5))} % took at most ${latency(ns)}`;
  const x = ({ beyond }: TailPoint): number => nines(beyond);
  const y = ({ ns }: TailPoint): number => Math.log10(ns);
  return (width) =>
    Plot.plot({
      ...CHART,
      height: 340,
      marginLeft: 58,
      marks: [
        ...series.map(({ tail, color, dash }) =>
          Plot.line(tail, { x, y, stroke: color, strokeWidth: 2, strokeDasharray: dash ?? "none", curve: "monotone-x" }),
        ),
        Plot.tip(points, Plot.pointer({ x, y, title: tip, ...TIP })),
      ],
      width,
      x: {
        domain: [0, last],
        grid: true,
        label: "Percentile of requests →",
        tickFormat: (place: number) => places.get(place) ?? "",
        ticks: [...places.keys()].filter((place) => place <= last),
      },
      y: { grid: true, label: "↑ Latency", ...logAxis(points.map(({ ns }) => ns), tick) },
    });
}
