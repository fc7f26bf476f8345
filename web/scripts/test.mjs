// Bundles every test, so that TypeScript needs no other loader, and runs them with node's own test runner.

import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const tests = (await readdir(join(root, "tests"))).filter((name) => name.endsWith(".test.ts"));
const folder = await mkdtemp(join(root, "node_modules", ".tests-"));
try {
  await build({
    absWorkingDir: root,
    bundle: true,
    entryPoints: tests.map((name) => `tests/${name}`),
    format: "esm",
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    platform: "node",
    sourcemap: "inline",
    target: "node20",
  });
  const files = tests.map((name) => join(folder, name.replace(/ts$/, "mjs")));
  const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  await rm(folder, { recursive: true });
}
