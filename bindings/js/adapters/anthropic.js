// Middleware for Anthropic's SDK: new Anthropic({ middleware: [pare()] }). It stands in front of what Bedrock,
// Vertex and Foundry write and sign.

import { PareError, count, fit, fix } from "../index.js";

const messages = /\/messages(\?|$)/;
const tooLong = /prompt is too long: (\d+) tokens > (\d+) maximum/;

/** Repairs requests, makes them fit, and sends one that was too long once more, shorter. */
export function pare(options = {}) {
  return async (request, next) => {
    if (request.method?.toUpperCase() !== "POST" || !messages.test(request.url) || typeof request.body !== "string") return next(request);
    const body = repaired(request.body, options);
    const answer = await next(body === request.body ? request : { ...request, body });
    if (answer.status !== 400) return answer;
    const [, took, maximum] = (await answer.clone().text()).match(tooLong) ?? [];
    if (took === undefined) return answer;
    // Estimates differ from what the API counts: the share that has to go is what is known.
    const less = attempt(() => fit(body, { ...options, max_tokens: Math.floor(weight(body, options) * (Number(maximum) / Number(took)) * 0.95) }));
    return less === undefined || less === body ? answer : next({ ...request, body: less });
  };
}

function weight(body, { count: own }) {
  return count(body, own === undefined ? {} : { count: own }).tokens;
}

function repaired(body, options) {
  return attempt(() => fit(body, options)) ?? attempt(() => fix(body)) ?? body;
}

function attempt(call) {
  try {
    return call();
  } catch (problem) {
    if (problem instanceof PareError) return undefined;
    throw problem;
  }
}
