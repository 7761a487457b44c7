// Pare for JavaScript: repairs and fits the histories that agents send to language models.
//
//	import { fix, fit, check } from "@pare-llm/pare";
//	body = fix(body);                        // a string, a Uint8Array or an object; the same one if it is clean
//	body = fit(body, { max_tokens: 100_000 });

import { load } from "./engine.js";

const engine = await load();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Why a call has no result; type is unreadable, options, window_too_small, unknown_model, callback, … */
export class PareError extends Error {
  constructor(error) {
    super(error.message);
    this.name = "PareError";
    this.type = error.type;
    this.details = error;
  }
}

const kinds = ["count", "rule", "summarize"];

/** A call: [body or undefined, report or undefined]. Options that are functions are callbacks. */
function call(name, body, options = {}) {
  const said = {};
  const asked = {};
  let thrown;
  for (const [key, value] of Object.entries(options)) {
    if (kinds.includes(key) && typeof value === "function") asked[key] = guard(key, value);
    else if (value !== undefined) said[key] = value;
  }
  // What a callback throws cannot pass through the engine: it is kept and thrown behind it.
  function guard(key, f) {
    return (given) => {
      try {
        const answer = f(key === "count" ? given : JSON.parse(given));
        if (typeof answer?.then === "function") {
          answer.then(null, () => {}); // nobody else waits for it
          throw new TypeError(`${key} returned a promise, and a callback answers at once: await first, and give what it came to, such as summary`);
        }
        if (key === "count") return Number(answer);
        if (key === "summarize" && typeof answer !== "string") throw new TypeError(`summarize returns a text, not ${answer === null ? "null" : typeof answer}`);
        return typeof answer === "string" ? answer : JSON.stringify(answer);
      } catch (problem) {
        thrown ??= { problem };
        return undefined;
      }
    };
  }
  const [out, report, error] = engine(name, bytes(body), Object.keys(said).length ? JSON.stringify(said) : "", asked);
  if (thrown) throw thrown.problem;
  if (error !== undefined) throw new PareError(JSON.parse(error));
  return [out, report];
}

function bytes(body) {
  if (body instanceof Uint8Array) return body;
  if (body === undefined || body === null) throw new PareError({ type: "unreadable", message: `there is no body: it is ${body}` });
  if (typeof body.then === "function") throw new PareError({ type: "unreadable", message: "the body is a promise: await it" });
  return encoder.encode(typeof body === "string" ? body : JSON.stringify(body));
}

/** What came out, as the type of what went in. */
function like(body, raw) {
  if (body instanceof Uint8Array) return raw;
  const text = decoder.decode(raw);
  return typeof body === "string" ? text : JSON.parse(text);
}

function changed(name, body, { onReceipts, ...options } = {}) {
  const [out, report] = call(name, body, options);
  if (report !== undefined) onReceipts?.(JSON.parse(report));
  return out === undefined ? body : like(body, out);
}

/** Repairs what the provider would refuse. */
export const fix = (body, options) => changed("fix", body, options);

/** Repairs, and makes it fit max_tokens, max_messages, …; by default the window of its model. */
export const fit = (body, options) => changed("fit", body, options);

/** Repairs, and removes what is useless by the standard rules, or by those of options.rules. */
export const prune = (body, options) => changed("prune", body, options);

/** Puts a summary in the place of what is old. */
export const compact = (body, options) => changed("compact", body, options);

/** Reports what the provider would refuse. */
export const check = (body, options) => JSON.parse(call("check", body, options)[1]);

/** Counts tokens. */
export const count = (body, options) => JSON.parse(call("count", body, options)[1]);

/** Tells which result answers which call. */
export const pairs = (body, options) => JSON.parse(call("pairs", body, options)[1]).pairs;

/** Divides a history where it can be: { head, tail, report }; without a cut head is undefined. */
export function split(body, options) {
  const [head, report] = call("split", body, { ...options, part: "head" });
  if (head === undefined) return { head, tail: body, report: JSON.parse(report) };
  const [tail] = call("split", body, { ...options, part: "tail" });
  return { head: like(body, head), tail: like(body, tail), report: JSON.parse(report) };
}

const histories = /(\/messages|\/chat\/completions|\/responses|:(stream)?generateContent|\/converse(-stream)?)$/i;

/**
 * A fetch that repairs histories and makes them fit on their way, for SDKs that take one:
 * new OpenAI({ fetch: pareFetch() }). What cannot be read goes on as it is.
 */
export function pareFetch(next = globalThis.fetch, options = {}) {
  return (input, init) => {
    if (init?.method?.toUpperCase() === "POST" && histories.test(pathOf(input)) && !new Headers(init.headers).has("content-encoding")) {
      const body = repaired(init.body, options);
      if (body !== init.body) init = { ...init, body, headers: without(init.headers, "content-length") };
    }
    return next(input, init);
  };
}

function pathOf(input) {
  return new URL(typeof input === "string" || input instanceof URL ? input : input.url).pathname;
}

function without(headers, name) {
  const left = new Headers(headers);
  left.delete(name);
  return left;
}

function repaired(body, options) {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return body;
  try {
    return fit(body, options);
  } catch (problem) {
    if (!(problem instanceof PareError)) throw problem;
    if (problem.type !== "unknown_model" && problem.type !== "window_too_small") return body;
  }
  try {
    return fix(body);
  } catch (problem) {
    if (problem instanceof PareError) return body;
    throw problem;
  }
}
