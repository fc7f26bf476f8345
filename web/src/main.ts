// The report page: reads the document that stands in the page and shows it.

import type { StudyReport } from "./api";
import { element } from "./dom";
import { arrays } from "./sections/arrays";
import { drives } from "./sections/drives";
import { environment } from "./sections/environment";
import { fault } from "./sections/fault";
import { header, overview, simulationNotice } from "./sections/overview";
import { ranking } from "./sections/ranking";
import { results } from "./sections/results";
import { runs } from "./sections/runs";

const FORMAT = "shoal-study";
const FORMAT_VERSION = 1;

function readReport(): StudyReport {
  const text = document.getElementById("shoal-report")?.textContent ?? "";
  const report = JSON.parse(text) as StudyReport;
  if (report.format !== FORMAT || report.format_version !== FORMAT_VERSION) {
    throw new Error(`this page shows ${FORMAT} version ${FORMAT_VERSION}, not ${report.format} version ${report.format_version}`);
  }
  return report;
}

function page(report: StudyReport): Node[] {
  const sections = [
    overview(report),
    report.alone.length > 0 && drives(report),
    report.arrays.length > 0 && arrays(report),
    report.alone.length + report.arrays.length > 0 && runs(report),
    report.fault && fault(report, report.fault),
    report.arrays.length > 0 && ranking(report),
    report.arrays.length > 0 && results(report),
    environment(report),
  ].filter((section): section is HTMLElement => section instanceof HTMLElement);
  const notice = simulationNotice(report);
  if (notice) {
    // Marks of validity say so too, see style.css.
    document.body.classList.add("simulated");
    document.title += " (simulated)";
  }
  return [notice, header(report), navigation(report, sections), ...sections].filter((part) => part !== undefined);
}

/** Stays in sight, and with it whether anybody measured what is shown. */
function navigation(report: StudyReport, sections: readonly HTMLElement[]): HTMLElement {
  const links = sections.map((section) => element("a", { href: `#${section.id}` }, section.querySelector("h2")?.textContent));
  return element("nav", { "aria-label": "Parts of this page" }, report.simulated && element("strong", {}, "Simulated"), ...links);
}

/** Says in the page itself that something went wrong; also what tests look for. */
function fail(problem: unknown): void {
  const text = problem instanceof Error ? problem.message : String(problem);
  document.getElementById("app")?.prepend(element("p", { class: "error", role: "alert" }, `The report cannot be shown: ${text}`));
}

window.addEventListener("error", (event) => {
  // Observers that resize what they observe are told to go on in the next frame; that is no error.
  if (!event.message.startsWith("ResizeObserver")) fail(event.error ?? event.message);
});

try {
  document.getElementById("app")?.replaceChildren(...page(readReport()));
} catch (problem) {
  fail(problem);
}
