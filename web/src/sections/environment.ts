// Where it ran, and how to run it again.

import type { StudyReport } from "../api";
import { element, section } from "../dom";
import { bytes, duration, listed, moment, shellQuoted } from "../format";
import { driveName } from "./drives";

export function environment(report: StudyReport): HTMLElement {
  const { host } = report;
  const facts: [string, string | undefined][] = [
    ["Started", report.started_unix_ns ? moment(report.started_unix_ns) : undefined],
    ["Took", duration(report.elapsed_ns) + (report.simulated ? " of virtual time" : "")],
    ["Simulated drives", report.simulated ?? undefined],
    ["System", host.os],
    ["Kernel", host.kernel],
    ["Processor", [host.cpu_model, host.cores > 0 && `${host.cores} logical processors`].filter(Boolean).join(", ")],
    ["Memory", host.memory_bytes > 0 ? bytes(host.memory_bytes) : undefined],
    ["Arrays run by", report.simulated ? undefined : (report.engine ?? "shoal")],
    ["I/O through", host.io_engine],
    ["Drives", listed(report.drives.map(({ path }, drive) => `${driveName(report, drive)} (${path})`))],
    ["shoal", report.tool_version],
    ["Seed", String(report.seed)],
  ];
  return section(
    "environment",
    "Environment, and how to rerun",
    element(
      "div",
      { class: "card" },
      element("dl", { class: "environment" }, ...facts.flatMap(([name, value]) => (value ? [element("dt", {}, name), element("dd", {}, value)] : []))),
      element("p", {}, "The same runs in the same order:"),
      element("pre", { tabindex: 0 }, element("code", {}, rerunCommand(report))),
      element("p", { class: "facts" }, "1 MB is 10⁶ bytes; chunk and request sizes in KiB and MiB are powers of two. All data behind this page is in its source, as JSON."),
    ),
  );
}

/** The command line with the seed that made the order of the runs. */
export function rerunCommand({ command_line, seed }: StudyReport): string {
  const named = command_line.some((part) => part === "--seed" || part.startsWith("--seed="));
  return shellQuoted(named ? command_line : [...command_line, "--seed", String(seed)]);
}
