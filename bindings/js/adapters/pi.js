// An extension for pi: put  export { default } from "@pare-llm/pare/pi"  into a file of its extensions folder.
// What pi is about to send is repaired and made to fit, whatever the provider.

import { PareError, fit, fix } from "../index.js";

/** An extension with options of your own. */
export function pareExtension({ onError, ...options } = {}) {
  return (pi) => {
    pi.on("before_provider_request", (event) => {
      for (const call of [() => fit(event.payload, options), () => fix(event.payload)]) {
        try {
          return call();
        } catch (problem) {
          if (!(problem instanceof PareError)) throw problem;
          onError?.(problem);
        }
      }
      return event.payload;
    });
  };
}

export default pareExtension();
