// A plugin for opencode: put  export { Pare } from "@pare-llm/pare/opencode"  into a file of its plugins folder.
// The messages that it is about to send are repaired and made to fit.

import { mended } from "./list.js";

/** A plugin with options of your own. */
export function parePlugin(options = {}) {
  return async () => ({
    "experimental.chat.messages.transform": async (_, output) => {
      const now = mended(output.messages, "opencode", options);
      if (now !== output.messages) output.messages.splice(0, output.messages.length, ...now);
    },
  });
}

export const Pare = parePlugin();
