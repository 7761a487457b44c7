#!/usr/bin/env node
// Runs the program for this system, which is a package of its own: an alias of this one, so that
// npm installs the one that fits.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";

const name = `@pare-llm/pare-${process.platform}-${process.arch}`;
let program;
try {
  program = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), process.platform === "win32" ? "pare.exe" : "pare");
} catch {
  console.error(`pare: there is no program for this system: ${name} is not installed`);
  console.error("      install without --omit=optional; the functions of the module work all the same");
  process.exit(2);
}
// Ctrl-C reaches the program, too; it decides.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`pare: ${error.message}`);
  process.exit(2);
}
process.exit(status ?? 128 + (constants.signals[signal] ?? 0));
