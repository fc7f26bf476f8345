// Transfers as bars, puts with a ring where all was on the drives.

import * as Plot from "@observablehq/plot";
import type { Verdict } from "../api";
import { CHART, type Draw, TIP } from "../figure";
import { threeDigits } from "../format";

/** A row. Rates in MB/s. */
export interface Transfer {
  name: string;
  method: string;
  isPut: boolean;
  median: number;
  min: number;
  max: number;
  durable: number | undefined;
  verdict: Verdict;
}

/** One link's rows, or those without a link; `ceiling` is what the link carries. */
export function transfersChart(rows: Transfer[], ceiling: number | undefined): Draw {
  const tip = ({ name, method, median, min, max, durable, verdict }: Transfer): string =>
    [
      name,
      method,
      `${threeDigits(median)} MB/s (${threeDigits(min)} to ${threeDigits(max)})`,
      durable !== undefined && `${threeDigits(durable)} MB/s until on the drives`,
      verdict !== "valid" && verdict,
    ]
      .filter((line) => line !== false)
      .join("\n");
  const longest = Math.max(0, ...rows.map(({ name }) => name.length));
  const most = Math.max(ceiling ?? 0, ...rows.map(({ max }) => max));
  return (width) =>
    Plot.plot({
      ...CHART,
      height: 70 + 24 * rows.length,
      marginLeft: Math.min(16 + 7.5 * longest, width / 3),
      marginRight: 56,
      marks: [
        Plot.barX(rows, { x: "median", y: "name", fill: ({ isPut }: Transfer) => (isPut ? "var(--series-1)" : "var(--series-4)"), insetTop: 3, insetBottom: 3 }),
        Plot.ruleX(ceiling === undefined ? [] : [ceiling], { stroke: "var(--muted)", strokeDasharray: "6 4", strokeWidth: 1.5 }),
        Plot.ruleY(rows, { x1: "min", x2: "max", y: "name", stroke: "var(--text)", strokeWidth: 1.5, marker: "tick" }),
        Plot.dot(
          rows.filter(({ durable }) => durable !== undefined),
          { x: "durable", y: "name", r: 4.5, fill: "var(--card)", stroke: "var(--text)", strokeWidth: 1.5 },
        ),
        Plot.text(rows, { x: "max", y: "name", text: ({ median }: Transfer) => threeDigits(median), textAnchor: "start", dx: 8, fill: "var(--text)" }),
        Plot.ruleX([0], { stroke: "var(--border)" }),
        Plot.tip(rows, Plot.pointerY({ x: "median", y: "name", title: tip, ...TIP })),
      ],
      width,
      x: { domain: [0, most * 1.02], grid: true, label: "MB/s →" },
      y: { domain: rows.map(({ name }) => name), label: null },
    });
}
