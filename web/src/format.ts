// Numbers to text. The document holds integers only: bytes, nanoseconds, counts, thousandths.

const DECIMAL_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;
const BINARY_UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;
const TIME_UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
] as const;

/** Three significant digits, without trailing zeros after a whole number of three digits. */
export function threeDigits(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) >= 99.95) return grouped(Math.round(value));
  return Math.abs(value) >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** Thousands set apart: 12,400. */
export function grouped(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Powers of ten: 1.32 GB. */
export function bytes(value: number): string {
  let power = 0;
  let scaled = value;
  while (scaled >= 999.5 && power < DECIMAL_UNITS.length - 1) {
    scaled /= 1000;
    power += 1;
  }
  return power === 0 ? `${grouped(scaled)} B` : `${threeDigits(scaled)} ${DECIMAL_UNITS[power]}`;
}

/** Throughput: 182 MB/s, MB = 10^6. */
export function rate(bytesPerSecond: number): string {
  return `${bytes(bytesPerSecond)}/s`;
}

/** Throughput as the axes and tables have it, in MB/s without the unit. */
export function megabytes(bytesPerSecond: number): string {
  return threeDigits(bytesPerSecond / 1e6);
}

/** A link as it is sold: 1 Gbit/s. */
export function linkSpeed(bitsPerSecond: number): string {
  const [unit, name] = bitsPerSecond % 1e9 === 0 ? [1e9, "Gbit/s"] : [1e6, "Mbit/s"];
  return `${bitsPerSecond / unit} ${name}`;
}

/** Sizes that are powers of two by nature: 64 KiB. */
export function binaryBytes(value: number): string {
  let power = 0;
  let scaled = value;
  while (scaled >= 1024 && scaled % 1024 === 0 && power < BINARY_UNITS.length - 1) {
    scaled /= 1024;
    power += 1;
  }
  return `${scaled} ${BINARY_UNITS[power]}`;
}

/** A short time: 840 µs, 12.3 ms, 4.50 s. */
export function latency(ns: number): string {
  for (const [unit, name] of TIME_UNITS) {
    if (ns >= unit) return `${unit === 1 ? ns : threeDigits(ns / unit)} ${name}`;
  }
  return "0 ns";
}

/** A time on an axis, where the values are round: 10 ms. */
export function tick(ns: number): string {
  const [unit, name] = TIME_UNITS.find(([least]) => ns >= least) ?? [1, "ns"];
  return `${Number((ns / unit).toPrecision(3))} ${name}`;
}

/** A long time: 45 min 12 s; 1.3 s below ten seconds, where a second is much. */
export function duration(ns: number): string {
  if (ns < 9.95e9) return ns < 1e9 ? latency(ns) : `${Number((ns / 1e9).toPrecision(2))} s`;
  const seconds = Math.round(ns / 1e9);
  const parts: [number, string][] = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor((seconds % 3600) / 60), "min"],
    [seconds % 60, "s"],
  ];
  const shown = parts.filter(([count]) => count > 0).slice(0, 2);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** Thousandths as percent: 94 %. */
export function permille(value: number): string {
  return `${Math.round(value / 10)} %`;
}

/** A moment as the reader's clock has it. */
export function moment(unixNs: number): string {
  return new Date(unixNs / 1e6).toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" });
}

/** How far repeats lie from the median, the farther side: ± 4 %. Empty for a single run. */
export function spreadPercent(spread: { median: number; min: number; max: number; runs: number }): string {
  if (spread.runs < 2 || spread.median === 0) return "";
  const farther = Math.max(spread.median - spread.min, spread.max - spread.median) / spread.median;
  return `± ${farther < 0.095 ? (farther * 100).toFixed(1) : Math.round(farther * 100)} %`;
}

/** A command line that a shell takes back apart into the same arguments. */
export function shellQuoted(parts: readonly string[]): string {
  return parts
    .map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** "a, b and c". */
export function listed(items: readonly string[]): string {
  const last = items.at(-1);
  if (last === undefined) return "";
  return items.length === 1 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}
