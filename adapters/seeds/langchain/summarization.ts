// In the place of LangChain's module, so that its suite goes through Pare: what is summarized, what comes of it, and
// what is sent.
export * from "./summarization.theirs.js";
import { summarizationMiddleware as theirs } from "./summarization.theirs.js";
import { mendMessages } from "@pare-llm/pare/langchain";

const mend = (messages: any) => mendMessages(messages, { onError: (problem: unknown) => { throw problem; } });

export const summarizationMiddleware = (options: any) => {
  const made: any = theirs(options);
  const before = made.beforeModel.hook ?? made.beforeModel;
  made.beforeModel = async (state: any, runtime: any) => {
    const out = await before({ ...state, messages: await mend(state.messages) }, runtime);
    return out?.messages ? { ...out, messages: await mend(out.messages) } : out;
  };
  made.wrapModelCall = async (request: any, handler: any) => handler({ ...request, messages: await mend(request.messages) });
  return made;
};
