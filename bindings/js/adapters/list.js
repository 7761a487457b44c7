// What all adapters do with the list that their host keeps.

import { PareError, fit, fix } from "../index.js";

const limits = ["max_tokens", "max_messages", "max_exchanges", "max_turns"];

/**
 * A list as it should be sent: repaired, and made to fit if options have a limit. What was not touched is the
 * same object; a list that needs nothing is the same list. A list that cannot be read, or made to fit, goes on
 * as it is, and onError is told.
 */
export function mended(list, as, { onError, ...options } = {}) {
  let out = attempt(list, as, options, onError);
  if (out === undefined) {
    for (const name of limits) delete options[name];
    out = attempt(list, as, options, onError) ?? list;
  }
  return out === list ? list : reuse(list, out);
}

function attempt(list, as, options, onError) {
  const fits = limits.some((name) => options[name] !== undefined);
  try {
    return (fits ? fit : fix)(list, { ...options, as });
  } catch (problem) {
    if (!(problem instanceof PareError)) throw problem;
    onError?.(problem);
    return fits ? undefined : list;
  }
}

/** Puts the host's own objects in the place of elements that say the same. */
function reuse(list, out) {
  const was = new Map();
  for (const element of list) {
    const text = JSON.stringify(element);
    if (was.has(text)) was.get(text).push(element);
    else was.set(text, [element]);
  }
  return out.map((element) => was.get(JSON.stringify(element))?.shift() ?? element);
}
