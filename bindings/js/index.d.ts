/** A request body, or a list of messages: JSON as text or bytes, or what it decodes to. */
export type Body = string | Uint8Array | object;

/** How a call reads a body; the names are those of the flags of the command line. */
export interface Options {
  /** The dialect, if it is not to be found out: anthropic, openai-chat, openai-responses, gemini, bedrock, …; or the list of a program: ai-sdk, langchain, pi, … */
  as?: string;
  profile?: string;
  model?: string;
  strict?: boolean;
}

/** A block of a history, as callbacks see it. */
export interface Block {
  block: number;
  message: number;
  path: string;
  role: "system" | "user" | "assistant" | "tool" | "unknown";
  kind: string;
  tool?: string;
  call_id?: string;
  failed?: boolean;
  text: string;
}

export interface Vote {
  block: number;
  vote: "drop" | "protect" | "edit";
  text?: string;
  reason?: string;
}

export interface Changing extends Options {
  orphan_call?: "stub" | "drop";
  orphan_result?: "text" | "drop";
  /** Rules that remove what is useless. */
  rules?: string[];
  keep_recent?: number;
  /** Counts the tokens of a text. What it throws, the call throws. */
  count?: (text: string) => number;
  /** A rule of your own. */
  rule?: (blocks: Block[]) => Vote[];
  /** Gets what was done, if anything was. */
  onReceipts?: (plan: Plan) => void;
}

export interface Fitting extends Changing {
  max_tokens?: number;
  max_messages?: number;
  max_exchanges?: number;
  max_turns?: number;
  min_keep?: number;
}

export interface Compacting extends Omit<Changing, "rule" | "rules" | "keep_recent"> {
  min_keep?: number;
  inside?: boolean;
  summary?: string;
  /** How many tokens all summaries of a history together may have. */
  max_summary?: number;
  /** Answers at once. Where a model is asked in between: split first, then give its text as summary. */
  summarize?: (removed: { blocks: Block[]; prior: string; max_tokens: number }) => string;
}

export interface Change {
  action: string;
  rule: string;
  path: string;
  ids: string[] | null;
  reason: string;
  tokens: number;
  bytes: number;
  /** The JSON that a repair took out, or quoted in another form. */
  removed?: string;
}

export interface Finding {
  rule: string;
  path: string;
  message: string;
  [member: string]: unknown;
}

/** What was done. */
export interface Plan {
  dialect: string;
  profile: string;
  messages: [before: number, after: number];
  bytes: [before: number, after: number];
  changes: Change[];
  left: Finding[];
  [member: string]: unknown;
}

export interface Checked {
  dialect: string;
  profile: string;
  messages: number;
  calls: number;
  results: number;
  findings: Finding[];
}

export interface Counted {
  dialect: string;
  model: string;
  tokens: number;
  messages: number;
  window?: number;
  room?: number;
  share?: number;
  [member: string]: unknown;
}

export interface Division {
  cut: number;
  head: number;
  tail: number;
  cuts: number[];
  inside: number[];
}

/** A call, and what answers it. */
export interface Pair {
  id: string;
  tool: string;
  state: string;
  /** The path of the call; "" if there is none. */
  call: string;
  results: string[];
  server?: boolean;
  guessed?: boolean;
}

export class PareError extends Error {
  type: string;
  details: { type: string; message: string; unit?: string; limit?: number; minimum?: number };
}

export function fix<B extends Body>(body: B, options?: Changing): B;
export function fit<B extends Body>(body: B, options?: Fitting): B;
export function prune<B extends Body>(body: B, options?: Changing): B;
export function compact<B extends Body>(body: B, options?: Compacting): B;
export function check(body: Body, options?: Options & { advice?: boolean }): Checked;
export function count(body: Body, options?: Options & { by_message?: boolean; count?: (text: string) => number }): Counted;
export function pairs(body: Body, options?: Options): Pair[];
export function split<B extends Body>(body: B, options?: Options & { min_keep?: number; inside?: boolean }): { head?: B; tail: B; report: Division };
export function pareFetch(next?: typeof fetch, options?: Fitting): typeof fetch;
