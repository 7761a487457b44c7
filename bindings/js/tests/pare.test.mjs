import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import test from "node:test";

import { PareError, check, compact, count, fit, fix, pareFetch, split } from "../index.js";

const broken = {
  model: "claude-sonnet-4-5",
  max_tokens: 9,
  messages: [
    { role: "user", content: "run the tests — bitte" },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "bash", input: {} }] },
    { role: "user", content: "and?" },
  ],
};
const clean = { model: "claude-sonnet-4-5", max_tokens: 9, messages: [{ role: "user", content: "hello" }] };

function long(n) {
  const messages = [];
  for (let i = 0; i < n; i++)
    messages.push(
      { role: "user", content: `question ${i}` },
      { role: "assistant", content: [{ type: "tool_use", id: `t${i}`, name: "bash", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: `t${i}`, content: "output ".repeat(50) }] },
      { role: "assistant", content: `answer ${i}` },
    );
  return { model: "claude-sonnet-4-5", max_tokens: 9, messages: [...messages, { role: "user", content: "go on" }] };
}

test("fix", () => {
  assert.equal(fix(clean), clean);
  let plan;
  const fixed = fix(broken, { onReceipts: (p) => (plan = p) });
  assert.equal(plan.changes[0].rule, "orphan-call");
  assert.deepEqual(check(fixed).findings, []);
  assert.deepEqual(fixed.messages[0], broken.messages[0]);
  const text = JSON.stringify(broken);
  assert.equal(typeof fix(text), "string");
  assert.ok(fix(new TextEncoder().encode(text)) instanceof Uint8Array);
  assert.ok(Array.isArray(fix(broken.messages)));
});

test("fit, count, split, compact", () => {
  const body = long(30);
  assert.ok(count(fit(body, { max_tokens: 1000 })).tokens <= 1000);
  const { head, tail, report } = split(body, { min_keep: 4 });
  assert.equal(head.messages.length, report.head);
  assert.deepEqual([...head.messages, ...tail.messages], body.messages);
  assert.match(JSON.stringify(compact(body, { summary: "All is well.", min_keep: 4 })), /All is well\./);
  assert.ok(fix(long(5), { rules: ["deduplication"], keep_recent: 2 }).messages.length > 0);
});

test("a callback answers at once, and with what is asked for", () => {
  for (const summarize of [async () => "In short.", () => undefined, () => null, () => ({ text: "In short." })])
    assert.throws(() => compact(long(9), { min_keep: 4, summarize }), TypeError);
  assert.throws(() => count(broken, { count: async () => 1 }), /promise/);
  // A model is asked in between.
  const body = long(9);
  const { head } = split(body, { min_keep: 4 });
  const small = compact(body, { summary: `Of ${head.messages.length} messages.`, min_keep: 4 });
  assert.match(JSON.stringify(small), /Of \d+ messages\./);
});

test("errors", () => {
  const type = (want) => (problem) => problem instanceof PareError && problem.type === want;
  assert.throws(() => fix('{"no":1}'), type("unreadable"));
  assert.throws(() => fit(clean, { max_token: 5 }), type("options"));
  assert.throws(() => fit(broken, { max_tokens: 1 }), type("window_too_small"));
  assert.throws(() => fix(clean, { config: {} }), type("options"));
  assert.throws(() => fix(undefined), { type: "unreadable", message: /no body/ });
  assert.throws(() => fix(Promise.resolve(clean)), { type: "unreadable", message: /await/ });
  assert.equal(fix(clean), clean); // one error ends nothing
});

test("callbacks", () => {
  const asked = [];
  const words = (text) => (asked.push(text), text.split(/\s+/).length);
  assert.ok(count(broken, { count: words }).tokens > 0);
  assert.ok(asked.includes("run the tests — bitte"));
  const rule = (blocks) => blocks.filter((b) => b.call_id === "t0").map((b) => ({ block: b.block, vote: "drop", reason: "old" }));
  assert.ok(!JSON.stringify(fix(long(3), { rule })).includes('"t0"'));
  assert.match(JSON.stringify(compact(long(9), { min_keep: 4, summarize: (removed) => `In short: ${removed.blocks[0].kind}` })), /In short: call/);
  const mine = new RangeError("mine");
  const fails = () => {
    throw mine;
  };
  for (const call of [() => count(broken, { count: fails }), () => fix(broken, { rule: fails }), () => compact(long(9), { min_keep: 4, summarize: fails })])
    assert.throws(call, (problem) => problem === mine);
});

test("fetch", async () => {
  const sent = [];
  const send = pareFetch(async (url, init) => (sent.push(init), new Response("{}")));
  const headers = { "content-length": "1", "x-api-key": "k" };
  await send("https://api.example/v1/messages", { method: "POST", body: JSON.stringify(broken), headers });
  assert.deepEqual(check(sent[0].body).findings, []);
  assert.equal(sent[0].headers.get("content-length"), null);
  assert.equal(sent[0].headers.get("x-api-key"), "k");
  const whole = { method: "POST", body: JSON.stringify(clean), headers };
  await send("https://api.example/v1/messages", whole);
  assert.equal(sent[1], whole);
  const other = { method: "POST", body: JSON.stringify(broken) };
  await send("https://api.example/v1/files", other);
  assert.equal(sent[2], other);
  const foreign = { method: "POST", body: "not json" };
  await send(new URL("https://api.example/v1/chat/completions"), foreign);
  assert.equal(sent[3], foreign);
});

test("figures", { skip: !process.env.PARE_CLEAN }, () => {
  const body = new Uint8Array(readFileSync(process.env.PARE_CLEAN));
  const text = new TextDecoder().decode(body);
  // Where others have the machine, too, only the processor time of this thread says something; it is counted
  // in steps, so that several calls are taken together.
  const clock = existsSync("/proc/thread-self/schedstat") ? () => Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ")[0]) / 1e6 : () => performance.now();
  const best = (f) => {
    let least = Infinity;
    for (let i = 0; i < 6; i++) {
      const from = clock();
      for (let j = 0; j < 10; j++) f();
      least = Math.min(least, (clock() - from) / 10);
    }
    return least.toFixed(1);
  };
  // Figures are printed, and decide nothing.
  console.log(`clean ${body.length} bytes: fix of bytes ${best(() => fix(body))} ms, of a string ${best(() => fix(text))} ms, JSON.parse + stringify ${best(() => JSON.stringify(JSON.parse(text)))} ms`);
});
