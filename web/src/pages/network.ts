// A network study: an array, measured from another host.

import { element, navigation } from "../dom";
import { duration, moment } from "../format";
import type { NetworkDocument } from "../network-api";
import { environmentOf } from "../sections/environment";
import { published, small } from "../sections/beside";
import { links, summary, transfers } from "../sections/transfers";
import { themeToggle } from "../theme";

export function networkPage(study: NetworkDocument): Node[] {
  document.title = "shoal network study";
  const sections = [
    summary(study),
    transfers(study),
    links(study),
    study.small.length > 0 && small(study.small),
    study.published && published(study.published),
    environmentOf(study, "", [["Served", study.served]]),
  ].filter((section): section is HTMLElement => section instanceof HTMLElement);
  return [header(study), navigation(sections), ...sections];
}

function header(study: NetworkDocument): HTMLElement {
  const facts = [
    study.started_unix_ns ? moment(study.started_unix_ns) : undefined,
    `${study.rows.reduce((sum, row) => sum + row.runs.length, 0)} transfers in ${duration(study.elapsed_ns)}`,
    study.host.cpu_model,
    study.host.kernel,
  ];
  return element(
    "header",
    {},
    element("p", { class: "brand" }, "shoal"),
    themeToggle(),
    element("h1", {}, `${capital(study.served)}: measured from another host`),
    element("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
