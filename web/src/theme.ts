// Light, dark, or as the system has it. The choice lasts as long as the page: a file on disk may have no storage.

import { element } from "./dom";

const NEXT = { auto: "light", light: "dark", dark: "auto" } as const;
type Theme = keyof typeof NEXT;
const LABELS: Record<Theme, string> = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" };

/** The button that goes through the themes. */
export function themeToggle(): HTMLElement {
  let theme: Theme = "auto";
  const button = element("button", { type: "button", class: "theme", onclick: () => show(NEXT[theme]) });
  function show(next: Theme): void {
    theme = next;
    button.textContent = LABELS[theme];
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }
  show(theme);
  return button;
}

/** Every level has one colour and one symbol in all charts; neither is needed to tell them apart. */
const LEVELS = ["0", "1", "4", "5", "6", "10", "linear"] as const;
const SYMBOLS = ["circle", "star", "wye", "square", "triangle", "diamond", "cross"] as const;

/** "RAID5", "linear". */
export function levelName(level: string): string {
  return level === "linear" ? level : `RAID${level}`;
}

/** Colour and symbol scales for the levels that occur, in one order everywhere. */
export function levelScales(levels: Iterable<string>): {
  color: { domain: string[]; range: string[] };
  symbol: { domain: string[]; range: (typeof SYMBOLS)[number][] };
} {
  const present = new Set(levels);
  const indices = LEVELS.map((level, index) => ({ level, index })).filter(({ level }) => present.has(level));
  const domain = indices.map(({ level }) => levelName(level));
  return {
    color: { domain, range: indices.map(({ index }) => `var(--series-${index + 1})`) },
    symbol: { domain, range: indices.map(({ index }) => SYMBOLS[index] ?? "circle") },
  };
}

/** Colours for series that are no levels. */
export function seriesColors(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `var(--series-${(index % 7) + 1})`);
}
