import assert from "node:assert/strict";
import test from "node:test";

import { count, fix } from "../index.js";

const calls = Number(process.env.PARE_CALLS ?? 2000);
const body = new TextEncoder().encode(JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 9, messages: [{ role: "user", content: "hello there" }] }));

class Mine extends Error {}

// One call in five throws, some collect garbage in the middle. PARE_CALLS says how many there are.
test("callbacks, many", () => {
  let thrown = 0;
  const once = (i) => {
    const refuse = (now) => {
      if (now) throw new Mine(String(i));
      return [];
    };
    const asked = (text) => {
      refuse(i % 10 === 3);
      if (i % 500 === 5) globalThis.gc?.();
      return text.length;
    };
    try {
      if (i % 2) assert.ok(count(body, { count: asked }).tokens > 0);
      else assert.equal(fix(body, { rule: () => refuse(i % 10 === 6) }), body);
      assert.ok(i % 10 !== 3 && i % 10 !== 6);
    } catch (e) {
      assert.ok(e instanceof Mine && e.message === String(i), e);
      thrown++;
    }
  };
  for (let i = 0; i < calls / 4; i++) once(i);
  globalThis.gc?.();
  thrown = 0;
  const before = process.memoryUsage.rss(), began = process.cpuUsage();
  for (let i = 0; i < calls; i++) once(i);
  const { user, system } = process.cpuUsage(began);
  globalThis.gc?.();
  const after = process.memoryUsage.rss();
  assert.equal(thrown, calls / 5);
  assert.ok(after - before < 64 << 20, `${(after - before) >> 10} KB more behind ${calls} calls`);
  console.log(`${calls} calls with callbacks, ${thrown} thrown: ${((user + system) / 1e6).toFixed(1)} s of processor time, ${before >> 10} KB before, ${after >> 10} KB after`);
});
