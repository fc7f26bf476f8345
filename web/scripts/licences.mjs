// The notices of the packages that are part of the bundle, equal texts only once.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const COPYRIGHT = /^\s*copyright .*$/gim;

function packageOf(input) {
  return /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

async function licence(root, name) {
  const folder = join(root, "node_modules", name);
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no licence file`);
  const text = (await readFile(join(folder, file), "utf8")).replaceAll("\r\n", "\n");
  const holders = (text.match(COPYRIGHT) ?? []).map((line) => line.trim());
  const terms = text.replace(COPYRIGHT, "").replace(/\s+/g, " ").trim();
  return { heading: [`${name} ${version}`, ...holders].join(". "), terms };
}

export async function licences(root, inputs) {
  const names = [...new Set(inputs.map(packageOf).filter((name) => name !== undefined))].sort();
  const headingsByTerms = new Map();
  for (const { heading, terms } of await Promise.all(names.map((name) => licence(root, name)))) {
    headingsByTerms.set(terms, [...(headingsByTerms.get(terms) ?? []), heading]);
  }
  const notices = [...headingsByTerms].map(([terms, headings]) => `${headings.join("\n")}\n\n${terms}`);
  return `<!--\nThis page contains the following packages.\n\n${notices.join("\n\n").replaceAll("--", "- -")}\n-->`;
}
