// A study of drives and arrays.

import type { StudyReport } from "../api";
import { navigation } from "../dom";
import { arrays } from "../sections/arrays";
import { drives } from "../sections/drives";
import { environment } from "../sections/environment";
import { fault } from "../sections/fault";
import { header, overview, simulationNotice } from "../sections/overview";
import { ranking } from "../sections/ranking";
import { results } from "../sections/results";
import { runs } from "../sections/runs";

export function studyPage(report: StudyReport): Node[] {
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
  return [notice, header(report), navigation(sections, report.simulated ? "Simulated" : undefined), ...sections].filter(
    (part) => part !== undefined,
  );
}
