// Writes a generated file, or, with --check on the command line, fails if it is not what it should be.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export async function output(url, content, remedy) {
  const path = fileURLToPath(url);
  if (!process.argv.includes("--check")) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    return;
  }
  const stored = await readFile(path, "utf8").catch(() => "");
  if (stored !== content) {
    console.error(`${path} is not what its sources say; run \`${remedy}\` and commit the result`);
    process.exitCode = 1;
  }
}
