// What the reader came for: what to build, and what one gets.

import type { ArraySummary, Metric, StudyReport } from "../api";
import { element, section } from "../dom";
import { bytes, duration, grouped, latency, moment, permille, rate, spreadPercent } from "../format";
import { METRIC_NAMES, figureOf, isSequential, measuredMetrics, workloadOf } from "../shape";
import { themeToggle } from "../theme";

/** Title, date and machine in a line. */
export function header(report: StudyReport): HTMLElement {
  const count = report.drives.length;
  const facts = [
    report.started_unix_ns ? moment(report.started_unix_ns) : undefined,
    `${report.arrays.length} arrays in ${duration(report.elapsed_ns)}${report.simulated ? " of virtual time" : ""}`,
    report.engine && `arrays run by ${report.engine}`,
    report.host.cpu_model,
    report.host.kernel,
  ];
  return element(
    "header",
    {},
    element("p", { class: "brand" }, "shoal"),
    themeToggle(),
    element("h1", {}, `${count} ${count === 1 ? "drive" : "drives"}, ${report.simulated ? "simulated" : "measured"} alone and as arrays`),
    element("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
  );
}

/** Says before everything else that nobody measured the figures. */
export function simulationNotice(report: StudyReport): HTMLElement | undefined {
  if (!report.simulated) return undefined;
  return element(
    "p",
    { class: "simulation-notice", role: "note" },
    element("strong", {}, "Simulated. "),
    "Every figure here is computed from models of drives and buses; none was measured: ",
    element("code", {}, report.simulated),
  );
}

/** The recommendation with its figures, and what to be careful about. */
export function overview(report: StudyReport): HTMLElement {
  const { recommendation, arrays } = report.analysis;
  const chosen = typeof recommendation.array === "number" ? arrays[recommendation.array] : undefined;
  const [first, ...rest] = recommendation.sentences;
  const notes = report.complete
    ? report.warnings
    : ["The study was stopped before its plan was done; this is what had been measured by then.", ...report.warnings];
  return section(
    "recommendation",
    "Recommendation",
    element(
      "div",
      { class: "card recommendation" },
      element("p", { class: "lead" }, first),
      ...rest.map((sentence) => element("p", {}, sentence)),
    ),
    chosen && tiles(report, chosen),
    notes.length > 0 && element("ul", { class: "notes", "aria-label": "Notes" }, ...notes.map((note) => element("li", {}, note))),
  );
}

interface Tile {
  label: string;
  value: string;
  detail: string;
}

function tiles(report: StudyReport, chosen: ArraySummary): HTMLElement {
  const shown = [...capacityTiles(report, chosen), ...measuredMetrics(report).flatMap((metric) => metricTile(chosen, metric))];
  return element(
    "dl",
    { class: "tiles" },
    ...shown.map(({ label, value, detail }) =>
      element("div", { class: "tile" }, element("dt", {}, label), element("dd", {}, element("strong", {}, value), element("small", {}, detail))),
    ),
  );
}

function capacityTiles(report: StudyReport, chosen: ArraySummary): Tile[] {
  const configuration = report.arrays[chosen.array]?.configuration;
  if (configuration === undefined) return [];
  const raw = configuration.members.reduce((sum, drive) => sum + (report.drives[drive]?.size_bytes ?? 0), 0);
  const lost = configuration.redundancy;
  return [
    { label: "Capacity", value: bytes(configuration.capacity_bytes), detail: `of ${bytes(raw)} in its drives` },
    {
      label: "Survives",
      value: lost === 0 ? "no failure" : `${lost} ${lost === 1 ? "drive" : "drives"}`,
      detail: lost === 0 ? "keep a backup" : lost === 1 ? "whichever it is" : "whichever they are",
    },
  ];
}

function metricTile(chosen: ArraySummary, metric: Metric): Tile[] {
  const workload = workloadOf(chosen.workloads, metric);
  if (workload === undefined) return [];
  const figure = figureOf(workload);
  const value = isSequential(metric) ? rate(figure.median) : `${grouped(figure.median)}/s`;
  const tail = workload.latency_99_ns;
  const efficiency = workload.expected && isSequential(metric) ? `${permille(workload.expected.efficiency_permille)} of expected` : "";
  const slowest = tail && !isSequential(metric) ? `99 % within ${latency(tail.median)}` : "";
  // By bytes: requests a second are whole numbers, of which few have no spread to speak of.
  const detail = [spreadPercent(workload.bytes_per_s), efficiency, slowest].filter((part) => part !== "").join(" · ");
  return [{ label: METRIC_NAMES[metric], value, detail }];
}
