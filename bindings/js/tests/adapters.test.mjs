import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { pareMiddleware, pareStep } from "../adapters/ai.js";
import { pare } from "../adapters/anthropic.js";
import { mended } from "../adapters/list.js";
import { PareSession, pareFilter } from "../adapters/openai-agents.js";
import { parePlugin } from "../adapters/opencode.js";
import { pareExtension } from "../adapters/pi.js";

const call = (id) => ({ role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "bash", input: {} }] });
const result = (id, text = "out") => ({ role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "bash", output: { type: "text", value: text } }] });
const open = [{ role: "user", content: "go" }, call("a"), { role: "user", content: "and?" }];

test("a list that needs nothing is the same list, and what stays is the same object", () => {
  const clean = [{ role: "user", content: "go" }, call("a"), result("a")];
  assert.equal(mended(clean, "ai-sdk"), clean);
  const out = mended(open, "ai-sdk");
  assert.equal(out.length, 4);
  assert.equal(out[0], open[0]);
  assert.equal(out[1], open[1]);
  assert.equal(out[2].content[0].toolCallId, "a");
  assert.equal(out[3], open[2]);
});

test("what cannot be made to fit is repaired, and somebody is told", () => {
  const told = [];
  const out = mended(open, "ai-sdk", { max_tokens: 1, onError: (problem) => told.push(problem.type) });
  assert.equal(out.length, 4);
  assert.deepEqual(told, ["window_too_small"]);
});

test("the AI SDK's middleware and step", async () => {
  const { transformParams, specificationVersion } = pareMiddleware();
  assert.equal(specificationVersion, "v4");
  assert.equal((await transformParams({ params: { prompt: open, temperature: 1 } })).prompt.length, 4);
  assert.deepEqual(pareStep()({ messages: [open[0]] }), {});
  const long = Array.from({ length: 30 }, (_, i) => [{ role: "user", content: `q${i}` }, call(`c${i}`), result(`c${i}`, "word ".repeat(200))]).flat();
  const { messages } = pareStep({ max_tokens: 2000 })({ messages: long });
  assert.ok(messages.length < long.length);
});

test("Anthropic's middleware sends once more what was too long", async () => {
  const history = [];
  for (let i = 0; i < 40; i++) history.push({ role: "user", content: `question ${i} ${"word ".repeat(100)}` }, { role: "assistant", content: `answer ${i}` });
  const body = JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 9, messages: [...history, { role: "user", content: "go on" }] });
  const sent = [];
  const next = async (request) => {
    sent.push(request.body);
    if (sent.length > 1) return new Response("{}");
    return new Response('{"error":{"message":"prompt is too long: 6000 tokens > 3000 maximum"}}', { status: 400 });
  };
  const answer = await pare()({ url: "https://a/v1/messages?beta=true", method: "post", body }, next);
  assert.equal(answer.status, 200);
  assert.equal(sent[0], body);
  assert.ok(sent[1].length < body.length * 0.7, `${sent[1].length} of ${body.length}`);
  const others = [];
  await pare()({ url: "https://a/v1/models", method: "get" }, async (request) => others.push(request) && new Response("{}"));
  assert.equal(others[0].body, undefined);
});

test("OpenAI Agents: the filter, and a session that cuts between pairs", async () => {
  const items = [{ role: "user", content: "go" }, { type: "function_call", callId: "a", name: "bash", arguments: "{}" }];
  const { input, instructions } = pareFilter()({ modelData: { input: items, instructions: "be kind" } });
  assert.deepEqual([input.length, input[2].type, instructions], [3, "function_call_result", "be kind"]);
  const kept = { getItems: async () => [...items, { type: "function_call_result", callId: "a", name: "bash", output: "x" }, { role: "user", content: "and?" }] };
  const session = new PareSession(kept);
  assert.equal((await session.getItems()).length, 4);
  assert.deepEqual(await session.getItems(2), [{ role: "user", content: "and?" }]);
  assert.equal((await session.getItems(3)).length, 3);
});

test("whatever else a session can do, one around it can", async () => {
  class Other {
    #done = [];
    getItems = async () => [];
    applyHistoryTransaction(args) {
      this.#done.push(args);
      return this.#done.length;
    }
  }
  const session = new PareSession(new Other());
  session.applyHistoryTransaction(1);
  assert.equal(session.applyHistoryTransaction(2), 2);
  assert.deepEqual(await session.getItems(), []);
});

test("pi's extension and opencode's plugin", async () => {
  const handlers = {};
  pareExtension()({ on: (name, handler) => (handlers[name] = handler) });
  const payload = { model: "nobody-knows", messages: [{ role: "user", content: "go" }, { role: "assistant", tool_calls: [{ id: "a", type: "function", function: { name: "x", arguments: "{}" } }] }] };
  assert.equal(handlers.before_provider_request({ payload }).messages.length, 3);
  const hooks = await parePlugin()();
  const output = { messages: [{ info: { id: "1", role: "assistant" }, parts: [{ id: "p", type: "tool", callID: "a", tool: "bash", state: { status: "running", input: {}, time: { start: 1 } } }] }] };
  await hooks["experimental.chat.messages.transform"]({}, output);
  assert.equal(output.messages[0].parts[0].state.status, "error");
});

test("Claude Code's hooks", { skip: process.env.PARE_PROGRAM === undefined && "PARE_PROGRAM names no program" }, () => {
  const data = mkdtempSync(join(tmpdir(), "pare-hooks-"));
  const hook = (event) => {
    const script = new URL("../claude-code/hooks/pare.mjs", import.meta.url).pathname;
    const done = spawnSync(process.execPath, [script], { input: JSON.stringify(event), env: { ...process.env, CLAUDE_PLUGIN_DATA: data } });
    assert.equal(done.status, 0, done.stderr.toString());
    return done.stdout.toString();
  };
  const output = Array.from({ length: 2000 }, (_, i) => `line ${i}`).join("\n");
  const said = hook({ hook_event_name: "PostToolUse", tool_name: "Bash", tool_input: { command: "make" }, tool_response: { stdout: output, stderr: "" } });
  assert.ok(JSON.parse(said).hookSpecificOutput.updatedToolOutput.stdout.length < output.length);
  assert.ok(readFileSync(join(data, "whole.jsonl"), "utf8").includes("line 1234"));
  assert.equal(hook({ hook_event_name: "PostToolUse", tool_name: "Bash", tool_input: {}, tool_response: { stdout: "ok", stderr: "" } }), "");
  assert.equal(hook({ hook_event_name: "PostCompact", session_id: "s", trigger: "auto", compact_summary: "short" }), "");
  assert.equal(JSON.parse(readFileSync(join(data, "compactions.jsonl"), "utf8")).summary, "short");
  assert.match(JSON.parse(hook({ hook_event_name: "StopFailure", error: "invalid_request", error_details: "tool_use ids were found" })).systemMessage, /doctor/);
  assert.equal(hook({ hook_event_name: "StopFailure", error: "rate_limit" }), "");
  rmSync(data, { recursive: true });
});
