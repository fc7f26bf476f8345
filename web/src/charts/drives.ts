// Each drive alone and while all work, as a pair of dots.

import * as Plot from "@observablehq/plot";
import { CHART, type Draw, TIP } from "../figure";
import { threeDigits } from "../format";

/** A drive's speeds in MB/s. */
export interface DriveSpeeds {
  name: string;
  alone: number | undefined;
  together: number | undefined;
}

export function drivesChart(drives: DriveSpeeds[]): Draw {
  const tip = ({ name, alone, together }: DriveSpeeds): string =>
    [
      name,
      alone !== undefined && `alone ${threeDigits(alone)} MB/s`,
      together !== undefined && `all at once ${threeDigits(together)} MB/s`,
    ]
      .filter((line) => line !== false)
      .join("\n");
  const longest = Math.max(0, ...drives.map(({ name }) => name.length));
  return (width) =>
    Plot.plot({
      ...CHART,
      height: 70 + 26 * drives.length,
      marginLeft: Math.min(14 + 7 * longest, width / 3),
      marks: [
        Plot.ruleX([0], { stroke: "var(--border)" }),
        Plot.link(
          drives.filter(({ alone, together }) => alone !== undefined && together !== undefined),
          { x1: "together", x2: "alone", y: "name", stroke: "var(--muted)", strokeWidth: 1.5 },
        ),
        Plot.dot(drives, { x: "alone", y: "name", r: 5, fill: "var(--series-4)" }),
        Plot.dot(drives, { x: "together", y: "name", r: 5, fill: "var(--card)", stroke: "var(--series-1)", strokeWidth: 2 }),
        Plot.tip(drives, Plot.pointerY({ x: ({ alone, together }) => alone ?? together, y: "name", title: tip, ...TIP })),
      ],
      width,
      x: { grid: true, label: "MB/s →", nice: true, zero: true },
      y: { domain: drives.map(({ name }) => name), label: null, type: "point" },
    });
}
