// The hooks of Claude Code. The event comes on standard input, the answer goes to standard output. Whatever
// goes wrong here must not stop the agent: then nothing is said.

import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const folder = process.env.CLAUDE_PLUGIN_DATA ?? join(process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), ".claude"), "pare");

function main() {
  const input = readFileSync(0);
  const event = JSON.parse(input);
  mkdirSync(folder, { recursive: true });
  switch (event.hook_event_name) {
    case "PostToolUse": // the whole of what is shortened is in the archive
      return run(["shorten", "--hook", "claude", "--archive", join(folder, "whole.jsonl")], input);
    case "PreCompact":
    case "PostCompact": {
      const { hook_event_name, session_id, transcript_path, trigger, compact_summary } = event;
      const line = { at: new Date().toISOString(), event: hook_event_name, session: session_id, transcript: transcript_path, trigger, summary: compact_summary };
      return void appendFileSync(join(folder, "compactions.jsonl"), JSON.stringify(line) + "\n");
    }
    case "StopFailure":
      if (refused(`${event.error ?? ""} ${event.error_details ?? ""}`)) {
        return JSON.stringify({ systemMessage: "The provider refused this conversation. To see why and repair it: npx @pare-llm/pare doctor" });
      }
  }
}

/** Whether an error is one of the request, which the next attempt would meet again. */
function refused(said) {
  return /invalid_request|tool_use|tool_result|prompt is too long|\b400\b/.test(said);
}

/** What the program says: pare on the path, or the one of this package. */
function run(args, input) {
  const own = join(import.meta.dirname ?? ".", "..", "..", "bin", "pare.js");
  const tries = [[process.env.PARE_PROGRAM ?? "pare", args]];
  if (existsSync(own)) tries.push([process.execPath, [own, ...args]]);
  for (const [program, given] of tries) {
    const done = spawnSync(program, given, { input, maxBuffer: 1 << 28 });
    if (!done.error) return done.status === 0 ? done.stdout : undefined;
  }
}

try {
  const said = main();
  if (said?.length) process.stdout.write(said);
} catch (problem) {
  process.stderr.write(`pare: ${problem.message}\n`);
}
