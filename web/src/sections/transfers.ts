// What comes through: the array itself, and each way over each link.

import { transfersChart } from "../charts/transfers";
import { element, section } from "../dom";
import { figure, legend } from "../figure";
import { bytes, latency, linkSpeed, megabytes, permille, rate, spreadPercent, threeDigits } from "../format";
import type { Calibration, CpuUse, NetworkDocument, Row } from "../network-api";
import { medianOf } from "../shape";
import { type Column, table, verdictMark } from "../table";

/** The conditions, and what was left out. */
export function summary(study: NetworkDocument): HTMLElement {
  const tiles = [...study.links.map(linkTile), ...study.rows.filter((row) => linkOf(row) === undefined).map(ownTile)];
  const notes = [
    `Each transfer moves ${bytes(study.size_bytes)} that no compression makes smaller; repeated ${study.repeats} times, in an order by seed. ` +
      "What arrived was compared with what was sent, byte by byte.",
    "Client, server and drives share one machine's processors: where these were busy the row says so.",
    ...study.left_out.map(({ what, reason }) => `Not measured: ${what}: ${reason}.`),
  ];
  return section(
    "conditions",
    "Conditions",
    element(
      "dl",
      { class: "tiles" },
      ...tiles.map(({ label, value, detail }) =>
        element("div", { class: "tile" }, element("dt", {}, label), element("dd", {}, element("strong", {}, value), element("small", {}, detail))),
      ),
    ),
    element("ul", { class: "notes", "aria-label": "Notes" }, ...notes.map((note) => element("li", {}, note))),
  );
}

interface Tile {
  label: string;
  value: string;
  detail: string;
}

function linkTile(link: Calibration): Tile {
  const slower = Math.min(link.to_server_bytes_per_s, link.to_client_bytes_per_s);
  return {
    label: `Link of ${linkSpeed(link.link_bits_per_s)}`,
    value: rate(slower),
    detail: `a TCP stream, of ${rate(link.expected_bytes_per_s)} expected`,
  };
}

function ownTile(row: Row): Tile {
  const own = row.durable_bytes_per_s ?? row.bytes_per_s;
  const written = row.durable_bytes_per_s ? "on the drives" : "";
  return { label: row.workload, value: rate(own.median), detail: [written, repeatsOf(row, own)].filter(Boolean).join(" · ") };
}

function repeatsOf(row: Row, spread: { median: number; min: number; max: number }): string {
  return spreadPercent({ ...spread, runs: row.runs.length });
}

/** The link's speed; none for the array itself. */
function linkOf(row: Row): number | undefined {
  return row.link_bits_per_s ?? undefined;
}

/** Charts and table of all rows. */
export function transfers(study: NetworkDocument): HTMLElement {
  const panels = [undefined, ...study.links].flatMap((link) => {
    const rows = study.rows.filter((row) => linkOf(row) === link?.link_bits_per_s);
    if (rows.length === 0) return [];
    const title = link === undefined ? "The array itself, without a network" : `Over ${linkSpeed(link.link_bits_per_s)}`;
    const ceiling = link && Math.max(link.to_server_bytes_per_s, link.to_client_bytes_per_s) / 1e6;
    return { title, draw: transfersChart(rows.map(bar), ceiling) };
  });
  return section(
    "transfers",
    "What comes through",
    figure({
      title: "Transfers, as the client saw them and until all was on the drives",
      caption:
        "Medians of the repeats, in MB/s (a million bytes a second), with whiskers from the slowest to the fastest. Dashed: what a plain " +
        "TCP stream got of the link. Where the ring lies left of the bar's end a cache answered before the drives were done.",
      legend: legend([
        { name: "put", color: "var(--series-1)", symbol: "square" },
        { name: "get", color: "var(--series-4)", symbol: "square" },
        { name: "put, until on the drives", color: "var(--text)", symbol: "circle", hollow: true },
        { name: "the link", color: "var(--muted)", dash: "6 4" },
      ]),
      panels,
      columns: false,
    }),
    element("div", { class: "card" }, element("h3", {}, "All rows"), transfersTable(study)),
  );
}

function bar(row: Row): Parameters<typeof transfersChart>[0][number] {
  const { median, min, max } = row.bytes_per_s;
  const durable = row.durable_bytes_per_s?.median;
  return {
    name: row.workload,
    method: row.method,
    isPut: durable !== undefined,
    median: median / 1e6,
    min: min / 1e6,
    max: max / 1e6,
    durable: durable === undefined ? undefined : durable / 1e6,
    verdict: row.validity.verdict,
  };
}

function transfersTable(study: NetworkDocument): HTMLElement {
  const share = (label: string, title: string, value: (row: Row) => number | null | undefined): Column<Row> => ({
    label,
    title,
    value: (row) => value(row) ?? NaN,
    cell: (row) => (value(row) == null ? "–" : permille(value(row) ?? 0)),
  });
  const processor = (label: string, part: (cpu: CpuUse) => number): Column<Row> => {
    const value = (row: Row): number => medianOf(row.runs.map(({ cpu }) => part(cpu))) / study.size_bytes;
    return { label, title: "seconds of a processor for a GB", value, cell: (row) => threeDigits(value(row)) };
  };
  const columns: Column<Row>[] = [
    { label: "Transfer", value: (row) => row.workload, cell: (row) => element("span", { title: row.method }, row.workload) },
    { label: "Link", value: (row) => linkOf(row) ?? 0, cell: (row) => (linkOf(row) === undefined ? "none" : linkSpeed(linkOf(row) ?? 0)) },
    {
      label: "MB/s",
      value: (row) => row.bytes_per_s.median,
      cell: (row) => `${megabytes(row.bytes_per_s.median)} ${repeatsOf(row, row.bytes_per_s)}`,
    },
    {
      label: "on the drives",
      value: (row) => row.durable_bytes_per_s?.median ?? NaN,
      cell: (row) => (row.durable_bytes_per_s ? megabytes(row.durable_bytes_per_s.median) : "–"),
    },
    share("of the array", "on the drives, against the array itself", (row) => row.of_array_per_mille),
    share("of the link", "against what a TCP stream gets of such a link", (row) => row.of_link_per_mille),
    processor("CPU, server", (cpu) => cpu.server_ns),
    processor("client", (cpu) => cpu.client_ns),
    { label: "Bound by", value: (row) => row.bound_by },
    {
      label: "Validity",
      value: (row) => row.validity.verdict,
      cell: (row) => verdictMark(row.validity.verdict, row.validity.reasons.map(({ text }) => `${text}.`)),
    },
    { label: "Client", value: (row) => row.client },
    { label: "Server", value: (row) => row.server },
  ];
  return table("All transfers", columns, study.rows);
}

/** What the links really were. */
export function links(study: NetworkDocument): HTMLElement {
  const stream = (label: string, value: (link: Calibration) => number): Column<Calibration> => ({
    label,
    value,
    cell: (link) => megabytes(value(link)),
  });
  const columns: Column<Calibration>[] = [
    { label: "Link", value: (link) => link.link_bits_per_s, cell: (link) => linkSpeed(link.link_bits_per_s) },
    stream("a TCP stream should get, MB/s", (link) => link.expected_bytes_per_s),
    stream("to the server", (link) => link.to_server_bytes_per_s),
    stream("to the client", (link) => link.to_client_bytes_per_s),
    { label: "a byte there and back", value: (link) => link.round_trip_ns, cell: (link) => latency(link.round_trip_ns) },
  ];
  return section(
    "links",
    "The links",
    element(
      "div",
      { class: "card" },
      table("The links, measured before anything else went over them", columns, study.links),
      element(
        "p",
        { class: "facts" },
        "Two hosts of one machine, joined by a link that lets pass what an Ethernet of that speed would, frames and their gaps counted. " +
          "It delays nothing but by its rate.",
      ),
    ),
  );
}
