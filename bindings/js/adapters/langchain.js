// For LangChain: an edit for contextEditingMiddleware({ edits: [new PareEdit()] }), and what lists need elsewhere.

import { mended } from "./list.js";

/** Repairs messages, and makes them fit max_tokens; countTokens of the middleware is not used. */
export class PareEdit {
  constructor(options = {}) {
    this.options = options;
  }

  async apply({ messages }) {
    const now = await mendMessages(messages, this.options);
    if (now !== messages) messages.splice(0, messages.length, ...now);
  }
}

/** Messages as they should be sent. What was not touched is the same object. */
export async function mendMessages(messages, options) {
  const flat = messages.map((message) => JSON.parse(JSON.stringify(message)));
  const now = mended(flat, "langchain", options);
  if (now === flat) return messages;
  const { AIMessage, HumanMessage, SystemMessage, ToolMessage } = await import("@langchain/core/messages");
  const classes = { AIMessage, AIMessageChunk: AIMessage, HumanMessage, SystemMessage, ToolMessage };
  return now.map((element) => {
    const at = flat.indexOf(element);
    return at >= 0 ? messages[at] : new classes[element.id.at(-1)](element.kwargs);
  });
}
