// The page: reads the document that stands in it and shows it, in the way of its kind.

import { element } from "./dom";
import { networkPage } from "./pages/network";
import { studyPage } from "./pages/study";

/** The kinds of documents, by their `format`, all of version 1. */
const PAGES: Record<string, (document: never) => Node[]> = {
  "shoal-network": networkPage,
  "shoal-study": studyPage,
};
const FORMAT_VERSION = 1;

function page(): Node[] {
  const text = document.getElementById("shoal-report")?.textContent ?? "";
  const content = JSON.parse(text) as { format: string; format_version: number };
  const show = PAGES[content.format];
  if (show === undefined || content.format_version !== FORMAT_VERSION) {
    const kinds = Object.keys(PAGES).join(" and ");
    throw new Error(`this page shows ${kinds} of version ${FORMAT_VERSION}, not ${content.format} of version ${content.format_version}`);
  }
  return show(content as never);
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
  document.getElementById("app")?.replaceChildren(...page());
} catch (problem) {
  fail(problem);
}
