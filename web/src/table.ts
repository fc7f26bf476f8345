// Tables that sort by any column.

import type { Verdict } from "./api";
import { element } from "./dom";

export interface Column<Row> {
  label: string;
  /** What the column sorts by; numbers are aligned right. */
  value: (row: Row) => number | string;
  /** What is shown, if not the value itself. */
  cell?: (row: Row) => string | Node;
  title?: string;
}

type Direction = "ascending" | "descending";

/** A table of `rows`, in their given order until a heading is clicked. */
export function table<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): HTMLElement {
  const body = element("tbody");
  const headings = columns.map((column) => {
    const heading = element("th", { scope: "col", class: isNumeric(column, rows) ? "number" : undefined });
    const sort = (): void => {
      const first: Direction = isNumeric(column, rows) ? "descending" : "ascending";
      const second: Direction = first === "descending" ? "ascending" : "descending";
      const direction = heading.getAttribute("aria-sort") === first ? second : first;
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction);
      fill(sorted(rows, column, direction));
    };
    heading.append(element("button", { type: "button", title: column.title, onclick: sort }, column.label));
    return heading;
  });
  function fill(ordered: readonly Row[]): void {
    body.replaceChildren(...ordered.map((row) => tableRow(columns, row)));
  }
  fill(rows);
  const head = element("thead", {}, element("tr", {}, ...headings));
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), head, body),
  );
}

function isNumeric<Row>(column: Column<Row>, rows: readonly Row[]): boolean {
  const first = rows[0];
  return first !== undefined && typeof column.value(first) === "number";
}

function tableRow<Row>(columns: readonly Column<Row>[], row: Row): HTMLElement {
  const cells = columns.map((column) => {
    const value = column.value(row);
    const shown = column.cell?.(row) ?? (typeof value === "number" && Number.isNaN(value) ? "–" : String(value));
    return element("td", { class: typeof value === "number" ? "number" : undefined }, shown);
  });
  return element("tr", {}, ...cells);
}

/** Sorted by a column, equal rows in their given order, what is not a number last. */
export function sorted<Row>(rows: readonly Row[], column: Column<Row>, direction: Direction): Row[] {
  const sign = direction === "ascending" ? 1 : -1;
  return rows.toSorted((left, right) => {
    const [first, second] = [column.value(left), column.value(right)];
    if (typeof first === "number" && typeof second === "number") {
      if (Number.isNaN(first) || Number.isNaN(second)) return Number(Number.isNaN(first)) - Number(Number.isNaN(second));
      return sign * (first - second);
    }
    return sign * String(first).localeCompare(String(second), undefined, { numeric: true });
  });
}

const MARKS: Record<Verdict, string> = { valid: "✓ valid", suspect: "? suspect", invalid: "✗ invalid" };

/** How far a number can be trusted, and why not further. */
export function verdictMark(verdict: Verdict, reasons: readonly string[] = []): HTMLElement {
  const mark = element("span", { class: `verdict ${verdict}` }, MARKS[verdict]);
  if (reasons.length === 0) return mark;
  return element("span", {}, mark, element("span", { class: "reasons" }, ` ${reasons.join(" ")}`));
}

/** For sorting: best first. */
export const VERDICT_ORDER: Record<Verdict, number> = { valid: 0, suspect: 1, invalid: 2 };
