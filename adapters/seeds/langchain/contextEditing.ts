// In the place of LangChain's module, so that its suite goes through Pare: in front of every edit and behind it.
export * from "./contextEditing.theirs.js";
import { ClearToolUsesEdit, contextEditingMiddleware as theirs } from "./contextEditing.theirs.js";
import { PareEdit } from "@pare-llm/pare/langchain";

const pare = () => new PareEdit({ onError: (problem: unknown) => { throw problem; } });

export const contextEditingMiddleware = (config: any = {}) =>
  theirs({ ...config, edits: [pare(), ...(config.edits ?? [new ClearToolUsesEdit()]), pare()] });
