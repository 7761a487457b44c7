// Sends a history with an unanswered call to a provider: as it is, then repaired.
//
//	npx tsx agent.ts http://127.0.0.1:8899

import { Pare } from './pare.js';

const broken = {
  model: 'claude-sonnet-4-5',
  max_tokens: 1024,
  messages: [
    { role: 'user', content: 'Run the tests.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_01', name: 'bash', input: { cmd: 'make test' } }] },
    { role: 'user', content: 'Still there?' }, // the agent was interrupted before the result came
  ],
};

/** The status of the provider's answer, and what it says. */
async function send(base: string, body: object): Promise<string> {
  const reply = await fetch(base + '/v1/messages', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const said = (await reply.json()) as { content?: { text: string }[]; error?: { message: string } };
  return `${reply.status} ${said.content?.[0]?.text ?? said.error?.message}`;
}

const base = process.argv[2]!;
const pare = new Pare();
console.log(await send(base, broken));
console.log(await send(base, await pare.fix(broken)));
try {
  await pare.fix({ no: 'messages' });
} catch (problem) {
  console.log('refused:', (problem as Error).message);
}
console.log(await send(base, await pare.fix(broken))); // one bad line ends nothing
pare.close();
