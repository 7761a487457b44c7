import type { PruneRule } from "./types";

const known = new Map<string, PruneRule>();

export const registerRule = (rule: PruneRule) => void known.set(rule.name, rule);
export const getRule = (name: string) => known.get(name);
