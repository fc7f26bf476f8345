import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../src/format";

test("bytes keep three digits and step to the next unit where they round to it", () => {
  assert.equal(format.bytes(0), "0 B");
  assert.equal(format.bytes(999), "999 B");
  assert.equal(format.bytes(1_326_000_000), "1.33 GB");
  assert.equal(format.bytes(9_996_000), "10.0 MB");
  assert.equal(format.bytes(99_960_000), "100 MB");
  assert.equal(format.bytes(999_600_000), "1.00 GB");
  assert.equal(format.rate(182_490_000), "182 MB/s");
  assert.equal(format.megabytes(17_400_000), "17.4");
});

test("sizes that are powers of two say so", () => {
  assert.equal(format.binaryBytes(65_536), "64 KiB");
  assert.equal(format.binaryBytes(1 << 20), "1 MiB");
  assert.equal(format.binaryBytes(1000), "1000 bytes");
});

test("links are named as they are sold", () => {
  assert.equal(format.linkSpeed(1_000_000_000), "1 Gbit/s");
  assert.equal(format.linkSpeed(100_000_000), "100 Mbit/s");
  assert.equal(format.linkSpeed(2_500_000_000), "2500 Mbit/s");
});

test("times take the unit that suits them", () => {
  assert.equal(format.latency(0), "0 ns");
  assert.equal(format.latency(840_000), "840 µs");
  assert.equal(format.latency(12_345_678), "12.3 ms");
  assert.equal(format.tick(20_000_000), "20 ms");
  assert.equal(format.duration(2_712_000_000_000), "45 min 12 s");
  assert.equal(format.duration(3_600_000_000_000), "1 h");
  assert.equal(format.duration(120_000_000), "120 ms");
  assert.equal(format.duration(680_000_000), "680 ms");
  assert.equal(format.duration(1_340_000_000), "1.3 s");
  assert.equal(format.duration(9_960_000_000), "10 s");
});

test("a spread is that of the farther side, and a single run has none", () => {
  assert.equal(format.spreadPercent({ median: 100, min: 96, max: 103, runs: 3 }), "± 4.0 %");
  assert.equal(format.spreadPercent({ median: 100, min: 60, max: 103, runs: 3 }), "± 40 %");
  assert.equal(format.spreadPercent({ median: 100, min: 100, max: 100, runs: 1 }), "");
});

test("command lines survive the shell", () => {
  assert.equal(format.shellQuoted(["shoal", "study", "--chunks", "64K,512K"]), "shoal study --chunks 64K,512K");
  assert.equal(format.shellQuoted(["my stick.img", "it's", ""]), "'my stick.img' 'it'\\''s' ''");
});

test("lists read as people write them", () => {
  assert.equal(format.listed([]), "");
  assert.equal(format.listed(["a"]), "a");
  assert.equal(format.listed(["a", "b", "c"]), "a, b and c");
});

test("thousands are set apart", () => {
  assert.equal(format.grouped(1_234_567), "1,234,567");
  assert.equal(format.grouped(999), "999");
});
