// Builds dist/report.html: markup, styles and script in one file, with a place for the data. It is committed, so that
// the program builds on machines without node; esbuild gives the same bytes everywhere, which --check relies on.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { licences } from "./licences.mjs";
import { output } from "./output.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const options = {
  absWorkingDir: root,
  bundle: true,
  charset: "utf8",
  legalComments: "none", // all of them, with their texts, are in the page's own notice
  metafile: true,
  minify: true,
  target: "es2022",
  write: false,
};
const [script, style] = await Promise.all([
  build({ ...options, entryPoints: ["src/main.ts"], format: "iife" }),
  build({ ...options, entryPoints: ["src/style.css"] }),
]);
const parts = {
  "/*style*/": style.outputFiles[0].text.trim(),
  "/*script*/": script.outputFiles[0].text.trim(),
  "<!--licences-->": await licences(root, Object.keys(script.metafile.inputs)),
};
let page = await readFile(new URL("../src/page.html", import.meta.url), "utf8");
for (const [place, content] of Object.entries(parts)) {
  page = page.replace(place, () => content);
}
await output(new URL("../dist/report.html", import.meta.url), page, "npm run build");
