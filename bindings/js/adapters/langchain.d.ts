import type { Listed } from "./list.js";

/** A ContextEdit: contextEditingMiddleware({ edits: [new PareEdit({ max_tokens: 100_000 })] }). */
export class PareEdit {
  constructor(options?: Listed);
  apply(given: { messages: any[] }): Promise<void>;
}
export function mendMessages<M>(messages: M[], options?: Listed): Promise<M[]>;
