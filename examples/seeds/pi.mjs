// An extension for pi: earlier copies of what a tool said go, with their calls; the last ten messages stay.

import { fix } from "@pare-llm/pare";

const recent = 10;

export default function extension(pi) {
  pi.on("context", ({ messages }) => ({ messages: fix(messages, { as: "pi", rule: (blocks) => votes(blocks) }) }));
}

/** Votes to drop results that a later one repeats. Pare lets their calls go with them. */
function votes(blocks) {
  const last = blocks.at(-1)?.message ?? 0;
  const later = new Set();
  const all = [];
  for (const b of blocks.toReversed()) {
    if (b.kind !== "result" || b.text === "") continue;
    if (later.has(b.text) && b.message < last - recent) all.push({ block: b.block, vote: "drop", reason: "a later result says the same" });
    later.add(b.text);
  }
  return all;
}

// What pi does with it: a file that was read twice is in the list once.
const list = [{ role: "user", content: "read it" }];
for (let i = 0; i < 8; i++) {
  list.push({ role: "assistant", api: "x", stopReason: "toolUse", content: [{ type: "toolCall", id: `c${i}`, name: "read", arguments: { path: "a.txt" } }] });
  list.push({ role: "toolResult", toolCallId: `c${i}`, toolName: "read", content: [{ type: "text", text: i < 2 ? "the same" : `other ${i}` }], isError: false });
}
list.push({ role: "assistant", api: "x", stopReason: "toolUse", content: [{ type: "toolCall", id: "z", name: "read", arguments: { path: "a.txt" } }] });
list.push({ role: "toolResult", toolCallId: "z", toolName: "read", content: [{ type: "text", text: "the same" }], isError: false });
let context;
extension({ on: (_, handler) => (context = handler) });
console.log(`${list.length} messages, ${context({ messages: list }).messages.length} left`);
