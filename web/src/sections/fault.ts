// A member fails under load and is rebuilt.

import type { FaultPhase, FaultRecord, FaultState, StudyReport } from "../api";
import { faultChart } from "../charts/timeline";
import { element, section } from "../dom";
import { figure } from "../figure";
import { bytes, duration, grouped, latency, rate } from "../format";
import { faultRates } from "../shape";
import { type Column, VERDICT_ORDER, table, verdictMark } from "../table";
import { levelName } from "../theme";
import { driveName } from "./drives";

const STATES: Record<FaultState, string> = {
  healthy: "healthy",
  failing: "failing",
  degraded: "degraded",
  rebuilding: "rebuilding",
  rebuilt: "rebuilt",
};

export function fault(report: StudyReport, record: FaultRecord): HTMLElement {
  const stretches = record.phases.map(({ state, start_ns, measurement }) => ({
    state,
    label: STATES[state],
    start: start_ns / 1e9,
    end: (start_ns + measurement.elapsed_ns) / 1e9,
  }));
  return section(
    "fault",
    "When a drive fails",
    element("p", { class: "finding" }, story(report, record)),
    figure({
      title: "The load's throughput through failure and rebuild",
      caption: `The dashed line is the moment at which ${driveName(report, record.failed_drive)} was failed, in the middle of writing.`,
      panels: [{ title: "", draw: faultChart(faultRates(record), stretches, record.failed_at_ns / 1e9) }],
      table: phasesTable(record.phases),
    }),
  );
}

function story(report: StudyReport, record: FaultRecord): string {
  const { configuration, verification } = record;
  const array = `${levelName(configuration.level)} over ${configuration.members.length} drives`;
  const same = record.failed_drive === record.replacement_drive;
  const replacement = same ? "Wiped and put back, it" : driveName(report, record.replacement_drive);
  const wrong =
    verification.wrong_blocks === 0
      ? "every block was as written"
      : `${grouped(verification.wrong_blocks)} blocks were wrong`;
  const scrub =
    record.scrub_mismatched_bytes === 0
      ? "a scrub found redundancy and data in agreement"
      : `a scrub found ${bytes(record.scrub_mismatched_bytes)} in disagreement`;
  return (
    `${driveName(report, record.failed_drive)} was failed while ${array} was being written to. The load went on: ` +
    `${bytes(record.written_while_degraded_bytes)} were written without it. ${replacement} was rebuilt in ` +
    `${duration(record.rebuild_ns)}, at ${rate(record.rebuild_bytes_per_s)}. Afterwards ` +
    `${bytes(verification.bytes)} were read back: ${wrong}, and ${scrub}.`
  );
}

function phasesTable(phases: readonly FaultPhase[]): HTMLElement {
  const columns: Column<FaultPhase>[] = [
    { label: "State", value: ({ state }) => STATES[state] },
    { label: "From", value: ({ start_ns }) => start_ns, cell: ({ start_ns }) => duration(start_ns) },
    { label: "For", value: ({ measurement }) => measurement.elapsed_ns, cell: ({ measurement }) => duration(measurement.elapsed_ns) },
    { label: "Throughput", value: ({ measurement }) => measurement.bytes_per_s, cell: ({ measurement }) => rate(measurement.bytes_per_s) },
    {
      label: "Slowest request",
      value: ({ measurement }) => measurement.latency_ns.max,
      cell: ({ measurement }) => latency(measurement.latency_ns.max),
    },
    {
      label: "Validity",
      value: ({ measurement }) => VERDICT_ORDER[measurement.validity.verdict],
      cell: ({ measurement }) => verdictMark(measurement.validity.verdict, measurement.validity.reasons.map(({ text }) => text)),
    },
  ];
  return table("The load, phase by phase", columns, phases);
}
