// Places, by purpose.

import type { Purpose, Ranking, RankingEntry, StudyReport } from "../api";
import { chooser, element, section } from "../dom";
import { bytes, grouped, rate } from "../format";
import { type Column, table } from "../table";

const PURPOSES: Record<Purpose, { name: string; score: string; show: (score: number) => string }> = {
  overall: { name: "Overall", score: "Share of the best", show: (score) => `${(score / 10).toFixed(1)} %` },
  throughput: { name: "Throughput: large files", score: "Mean speed", show: rate },
  small_requests: { name: "Small requests: databases, systems", score: "Mean rate", show: (score) => `${grouped(score)}/s` },
  capacity: { name: "Capacity", score: "Capacity", show: bytes },
  safety: { name: "Safety", score: "Drives that may fail", show: String },
};

export function ranking(report: StudyReport): HTMLElement {
  const { rankings, arrays } = report.analysis;
  const place = element("div");
  const excluded = arrays.flatMap(({ name, excluded: reason }) => (reason ? element("li", {}, `${name}: ${reason}`) : []));
  return section(
    "ranking",
    "Ranking",
    rankings.length > 0 &&
      chooser(
        "For",
        rankings.map(({ purpose }) => ({ value: purpose, label: PURPOSES[purpose].name })),
        rankings[0]?.purpose ?? "overall",
        (value) => {
          const chosen = rankings.find(({ purpose }) => purpose === value);
          if (chosen !== undefined) place.replaceChildren(rankingTable(report, chosen));
        },
      ),
    place,
    excluded.length > 0 && element("div", { class: "card" }, element("h3", {}, "Not ranked"), element("ul", {}, ...excluded)),
  );
}

function rankingTable(report: StudyReport, { purpose, rule, entries }: Ranking): HTMLElement {
  const { score, show } = PURPOSES[purpose];
  const recommended = purpose === "overall" ? report.analysis.recommendation.array : undefined;
  type Row = RankingEntry & { place: number };
  // What is tied shares the place of the first of its group, as in the terminal.
  let place = 0;
  const rows: Row[] = entries.map((entry, index) => {
    place = entry.tied ? place : index + 1;
    return { ...entry, place };
  });
  const columns: Column<Row>[] = [
    { label: "Place", value: (row) => row.place, cell: (row) => `${row.place}${row.tied ? " =" : ""}`, title: "= tied with the first of this place" },
    { label: "Array", value: (row) => `${report.analysis.arrays[row.array]?.name ?? ""}${row.array === recommended ? ", recommended" : ""}` },
    { label: score, value: (row) => row.score, cell: (row) => show(row.score) },
    { label: "What one gets", value: (row) => row.reasons.join(", ") },
  ];
  return element(
    "div",
    { class: "card" },
    element("p", {}, `${rule} “=” marks a tie with the first of the same place: within the spread of the repeats.`),
    table(`Ranking: ${PURPOSES[purpose].name}`, columns, rows),
  );
}
