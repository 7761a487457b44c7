// Between an agent and its provider: every request is repaired and kept within a budget of tokens, whatever the
// agent sends, and the current turn stays.

import { createServer } from "node:http";

import { check, count, pareFetch } from "@pare-llm/pare";

const budget = 3000;

// The provider, for this program: it says how large the request is, and what is wrong with it.
const provider = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  response.end(JSON.stringify({ tokens: count(body).tokens, findings: check(body).findings.length, last: JSON.parse(body).messages.at(-1).content }));
});
await new Promise((ready) => provider.listen(0, "127.0.0.1", ready));

const send = pareFetch(fetch, { max_tokens: budget });
const history = [];
for (let i = 0; i < 50; i++) {
  history.push({ role: "user", content: `question ${i}` });
  history.push({ role: "assistant", content: [{ type: "tool_use", id: `toolu_${i}`, name: "bash", input: {} }] });
  if (i !== 20) history.push({ role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${i}`, content: "word ".repeat(100) }] });
  history.push({ role: "assistant", content: `answer ${i}` });
}
history.push({ role: "user", content: "and now?" });
const body = JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages: history });
const answer = await (await send(`http://127.0.0.1:${provider.address().port}/v1/messages`, { method: "POST", body })).json();
provider.close();
console.log(`${answer.tokens <= budget} ${answer.findings} ${answer.last}`);
