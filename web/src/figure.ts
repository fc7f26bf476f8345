// A chart with its title, explanation, legend and the same data as a table.

import * as Plot from "@observablehq/plot";
import { element } from "./dom";

/** Draws at a width in pixels. */
export type Draw = (width: number) => Element;

export interface Panel {
  title: string;
  draw: Draw;
}

export interface Figure {
  title: string;
  caption: string;
  panels: Panel[];
  legend?: HTMLElement | undefined;
  /** The same data for those who cannot or would rather not see the chart. */
  table?: HTMLElement | undefined;
  /** Panels side by side where there is room. */
  columns?: boolean;
}

const LEAST_WIDTH = 260;

/** Options that all charts share: the page's colours and font, room for labels. */
export const CHART = {
  style: {
    background: "none",
    color: "var(--text)",
    fontFamily: "inherit",
    fontSize: "12px",
    overflow: "visible",
  },
  marginTop: 26,
  marginBottom: 42,
} as const;

/** How tips look on either theme. */
export const TIP = { fill: "var(--card)", stroke: "var(--border)" } as const;

/** A figure whose panels are drawn again when their width changes. */
export function figure({ title, caption, panels, legend, table, columns = true }: Figure): HTMLElement {
  const grid = element("div", { class: columns && panels.length > 1 ? "panels columns" : "panels" });
  for (const panel of panels) grid.append(panelElement(panel, `${title}: ${panel.title}`));
  const data = table && element("details", { class: "data" }, element("summary", {}, "Show as a table"), table);
  return element("figure", { class: "card" }, element("h3", {}, title), legend, grid, element("figcaption", {}, caption), data);
}

function panelElement({ title, draw }: Panel, label: string): HTMLElement {
  const holder = element("div", { class: "chart" });
  const panel = element("div", { class: "panel" }, title !== "" && element("h4", {}, title), holder);
  let drawnWidth = 0;
  new ResizeObserver(() => {
    const width = Math.max(LEAST_WIDTH, Math.floor(holder.clientWidth));
    if (width === drawnWidth || holder.clientWidth === 0) return;
    drawnWidth = width;
    const chart = draw(width);
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", label);
    holder.replaceChildren(chart);
  }).observe(holder);
  return panel;
}

/** Names of series with their colours and, if they have them, symbols or line styles. */
export function legend(
  entries: readonly { name: string; color: string; symbol?: Plot.SymbolType; dash?: string; hollow?: boolean }[],
): HTMLElement {
  const items = entries.map(({ name, color, symbol, dash, hollow }) => {
    const mark =
      symbol === undefined
        ? Plot.link([0], { x1: 0, x2: 1, y1: 0, y2: 0, stroke: color, strokeWidth: 2.5, strokeDasharray: dash ?? "none" })
        : Plot.dot([0], { x: 0.5, y: 0, r: 5, symbol, fill: hollow ? "none" : color, stroke: color, strokeWidth: 1.5 });
    const swatch = Plot.plot({
      axis: null,
      height: 16,
      margin: 2,
      marks: [mark],
      width: 24,
      x: { domain: [0, 1] },
      y: { domain: [-1, 1] },
    });
    swatch.setAttribute("aria-hidden", "true");
    return element("span", { class: "key" }, swatch, name);
  });
  return element("div", { class: "legend" }, ...items);
}
