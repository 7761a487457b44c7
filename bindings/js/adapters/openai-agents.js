// For the OpenAI Agents SDK: a filter in front of the model, and a session that never gives out half a pair.

import { mended } from "./list.js";

/** new Runner({ callModelInputFilter: pareFilter({ max_tokens }) }) */
export function pareFilter(options = {}) {
  return ({ modelData }) => ({ ...modelData, input: mended(modelData.input, "openai-agents", options) });
}

/** A Session around another one. What it gives out is repaired; a limit never cuts a pair. */
export class PareSession {
  constructor(session, options = {}) {
    this.session = session;
    this.options = options;
    // What else a session can do (transactions, compaction) is asked of it by looking for its methods.
    for (let at = session; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const name of Object.getOwnPropertyNames(at)) {
        if (!(name in this) && typeof session[name] === "function") this[name] = (...given) => session[name](...given);
      }
    }
  }

  getSessionId() {
    return this.session.getSessionId();
  }

  async getItems(limit) {
    const all = mended(await this.session.getItems(), "openai-agents", this.options);
    if (limit === undefined || all.length <= limit) return all;
    if (limit <= 0) return [];
    for (let from = all.length - limit; from < all.length; from++) {
      if (whole(all, from)) return all.slice(from);
    }
    return [];
  }

  addItems(items) {
    return this.session.addItems(items);
  }

  popItem() {
    return this.session.popItem();
  }

  clearSession() {
    return this.session.clearSession();
  }
}

/** Whether no result behind a cut has its call, or its reasoning, in front of it. */
function whole(all, from) {
  const calls = new Set(all.slice(from).filter((item) => item.type?.endsWith("_call")).map((item) => item.callId));
  const inside = all.slice(from).every((item) => !/_(result|output)$/.test(item.type ?? "") || calls.has(item.callId));
  return inside && all[from - 1]?.type !== "reasoning";
}
