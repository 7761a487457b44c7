import type { Fitting } from "../index.js";

/** Middleware of Anthropic's SDK: new Anthropic({ middleware: [pare()] }). */
export function pare(options?: Fitting): <R extends { url: string; method?: string; body?: unknown }>(request: R, next: (request: R) => Promise<Response>) => Promise<Response>;
