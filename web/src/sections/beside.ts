// Blocks of 4 KiB, and a published study's figures beside one's own.

import { element, section } from "../dom";
import { latency, megabytes, threeDigits } from "../format";
import type { BesideDocument, PublishedDocument, SmallDocument, SmallRun } from "../network-api";
import { type Column, table, verdictMark } from "../table";

/** Every run on every drive, and on what is served. */
export function small(tables: readonly SmallDocument[]): HTMLElement {
  type Line = { of: SmallDocument; run: SmallRun; number: number };
  const lines: Line[] = tables.flatMap((of) => of.runs.map((run, index) => ({ of, run, number: index + 1 })));
  const columns: Column<Line>[] = [
    { label: "Drive", value: ({ of }) => of.target },
    { label: "Direction", value: ({ of }) => of.direction },
    { label: "Run", value: ({ number }) => number },
    { label: "MB/s", value: ({ run }) => run.bytes_per_s, cell: ({ run }) => megabytes(run.bytes_per_s) },
    {
      label: "99.99 % within",
      value: ({ run }) => run.latency_99_99_ns ?? NaN,
      cell: ({ run }) => (run.latency_99_99_ns == null ? "–" : latency(run.latency_99_99_ns)),
    },
    {
      label: "Validity",
      value: ({ run }) => run.validity.verdict,
      cell: ({ run }) => verdictMark(run.validity.verdict, run.validity.reasons.map(({ text }) => `${text}.`)),
    },
  ];
  return section(
    "small",
    "Blocks of 4 KiB",
    element("p", {}, "One after the other and one at a time, past the page cache and without a network: each drive alone, and what is served."),
    element("div", { class: "card" }, table("Blocks of 4 KiB, every run", columns, lines)),
  );
}

/** A study's figures. */
export function published({ study, figures }: PublishedDocument): HTMLElement {
  const columns: Column<BesideDocument>[] = [
    { label: "Figure", value: ({ figure }) => figure },
    { label: "published", value: (row) => row.published, cell: (row) => threeDigits(row.published) },
    { label: "measured here", value: (row) => row.measured ?? NaN, cell: (row) => (row.measured == null ? "–" : threeDigits(row.measured)) },
    { label: "unit", value: ({ unit }) => unit },
    { label: "by", value: ({ workload }) => workload },
  ];
  return section(
    "published",
    `Beside the study ${study}`,
    element("div", { class: "card" }, table(`Figures of the study ${study}, and what was measured here`, columns, figures)),
  );
}
