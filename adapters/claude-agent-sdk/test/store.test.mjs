// The contract of SessionStore, on a real `pare serve`; PARE names the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { PareSessionStore, PareError } from "../dist/index.js";

let pare, url, dir;

before(async () => {
  dir = mkdtempSync(join(tmpdir(), "pare-"));
  pare = spawn(process.env.PARE ?? "pare", ["serve", "--listen", "127.0.0.1:0", "--store", process.env.PARE_TEST_STORE ?? join(dir, "pare.db")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  url = await new Promise((resolve, reject) => {
    let text = "";
    pare.on("error", reject);
    pare.on("exit", (code) => reject(new Error(`pare serve ended with ${code}: ${text}`)));
    pare.stderr.on("data", (chunk) => {
      text += chunk;
      const found = /listening on (http:\S+)/.exec(text);
      if (found) resolve(found[1]);
    });
  });
});

after(() => {
  pare?.removeAllListeners("exit");
  pare?.kill();
  if (dir) rmSync(dir, { recursive: true, force: true });
});

let n = 0;
// fresh is a project of its own for each test.
const fresh = () => ({ store: new PareSessionStore({ url }), projectKey: `-home-jo/work ${++n}` });
const line = (uuid, text) => ({ type: "user", uuid, timestamp: "2026-11-01T00:00:00Z", message: { role: "user", content: text } });

// Both implementations pass: what the SDK's own one does is the contract.
for (const [name, make] of [
  ["pare", fresh],
  ["the SDK's own", () => ({ store: new InMemorySessionStore(), projectKey: "p" })],
]) {
  test(`${name}: entries come back deep-equal and in order`, async () => {
    const { store, projectKey } = make();
    const key = { projectKey, sessionId: "s1" };
    const odd = { type: "x", z: 1, a: { c: null, b: [1.5, "é\u2028\"\\<>&", true] }, uuid: "u3" };
    await store.append(key, [line("u1", "one"), line("u2", "two")]);
    await store.append(key, [odd]);
    assert.deepEqual(await store.load(key), [line("u1", "one"), line("u2", "two"), odd]);
  });

  test(`${name}: a key that was never written is null`, async () => {
    const { store, projectKey } = make();
    assert.equal(await store.load({ projectKey, sessionId: "none" }), null);
    await store.append({ projectKey, sessionId: "none" }, []); // null or nothing, says the contract
    assert.equal(((await store.load({ projectKey, sessionId: "none" })) ?? []).length, 0);
  });

  test(`${name}: sub-paths are transcripts of their own`, async () => {
    const { store, projectKey } = make();
    const key = { projectKey, sessionId: "s1" };
    await store.append(key, [line("m", "main")]);
    await store.append({ ...key, subpath: "subagents/agent-1" }, [line("a", "sub")]);
    assert.deepEqual(await store.load(key), [line("m", "main")]);
    assert.deepEqual(await store.load({ ...key, subpath: "subagents/agent-1" }), [line("a", "sub")]);
    assert.deepEqual(await store.listSubkeys(key), ["subagents/agent-1"]);
    assert.deepEqual(await store.listSubkeys({ projectKey, sessionId: "none" }), []);
    assert.deepEqual((await store.listSessions(projectKey)).map((s) => s.sessionId), ["s1"]);
  });

  test(`${name}: projects do not see each other`, async () => {
    const { store, projectKey } = make();
    const other = projectKey + "2";
    await store.append({ projectKey, sessionId: "s1" }, [line("u", "mine")]);
    await store.append({ projectKey: other, sessionId: "s1" }, [line("u", "theirs")]);
    assert.deepEqual(await store.load({ projectKey, sessionId: "s1" }), [line("u", "mine")]);
    assert.equal((await store.listSessions(projectKey)).length, 1);
    assert.deepEqual(await store.listSessions(projectKey + "none"), []);
  });

  test(`${name}: listed times are whole milliseconds`, async () => {
    const { store, projectKey } = make();
    await store.append({ projectKey, sessionId: "s1" }, [line("u", "x")]);
    const [s] = await store.listSessions(projectKey);
    assert.ok(Number.isInteger(s.mtime) && s.mtime > 1e12, String(s.mtime));
  });

  test(`${name}: a delete takes sub-paths along, one of a sub-path nothing else`, async () => {
    const { store, projectKey } = make();
    const key = { projectKey, sessionId: "s1" };
    for (const subpath of [undefined, "a", "b"]) await store.append({ ...key, subpath }, [line(`u${subpath}`, "x")]);
    await store.delete({ ...key, subpath: "a" });
    assert.equal(await store.load({ ...key, subpath: "a" }), null);
    assert.notEqual(await store.load(key), null);
    await store.delete(key);
    assert.equal(await store.load(key), null);
    assert.equal(await store.load({ ...key, subpath: "b" }), null);
    assert.deepEqual(await store.listSessions(projectKey), []);
    await store.delete(key); // again, and one that never was
    await store.delete({ projectKey, sessionId: "none" });
  });
}

test("a uuid that is sent again is kept once", async () => {
  const { store, projectKey } = fresh();
  const key = { projectKey, sessionId: "s1" };
  const title = { type: "title", title: "without a uuid" };
  await store.append(key, [line("u1", "one"), title]);
  await store.append(key, [line("u1", "one"), line("u2", "two"), title]);
  await store.append(key, [line("u1", "changed"), line("u3", "three"), line("u3", "three")]);
  assert.deepEqual(await store.load(key), [line("u1", "one"), title, line("u2", "two"), title, line("u3", "three")]);
});

test("long transcripts, appended at once, come back whole and in order", async () => {
  const { store, projectKey } = fresh();
  const key = { projectKey, sessionId: "s1" };
  const all = Array.from({ length: 2500 }, (_, i) => line(`u${i}`, `entry ${i}`));
  await Promise.all(Array.from({ length: 50 }, (_, i) => store.append(key, all.slice(50 * i, 50 * (i + 1)))));
  assert.deepEqual(await store.load(key), all);
});

test("what was deleted stays so, and an append says why", async () => {
  const { store, projectKey } = fresh();
  const key = { projectKey, sessionId: "s1" };
  await store.append(key, [line("u", "x")]);
  await store.delete(key);
  await assert.rejects(store.append(key, [line("v", "late")]), (err) => err instanceof PareError && err.status === 410);
});

test("a server that cannot be reached rejects", async () => {
  const store = new PareSessionStore({ url: "http://127.0.0.1:1" });
  await assert.rejects(store.append({ projectKey: "p", sessionId: "s" }, [line("u", "x")]));
});
