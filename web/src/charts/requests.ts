// Small requests per second of every array, on a log scale: reads and writes lie orders of magnitude apart.

import * as Plot from "@observablehq/plot";
import { CHART, type Draw, TIP } from "../figure";
import { grouped } from "../format";
import type { levelScales } from "../theme";
import { logAxis } from "./log";

export interface RequestRate {
  array: string;
  level: string;
  median: number;
  min: number;
  max: number;
}

export function requestsChart(rates: RequestRate[], scales: ReturnType<typeof levelScales>): Draw {
  const longest = Math.max(0, ...rates.map(({ array }) => array.length));
  const x = ({ median }: RequestRate): number => Math.log10(median);
  const axis = logAxis(rates.flatMap(({ min, max }) => [min, max]), grouped);
  return (width) =>
    Plot.plot({
      ...CHART,
      ...scales,
      height: 70 + 22 * rates.length,
      marginLeft: Math.min(12 + 6.6 * longest, width / 2),
      marginRight: 24,
      marks: [
        Plot.ruleY(rates, { y: "array", x1: ({ min }) => Math.log10(min), x2: ({ max }) => Math.log10(max), stroke: "level", strokeWidth: 1.5 }),
        Plot.dot(rates, { x, y: "array", symbol: "level", fill: "level", stroke: "var(--card)", r: 5 }),
        Plot.tip(
          rates,
          Plot.pointerY({
            x,
            y: "array",
            title: ({ array, median, min, max }) => `${array}\n${grouped(median)}/s (${grouped(min)} to ${grouped(max)})`,
            ...TIP,
          }),
        ),
      ],
      width,
      x: { grid: true, label: "Requests per second →", ...axis },
      y: { domain: rates.map(({ array }) => array), label: null, type: "point" },
    });
}
