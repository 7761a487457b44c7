// Sends a history with one of the SDKs and prints what the model says, as JSON.
import { stdin, argv } from 'node:process';

const [sdk, base, streaming] = argv.slice(-3);
const stream = streaming === 'true';
let input = '';
for await (const chunk of stdin) input += chunk;
const history = JSON.parse(input);

const merge = (turns, make) => {
  const all = [];
  for (const t of turns) {
    const { role, part } = make(t);
    if (all.length && all.at(-1).role === role) all.at(-1).parts.push(part);
    else all.push({ role, parts: [part] });
  }
  return all;
};

async function anthropic() {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0 });
  const messages = history.map((t) => ({
    user: { role: 'user', content: t.text },
    say: { role: 'assistant', content: t.text },
    call: { role: 'assistant', content: [{ type: 'tool_use', id: t.id, name: 'read', input: { path: t.text } }] },
    result: { role: 'user', content: [{ type: 'tool_result', tool_use_id: t.id, content: t.text }] },
  })[t.kind]);
  const request = { model: 'claude-opus-4-6', max_tokens: 100, messages };
  const message = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request);
  return message.content[0].text;
}

async function openaiClient() {
  const { default: OpenAI } = await import('openai');
  return new OpenAI({ baseURL: base + '/v1', apiKey: 'none', maxRetries: 0 });
}

async function chat() {
  const client = await openaiClient();
  const messages = history.map((t) => ({
    user: { role: 'user', content: t.text },
    say: { role: 'assistant', content: t.text },
    call: { role: 'assistant', content: null, tool_calls: [{ id: t.id, type: 'function', function: { name: 'read', arguments: JSON.stringify({ path: t.text }) } }] },
    result: { role: 'tool', tool_call_id: t.id, content: t.text },
  })[t.kind]);
  const request = { model: 'gpt-5.5', messages };
  if (!stream) return (await client.chat.completions.create(request)).choices[0].message.content;
  return client.chat.completions.stream(request).finalContent();
}

async function responses() {
  const client = await openaiClient();
  const items = history.map((t) => ({
    user: { role: 'user', content: t.text },
    say: { role: 'assistant', content: t.text },
    call: { type: 'function_call', call_id: t.id, name: 'read', arguments: JSON.stringify({ path: t.text }) },
    result: { type: 'function_call_output', call_id: t.id, output: t.text },
  })[t.kind]);
  const request = { model: 'gpt-5.5', input: items };
  const answer = stream ? await client.responses.stream(request).finalResponse() : await client.responses.create(request);
  return answer.output_text;
}

async function gemini() {
  const { GoogleGenAI } = await import('@google/genai');
  const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: base } });
  const contents = merge(history, (t) => ({
    user: { role: 'user', part: { text: t.text } },
    say: { role: 'model', part: { text: t.text } },
    call: { role: 'model', part: { functionCall: { name: 'read', args: { path: t.text } } } },
    result: { role: 'user', part: { functionResponse: { name: 'read', response: { output: t.text } } } },
  })[t.kind]);
  const request = { model: 'gemini-2.5-flash', contents };
  if (!stream) return (await client.models.generateContent(request)).text;
  let said = '';
  for await (const chunk of await client.models.generateContentStream(request)) said += chunk.text ?? '';
  return said;
}

async function bedrock() {
  const { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } = await import('@aws-sdk/client-bedrock-runtime');
  const client = new BedrockRuntimeClient({ region: 'us-east-1', endpoint: base, token: { token: 'none' }, authSchemePreference: ['httpBearerAuth'], maxAttempts: 1 });
  const messages = merge(history, (t) => ({
    user: { role: 'user', part: { text: t.text } },
    say: { role: 'assistant', part: { text: t.text } },
    call: { role: 'assistant', part: { toolUse: { toolUseId: t.id, name: 'read', input: { path: t.text } } } },
    result: { role: 'user', part: { toolResult: { toolUseId: t.id, content: [{ text: t.text }] } } },
  })[t.kind]).map(({ role, parts }) => ({ role, content: parts }));
  const request = { modelId: 'us.anthropic.claude-opus-4-6-v1:0', messages, toolConfig: { tools: [{ toolSpec: { name: 'read', inputSchema: { json: { type: 'object' } } } }] } };
  if (!stream) return (await client.send(new ConverseCommand(request))).output.message.content[0].text;
  let said = '';
  for await (const e of (await client.send(new ConverseStreamCommand(request))).stream) said += e.contentBlockDelta?.delta?.text ?? '';
  return said;
}

async function vercel(model) {
  const { generateText, streamText } = await import('ai');
  const messages = history.map((t) => ({
    user: { role: 'user', content: t.text },
    say: { role: 'assistant', content: t.text },
    call: { role: 'assistant', content: [{ type: 'tool-call', toolCallId: t.id, toolName: 'read', input: { path: t.text } }] },
    result: { role: 'tool', content: [{ type: 'tool-result', toolCallId: t.id, toolName: 'read', output: { type: 'text', value: t.text } }] },
  })[t.kind]);
  const request = { model, messages, maxRetries: 0, onError: () => {} };
  if (!stream) return (await generateText(request)).text;
  let failed;
  const answer = streamText({ ...request, onError: ({ error }) => { failed = error; } });
  let said = '';
  for await (const piece of answer.textStream) said += piece;
  if (failed) throw failed;
  return said;
}

async function langchain(model) {
  const { HumanMessage, AIMessage, ToolMessage } = await import('@langchain/core/messages');
  const messages = history.map((t) => ({
    user: () => new HumanMessage(t.text),
    say: () => new AIMessage(t.text),
    call: () => new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id: t.id, name: 'read', args: { path: t.text } }] }),
    result: () => new ToolMessage({ tool_call_id: t.id, name: 'read', content: t.text }),
  })[t.kind]());
  if (!stream) return (await model.invoke(messages)).text;
  let said = '';
  for await (const chunk of await model.stream(messages)) said += chunk.text;
  return said;
}

async function langchainOpenAI(useResponsesApi) {
  const { ChatOpenAI } = await import('@langchain/openai');
  return langchain(new ChatOpenAI({ model: 'gpt-5.5', apiKey: 'none', configuration: { baseURL: base + '/v1' }, useResponsesApi, maxRetries: 0 }));
}

const sdks = {
  anthropic, chat, responses, gemini, bedrock,
  'vercel-anthropic': async () => vercel((await import('@ai-sdk/anthropic')).createAnthropic({ baseURL: base + '/v1', apiKey: 'none' })('claude-opus-4-6')),
  'vercel-openai': async () => vercel((await import('@ai-sdk/openai')).createOpenAI({ baseURL: base + '/v1', apiKey: 'none' }).responses('gpt-5.5')),
  'langchain-anthropic': async () => langchain(new (await import('@langchain/anthropic')).ChatAnthropic({ model: 'claude-opus-4-6', apiKey: 'none', anthropicApiUrl: base, maxTokens: 100, maxRetries: 0 })),
  'langchain-chat': () => langchainOpenAI(false),
  'langchain-responses': () => langchainOpenAI(true),
  'langchain-google': async () => langchain(new (await import('@langchain/google-genai')).ChatGoogleGenerativeAI({ model: 'gemini-2.5-flash', apiKey: 'none', baseUrl: base, maxRetries: 0 })),
  'vercel-google': async () => vercel((await import('@ai-sdk/google')).createGoogleGenerativeAI({ baseURL: base + '/v1beta', apiKey: 'none' })('gemini-2.5-flash')),
};

try {
  console.log(JSON.stringify({ text: await sdks[sdk]() }));
} catch (e) {
  console.log(JSON.stringify({ error: String(e?.message ?? e) + ' ' + (e?.responseBody ?? '') }));
}
