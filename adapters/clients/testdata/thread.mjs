// Holds a conversation with a message thread of the official library: its tool runner answers calls
// until the model makes none, and then the user asks once more. Prints the whole conversation, as JSON.
import { argv } from 'node:process';
import Anthropic from '@anthropic-ai/sdk';

const [base, streaming, middleware] = argv.slice(-3);
const stream = streaming === 'true';
const options = { baseURL: base, apiKey: 'none', maxRetries: 0 };
if (middleware === 'true') options.middleware = [(await import('@pare-llm/pare/anthropic')).pare({ maxTokens: 1500 })];
const client = new Anthropic(options);

const read = {
  type: 'custom', name: 'read', description: 'Reads a file.', input_schema: { type: 'object', properties: { path: { type: 'string' } } },
  parse: (input) => input, run: ({ path }) => `${path}: ` + 'line <é> \n'.repeat(200),
};
const thread = client.beta.messages.thread({
  model: 'claude-opus-5-5', max_tokens: 2000, system: 'Be brief.', tools: [read], thinking: { type: 'adaptive' },
  messages: [{ role: 'user', content: 'Read all parts.' }],
});
const runner = thread.toolRunner({ stream });
if (stream) {
  for await (const reply of runner) await reply.finalMessage();
} else {
  await runner.runUntilDone();
}
await thread.send({ role: 'user', content: 'And now?' });
console.log(JSON.stringify(thread.messages));
