// Where it ran, and how to run it again.

import type { Machine, StudyReport } from "../api";
import { element, section } from "../dom";
import { bytes, duration, listed, moment, shellQuoted } from "../format";
import { driveName } from "./drives";

/** What every document says of where it comes from. */
export interface Origin {
  command_line: string[];
  elapsed_ns: number;
  host: Machine;
  seed: number;
  started_unix_ns?: number | null;
  tool_version: string;
}

type Fact = [string, string | undefined];

/** The section for a study of drives. */
export function environment(report: StudyReport): HTMLElement {
  return environmentOf(report, report.simulated ? " of virtual time" : "", [
    ["Simulated drives", report.simulated ?? undefined],
    ["Arrays run by", report.simulated ? undefined : (report.engine ?? "shoal")],
    ["Drives", listed(report.drives.map(({ path }, drive) => `${driveName(report, drive)} (${path})`))],
  ]);
}

/** The section for any document; `own` is what only its kind has. */
export function environmentOf(origin: Origin, kindOfTime: string, own: readonly Fact[]): HTMLElement {
  const { host } = origin;
  const facts: Fact[] = [
    ["Started", origin.started_unix_ns ? moment(origin.started_unix_ns) : undefined],
    ["Took", duration(origin.elapsed_ns) + kindOfTime],
    ["System", host.os],
    ["Kernel", host.kernel],
    ["Processor", [host.cpu_model, host.cores > 0 && `${host.cores} logical processors`].filter(Boolean).join(", ")],
    ["Memory", host.memory_bytes > 0 ? bytes(host.memory_bytes) : undefined],
    ["I/O through", host.io_engine],
    ...own,
    ["shoal", origin.tool_version],
    ["Seed", String(origin.seed)],
  ];
  return section(
    "environment",
    "Environment, and how to rerun",
    element(
      "div",
      { class: "card" },
      element("dl", { class: "environment" }, ...facts.flatMap(([name, value]) => (value ? [element("dt", {}, name), element("dd", {}, value)] : []))),
      element("p", {}, "The same runs in the same order:"),
      element("pre", { tabindex: 0 }, element("code", {}, rerunCommand(origin))),
      element("p", { class: "facts" }, "1 MB is 10⁶ bytes; chunk and request sizes in KiB and MiB are powers of two. All data behind this page is in its source, as JSON."),
    ),
  );
}

/** The command line with the seed that made the order of the runs. */
export function rerunCommand({ command_line, seed }: Pick<Origin, "command_line" | "seed">): string {
  const named = command_line.some((part) => part === "--seed" || part.startsWith("--seed="));
  return shellQuoted(named ? command_line : [...command_line, "--seed", String(seed)]);
}
