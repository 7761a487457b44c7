import type { Listed } from "./list.js";

export function pareExtension(options?: Listed): (pi: { on(event: string, handler: (event: any) => any): void }) => void;
declare const extension: ReturnType<typeof pareExtension>;
export default extension;
