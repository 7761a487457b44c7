import type { Listed } from "./list.js";

export function pareMiddleware(options?: Listed & { specificationVersion?: "v2" | "v3" | "v4" }): { specificationVersion: any; transformParams: (given: { params: any }) => Promise<any> };
export function pareStep(options?: Listed): <M>(step: { messages: M[] }) => { messages?: M[] };
export function mendMessages<M>(messages: M[], options?: Listed): M[];
export function mendUIMessages<M>(messages: M[], options?: Listed): M[];
