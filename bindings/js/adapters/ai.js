// For the AI SDK: a middleware for models, and what an agent's steps and a page's messages need.

import { mended } from "./list.js";

/** wrapLanguageModel({ model, middleware: pareMiddleware() }): repairs prompts, and makes them fit max_tokens. */
export function pareMiddleware({ specificationVersion = "v4", ...options } = {}) {
  return {
    specificationVersion,
    transformParams: async ({ params }) => {
      const prompt = mended(params.prompt, "ai-sdk", options);
      return prompt === params.prompt ? params : { ...params, prompt };
    },
  };
}

/** generateText({ prepareStep: pareStep({ max_tokens }) }): what it takes out stays out in later steps. */
export function pareStep(options = {}) {
  return ({ messages }) => {
    const now = mended(messages, "ai-sdk", options);
    return now === messages ? {} : { messages: now };
  };
}

/** Model messages, as they should be sent. */
export const mendMessages = (messages, options) => mended(messages, "ai-sdk", options);

/** UI messages, as they should be converted: every call has its result. */
export const mendUIMessages = (messages, options) => mended(messages, "ai-sdk-ui", options);
