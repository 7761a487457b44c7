// A planner's session: when it is fuller than 80 % of what the model takes, what is old becomes a summary, and an
// earlier summary is given to whoever writes the next one, so that nothing of it is lost.

import { compact, count } from "@pare-llm/pare";

const room = 2000;

/** Messages of the AI SDK for the next plan. */
export function beforePlan(messages, summarize) {
  if (count(messages, { as: "ai-sdk" }).tokens < 0.8 * room) return messages;
  return compact(messages, { as: "ai-sdk", min_keep: 4, summarize });
}

let messages = [];
let summaries = 0;
for (let turn = 0; turn < 60; turn++) {
  messages.push({ role: "user", content: `question ${turn}` });
  messages.push({ role: "assistant", content: [{ type: "tool-call", toolCallId: `t${turn}`, toolName: "ask_agent", input: { turn } }] });
  messages.push({ role: "tool", content: [{ type: "tool-result", toolCallId: `t${turn}`, toolName: "ask_agent", output: { type: "text", value: "word ".repeat(60) } }] });
  messages.push({ role: "assistant", content: [{ type: "text", text: `answer ${turn}` }] });
  messages = beforePlan(messages, ({ blocks, prior }) => {
    // A model would write this; here it is what every summary before has said, and one fact more.
    const facts = new Set([prior, ...blocks.map((b) => b.text)].join(" ").match(/fact \d+\./g));
    return [...facts, `fact ${++summaries}.`].join(" ");
  });
}
const text = JSON.stringify(messages);
for (let n = 1; n <= summaries; n++) if (!text.includes(`fact ${n}.`)) throw new Error(`fact ${n} is lost`);
const size = count(messages, { as: "ai-sdk" }).tokens;
if (size > room) throw new Error(`${size} tokens in a room of ${room}`);
console.log(`${summaries > 1} and no fact is lost`);
