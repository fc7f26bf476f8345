// Throughput over time: of single runs, and of the load through a fault.

import * as Plot from "@observablehq/plot";
import type { FaultState } from "../api";
import { CHART, type Draw, TIP } from "../figure";
import { threeDigits } from "../format";
import type { RateInterval } from "../shape";

export interface RunRates {
  name: string;
  color: string;
  rates: RateInterval[];
}

/** Steps: an interval has one speed from its start to its end. */
function steps(rates: RateInterval[]): { second: number; speed: number }[] {
  return rates.flatMap(({ start, end, megabytesPerSecond: speed }) => [
    { second: start, speed },
    { second: end, speed },
  ]);
}

export function runsChart(runs: RunRates[]): Draw {
  const points = runs.flatMap(({ name, rates }) => rates.map((rate) => ({ name, ...rate })));
  return (width) =>
    Plot.plot({
      ...CHART,
      height: 280,
      marks: [
        Plot.ruleY([0], { stroke: "var(--border)" }),
        ...runs.map(({ rates, color }) => Plot.line(steps(rates), { x: "second", y: "speed", stroke: color, strokeWidth: 1.75 })),
        Plot.tip(
          points,
          Plot.pointerX({
            x: ({ start, end }) => (start + end) / 2,
            y: "megabytesPerSecond",
            title: ({ name, start, megabytesPerSecond }) =>
              `${name}, ${threeDigits(start)} s\n${threeDigits(megabytesPerSecond)} MB/s`,
            ...TIP,
          }),
        ),
      ],
      width,
      x: { label: "Seconds →" },
      y: { grid: true, label: "↑ MB/s", nice: true, zero: true },
    });
}

export interface FaultStretch {
  state: FaultState;
  label: string;
  start: number;
  end: number;
}

/** The load through a fault; stretches shaded by the array's state, the failure marked. */
export function faultChart(rates: RateInterval[], stretches: FaultStretch[], failedAt: number): Draw {
  const top = Math.max(...rates.map(({ megabytesPerSecond }) => megabytesPerSecond), 1) * 1.18;
  return (width) => {
    const end = Math.max(...stretches.map((stretch) => stretch.end), 1e-9);
    const roomy = stretches.filter((stretch) => ((stretch.end - stretch.start) / end) * (width - 60) > 7 * stretch.label.length);
    return Plot.plot({
      ...CHART,
      height: 300,
      marks: [
        Plot.rect(stretches, { x1: "start", x2: "end", y1: 0, y2: top, fill: ({ state }) => `var(--state-${state})` }),
        Plot.text(roomy, {
          x: ({ start, end: stop }) => (start + stop) / 2,
          y: top,
          dy: 10,
          text: "label",
          fill: "var(--muted)",
        }),
        Plot.line(steps(rates), { x: "second", y: "speed", stroke: "var(--series-4)", strokeWidth: 2 }),
        Plot.ruleX([failedAt], { stroke: "var(--bad)", strokeWidth: 2, strokeDasharray: "5 3" }),
        Plot.ruleY([0], { stroke: "var(--border)" }),
        Plot.tip(
          rates,
          Plot.pointerX({
            x: (rate) => (rate.start + rate.end) / 2,
            y: "megabytesPerSecond",
            title: (rate) => `${threeDigits(rate.start)} s\n${threeDigits(rate.megabytesPerSecond)} MB/s`,
            ...TIP,
          }),
        ),
      ],
      width,
      x: { domain: [0, end], label: "Seconds →" },
      y: { domain: [0, top], grid: true, label: "↑ MB/s" },
    });
  };
}
