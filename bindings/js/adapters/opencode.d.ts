import type { Listed } from "./list.js";

type Hooks = { "experimental.chat.messages.transform": (input: unknown, output: { messages: any[] }) => Promise<void> };
export function parePlugin(options?: Listed): () => Promise<Hooks>;
export const Pare: () => Promise<Hooks>;
