// Logarithmic axes with labels at 1, 2 and 5, or at powers of ten where there are many. Charts plot the logarithms:
// Plot's own logarithmic scale leaves labels out by a rule of its own.

const MANY_DECADES = 2.5;

/**
 * A domain with two labels at least: without, nobody could tell how far values lie apart. Values
 * that hardly differ are drawn side by side.
 */
function wideEnough([low, high]: [number, number], candidates: readonly number[]): [number, number] {
  const within = candidates.filter((tick) => tick >= low && tick <= high);
  if (within.length >= 2) return [low, high];
  const below = candidates.filter((tick) => tick <= low);
  const above = candidates.filter((tick) => tick >= high);
  return [Math.max(...below), Math.min(...above)];
}

/** Axis options for values that are plotted as their decimal logarithms. */
export function logAxis(
  values: readonly number[],
  format: (value: number) => string,
): { domain: [number, number]; ticks: number[]; tickFormat: (logarithm: number) => string } {
  const logarithms = values.filter((value) => value > 0).map(Math.log10);
  const low = Math.min(...logarithms);
  const high = Math.max(...logarithms);
  if (!Number.isFinite(low)) return { domain: [0, 1], ticks: [], tickFormat: () => "" };
  const steps = high - low > MANY_DECADES ? [1] : [1, 2, 5];
  const padding = Math.max((high - low) * 0.04, 0.02);
  const candidates: number[] = [];
  for (let power = Math.floor(low - padding) - 1; power <= high + padding + 1; power += 1) {
    candidates.push(...steps.map((step) => power + Math.log10(step)));
  }
  const domain = wideEnough([low - padding, high + padding], candidates);
  return {
    domain,
    ticks: candidates.filter((tick) => tick >= domain[0] && tick <= domain[1]),
    tickFormat: (logarithm) => format(Number((10 ** logarithm).toPrecision(1))),
  };
}
