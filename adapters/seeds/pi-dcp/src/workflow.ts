// pi-dcp's pipeline on Pare: rules vote about exchanges, and the votes are settled once.

import { PareError, fix, type Block, type Vote } from "@pare-llm/pare";
import type { DcpConfigWithPruneRuleObjects } from "./types";

export function applyPruningWorkflow<M>(messages: M[], config: DcpConfigWithPruneRuleObjects): M[] {
	if (config.enabled === false || messages.length === 0) return messages;
	const recent = messages.length - config.keepRecentCount;
	const duplicates = config.rules.some((rule) => rule.votes === "duplicates");
	const rule = (blocks: Block[]): Vote[] => {
		const votes: Vote[] = blocks.filter((b) => b.message >= recent).map((b) => ({ block: b.block, vote: "protect", reason: "recent" }));
		if (!duplicates) return votes;
		const said = new Set<string>();
		for (const b of blocks) {
			if (b.kind === "result" || b.role === "user") continue; // results go with their calls, and what people say stays
			const text = JSON.stringify([b.kind, b.tool, b.text]);
			if (said.has(text)) votes.push({ block: b.block, vote: "drop", reason: "said before" });
			said.add(text);
		}
		return votes;
	};
	try {
		return fix({ messages }, { as: "anthropic", rule }).messages;
	} catch (problem) {
		if (problem instanceof PareError) return messages;
		throw problem;
	}
}
