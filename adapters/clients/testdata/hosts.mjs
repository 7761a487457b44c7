// Random histories, built and judged by the packages of the hosts themselves, go through the adapters of
// @pare-llm/pare. Arguments: how many, and the seed. It prints counts as JSON.

import assert from "node:assert/strict";
import { MemorySession, Runner, Agent, protocol, Usage } from "@openai/agents-core";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, mapChatMessagesToStoredMessages, mapStoredMessagesToChatMessages } from "@langchain/core/messages";
import { load } from "@langchain/core/load";
import { fauxAssistantMessage, fauxText, fauxThinking, fauxToolCall } from "@earendil-works/pi-ai";
import { convertToModelMessages, generateText, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { mendUIMessages, pareMiddleware, pareStep } from "@pare-llm/pare/ai";
import { PareEdit } from "@pare-llm/pare/langchain";
import { PareSession, pareFilter } from "@pare-llm/pare/openai-agents";
import { check, fit, fix } from "@pare-llm/pare";

const [count, seed] = process.argv.slice(-2).map(Number);
let state = seed || 1;
const random = (n) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
let marks = 0;

/** A history: what is said, and calls with or without results. */
function history() {
  const steps = [];
  for (let turn = 1 + random(4); turn > 0; turn--) {
    steps.push({ user: `question ${++marks}` });
    for (let k = random(4); k > 0; k--) {
      const calls = Array.from({ length: random(4) }, () => ({ id: `call-${++marks}`, name: ["read", "bash"][random(2)], text: `output ${++marks}`, done: random(6) > 0, failed: random(5) === 0 }));
      steps.push({ think: random(3) === 0 ? `thought ${++marks}` : "", text: random(2) || calls.length === 0 ? `answer ${++marks}` : "", calls });
    }
  }
  return steps;
}

/** Whether every call has its result behind it, and every result its call: the ids in the order of the host. */
function whole(events) {
  const open = new Set();
  for (const [kind, id] of events) {
    if (kind === "call") open.add(id);
    else if (kind === "result") assert.ok(open.delete(id), `a result without its call: ${id}`);
    else if (kind === "said") assert.equal(open.size, 0, `a call without its result: ${[...open]}`);
  }
  assert.equal(open.size, 0);
}

/** What an item of OpenAI is to whole; what the model says may stand between its calls and their results. */
const event = (i) => (i.type === "function_call" ? ["call", i.callId] : i.type === "function_call_result" ? ["result", i.callId] : [i.role === "user" ? "said" : "spoke"]);

const hosts = {
  /** The AI SDK converts what comes out, and its own check finds every result. */
  async "ai-sdk"(steps) {
    const messages = steps.flatMap((s) => {
      if (s.user) return [{ role: "user", content: s.user }];
      const content = [];
      if (s.think) content.push({ type: "reasoning", text: s.think });
      if (s.text) content.push({ type: "text", text: s.text });
      for (const c of s.calls) content.push({ type: "tool-call", toolCallId: c.id, toolName: c.name, input: { path: c.text } });
      const done = s.calls.filter((c) => c.done).map((c) => ({ type: "tool-result", toolCallId: c.id, toolName: c.name, output: { type: c.failed ? "error-text" : "text", value: c.text } }));
      return [{ role: "assistant", content }, ...(done.length ? [{ role: "tool", content: done }] : [])];
    });
    const mock = () => new MockLanguageModelV3({ doGenerate: async () => ({ content: [{ type: "text", text: "ok" }], finishReason: { unified: "stop", raw: "stop" }, usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } }, warnings: [] }) });
    const broken = steps.some((s) => s.calls?.some((c) => !c.done));
    if (broken) await assert.rejects(generateText({ model: mock(), messages: [...messages, { role: "user", content: "go on" }] }), /Tool result is missing|MissingToolResult/i);
    const out = fix(messages, { as: "ai-sdk" });
    const model = mock();
    await generateText({ model: wrapLanguageModel({ model, middleware: pareMiddleware({ specificationVersion: "v3" }) }), messages: [...out, { role: "user", content: "go on" }], prepareStep: pareStep() });
    assert.equal(model.doGenerateCalls.length, 1);
    return [messages, out];
  },
  async "ai-sdk-ui"(steps) {
    const messages = [];
    for (const s of steps) {
      if (s.user) messages.push({ id: `m${++marks}`, role: "user", parts: [{ type: "text", text: s.user }], metadata: { mine: marks } });
      else {
        if (messages.at(-1).role === "user") messages.push({ id: `m${++marks}`, role: "assistant", parts: [] });
        const parts = messages.at(-1).parts;
        parts.push({ type: "step-start" });
        if (s.text) parts.push({ type: "text", text: s.text, state: "done" });
        for (const c of s.calls) {
          const ends = !c.done ? { state: "input-available" } : c.failed ? { state: "output-error", errorText: c.text } : { state: "output-available", output: { deep: [1.5, c.text] } };
          parts.push({ type: `tool-${c.name}`, toolCallId: c.id, input: { path: c.text }, ...ends });
        }
      }
    }
    const out = mendUIMessages(messages);
    const events = [];
    for (const m of await convertToModelMessages(out)) {
      if (m.role === "tool") for (const p of m.content) events.push(["result", p.toolCallId]);
      else {
        events.push(["said"]);
        if (m.role === "assistant") for (const p of m.content) if (p.type === "tool-call") events.push(["call", p.toolCallId]);
      }
    }
    whole(events);
    return [messages, out];
  },
  /** LangChain loads what comes out again. */
  async langchain(steps) {
    const messages = [new SystemMessage("be kind")];
    for (const s of steps) {
      if (s.user) messages.push(new HumanMessage({ content: s.user, id: `m${++marks}` }));
      else {
        messages.push(new AIMessage({ content: s.think ? [{ type: "reasoning", reasoning: s.think }, { type: "text", text: s.text || "so" }] : s.text, tool_calls: s.calls.map((c) => ({ id: c.id, name: c.name, args: { path: c.text }, type: "tool_call" })) }));
        for (const c of s.calls) if (c.done) messages.push(new ToolMessage({ content: c.text, tool_call_id: c.id, name: c.name, status: c.failed ? "error" : "success" }));
      }
    }
    const out = [...messages];
    await new PareEdit().apply({ messages: out });
    const events = out.flatMap((m) => (m instanceof ToolMessage ? [["result", m.tool_call_id]] : [["said"], ...(m.tool_calls ?? []).map((c) => ["call", c.id])]));
    whole(events);
    for (const form of [JSON.parse(JSON.stringify(messages)), mapChatMessagesToStoredMessages(messages)]) {
      const back = fix(form, { as: "langchain" });
      assert.deepEqual(check(back, { as: "langchain" }).findings, []);
      const loaded = form[0].lc ? await load(JSON.stringify(back)) : mapStoredMessagesToChatMessages(back);
      assert.deepEqual(loaded.map((m) => [m.getType(), m.tool_call_id, m.text]), out.map((m) => [m.getType(), m.tool_call_id, m.text]));
    }
    return [JSON.parse(JSON.stringify(messages)), JSON.parse(JSON.stringify(out))];
  },
  /** OpenAI's schema knows every item that comes out. */
  async "openai-agents"(steps) {
    const items = steps.flatMap((s) => {
      if (s.user) return [{ type: "message", role: "user", content: s.user }];
      const said = s.text ? [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: s.text }] }] : [];
      const results = s.calls.filter((c) => c.done).map((c) => ({ type: "function_call_result", callId: c.id, name: c.name, status: "completed", output: { type: "text", text: c.text } }));
      return [...said, ...s.calls.map((c) => ({ type: "function_call", callId: c.id, name: c.name, status: "completed", arguments: JSON.stringify({ path: c.text }) })), ...results];
    });
    for (const item of items) protocol.ModelItem.parse(item);
    const session = new PareSession(new MemorySession({ sessionId: "s", initialItems: items }));
    const out = await session.getItems();
    for (const item of out) protocol.ModelItem.parse(item);
    whole(out.map(event));
    const cut = await session.getItems(1 + random(6));
    whole(cut.map(event));
    if (marks % 20 === 0) {
      let got;
      const model = { getResponse: async (request) => ((got = request.input), { usage: new Usage(), output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "ok" }] }] }) };
      await new Runner({ tracingDisabled: true, callModelInputFilter: pareFilter() }).run(new Agent({ name: "a", model }), [...items, { role: "user", content: "go on" }]);
      whole(got.map(event));
    }
    return [items, out];
  },
  /** pi's own makers of messages. */
  async pi(steps) {
    const messages = steps.flatMap((s) => {
      if (s.user) return [{ role: "user", content: s.user, timestamp: ++marks }];
      const said = fauxAssistantMessage([...(s.think ? [fauxThinking(s.think)] : []), ...(s.text ? [fauxText(s.text)] : []), ...s.calls.map((c) => fauxToolCall(c.name, { path: c.text }, { id: c.id }))], { stopReason: s.calls.length ? "toolUse" : "stop" });
      return [said, ...s.calls.filter((c) => c.done).map((c) => ({ role: "toolResult", toolCallId: c.id, toolName: c.name, content: [{ type: "text", text: c.text }], isError: c.failed, timestamp: ++marks, details: { mine: marks } }))];
    });
    const out = fix(messages, { as: "pi" });
    whole(out.flatMap((m) => (m.role === "toolResult" ? [["result", m.toolCallId]] : [["said"], ...(m.role === "assistant" ? m.content.filter((c) => c.type === "toolCall").map((c) => ["call", c.id]) : [])])));
    return [JSON.parse(JSON.stringify(messages)), out];
  },
};

/** A string that two elements share exactly when they are the same, member by member. */
const text = (element) => JSON.stringify(element);

const report = {};
for (const name of Object.keys(hosts)) {
  const r = (report[name] = { histories: 0, repaired: 0, untouched: 0, fitted: 0 });
  for (let n = 0; n < count; n++) {
    const steps = history();
    const [before, after] = await hosts[name](steps);
    r.histories++;
    const kept = new Set(after.map(text));
    const lost = before.filter((element) => !kept.has(text(element)));
    // Only a part that holds its call can change when a result is put in; all other elements stay as they are.
    if (name !== "ai-sdk-ui") assert.deepEqual(lost, []);
    r.untouched += before.length - lost.length;
    if (after.length !== before.length || lost.length) r.repaired++;
    assert.deepEqual(fix(after, { as: name }), after);
    try {
      const short = fit(before, { as: name, max_tokens: 150 });
      assert.deepEqual(check(short, { as: name }).findings, []);
      if (short !== before) r.fitted++;
    } catch (problem) {
      assert.equal(problem.type, "window_too_small");
    }
  }
}
console.log(JSON.stringify(report));
