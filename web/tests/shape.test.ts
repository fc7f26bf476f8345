import assert from "node:assert/strict";
import { test } from "node:test";
import type { ArrayResult, ArraySummary, StudyReport, WorkloadSummary } from "../src/api";
import { logAxis } from "../src/charts/log";
import { rerunCommand } from "../src/sections/environment";
import { byChunk, byMembers, latencyTail, notableArrays, rates, typicalDrive } from "../src/shape";
import { sorted } from "../src/table";
import { levelScales } from "../src/theme";

function workload(bytesPerSecond: number): WorkloadSummary {
  const spread = { median: bytesPerSecond, min: bytesPerSecond - 1e6, max: bytesPerSecond + 1e6, runs: 3 };
  return {
    metric: "sequential_read",
    block_size_bytes: 1 << 20,
    depth: 8,
    verdict: "valid",
    bytes_per_s: spread,
    iops: spread,
    cpu_ns_per_io: spread,
  };
}

/** Arrays given as [level, members, chunk in KiB, MB/s]. */
function study(arrays: readonly (readonly [string, number, number, number])[]): StudyReport {
  const results = arrays.map(
    ([level, members, chunk]): ArrayResult => ({
      configuration: {
        level,
        chunk_bytes: chunk * 1024,
        members: Array.from({ length: members }, (_, drive) => drive),
        capacity_bytes: 1,
        redundancy: 0,
      },
      measurements: [],
    }),
  );
  const summaries = arrays.map(
    ([level, members, chunk, speed], array): ArraySummary => ({
      array,
      name: `RAID${level} × ${members}, ${chunk} KiB`,
      workloads: [workload(speed * 1e6)],
    }),
  );
  const entries = summaries.map(({ array }) => ({ array, score: 0, tied: false, reasons: [] }));
  return {
    format: "shoal-study",
    format_version: 1,
    tool_version: "0",
    command_line: ["shoal", "study", "a.img"],
    elapsed_ns: 1,
    complete: true,
    seed: 7,
    host: { os: "", kernel: "", cpu_model: "", cores: 1, memory_bytes: 1, io_engine: "threads" },
    drives: [],
    alone: [],
    together: [],
    arrays: results,
    analysis: {
      drives: [10, 30, 20].map((speed, drive) => ({ drive, workloads: [workload(speed * 1e6)] })),
      together: [],
      arrays: summaries,
      stragglers: [],
      rankings: [{ purpose: "overall", rule: "", entries }],
      recommendation: { sentences: [], array: 1 },
    },
    warnings: [],
  };
}

const PLAN = [
  ["0", 6, 64, 110],
  ["0", 6, 512, 120],
  ["0", 4, 512, 80],
  ["0", 2, 512, 40],
  ["5", 6, 512, 100],
  ["5", 6, 64, 90],
] as const;

test("by chunk, each level shows the number of members that was varied most", () => {
  const points = byChunk(study(PLAN), "sequential_read");
  assert.deepEqual(
    points.map(({ level, members, chunkBytes, median }) => [level, members, (chunkBytes ?? 0) / 1024, median]),
    [["RAID0", 6, 64, 110], ["RAID0", 6, 512, 120], ["RAID5", 6, 64, 90], ["RAID5", 6, 512, 100]],
  );
});

test("by members, each level shows the chunk that was varied most", () => {
  const points = byMembers(study(PLAN), "sequential_read").filter(({ level }) => level === "RAID0");
  assert.deepEqual(points.map(({ members, median }) => [members, median]), [[2, 40], [4, 80], [6, 120]]);
  assert.deepEqual(byMembers(study(PLAN), "random_read"), []);
});

test("the typical drive is the one in the middle", () => {
  assert.equal(typicalDrive(study([]), "sequential_read"), 20);
  assert.equal(typicalDrive(study([]), "random_write"), undefined);
});

test("notable arrays are each level's first, and the recommended one", () => {
  assert.deepEqual(notableArrays(study(PLAN)).map(({ array }) => array), [0, 1, 4]);
});

test("a latency tail takes runs together and ends with the slowest request", () => {
  const tail = latencyTail([[{ up_to_ns: 10, count: 5 }, { up_to_ns: 20, count: 4 }], [{ up_to_ns: 10, count: 1 }]]);
  assert.deepEqual(tail, [{ beyond: 0.4, ns: 10 }, { beyond: 0.1, ns: 20 }]);
  assert.deepEqual(latencyTail([]), []);
});

test("rates divide by each interval's own length and leave a stub at the end out", () => {
  const interval = (start_ns: number, read_bytes: number) => ({ start_ns, read_bytes, write_bytes: 0, ios: 1, latency_max_ns: 1 });
  const series = [interval(0, 1e6), interval(1e9, 2e6), interval(2e9, 1e6)];
  const speeds = (elapsed: number): number[] => rates(series, elapsed).map(({ megabytesPerSecond }) => megabytesPerSecond);
  assert.deepEqual(speeds(2.5e9), [1, 2, 2]);
  assert.deepEqual(speeds(2.1e9), [1, 2]);
  assert.deepEqual(rates([], 1e9), []);
});

test("logarithmic axes label round values", () => {
  const labels = ({ ticks, tickFormat }: ReturnType<typeof logAxis>): string[] => ticks.map(tickFormat);
  assert.deepEqual(labels(logAxis([15, 300], String)), ["20", "50", "100", "200"]);
  assert.deepEqual(labels(logAxis([1, 100_000], String)), ["1", "10", "100", "1000", "10000", "100000"]);
  assert.deepEqual(labels(logAxis([], String)), []);
  // Values that hardly differ lie between two labels, and close together.
  assert.deepEqual(labels(logAxis([6402, 6472], String)), ["5000", "10000"]);
  assert.deepEqual(labels(logAxis([5, 6], String)), ["2", "5", "10"]);
});

test("sorting keeps equals in order and puts what is no number last", () => {
  const rows = [{ name: "a", speed: 2 }, { name: "b", speed: NaN }, { name: "c", speed: 3 }, { name: "d", speed: 2 }];
  const column = { label: "", value: (row: (typeof rows)[number]) => row.speed };
  assert.deepEqual(sorted(rows, column, "descending").map(({ name }) => name), ["c", "a", "d", "b"]);
  assert.deepEqual(sorted(rows, column, "ascending").map(({ name }) => name), ["a", "d", "c", "b"]);
});

test("a level has the same colour whatever else was measured", () => {
  const alone = levelScales(["5"]);
  const among = levelScales(["6", "5", "0"]);
  assert.deepEqual(among.color.domain, ["RAID0", "RAID5", "RAID6"]);
  assert.equal(alone.color.range[0], among.color.range[1]);
});

test("the rerun command names the seed once", () => {
  const report = study([]);
  assert.equal(rerunCommand(report), "shoal study a.img --seed 7");
  assert.equal(rerunCommand({ ...report, command_line: ["shoal", "study", "--seed", "7"] }), "shoal study --seed 7");
});
