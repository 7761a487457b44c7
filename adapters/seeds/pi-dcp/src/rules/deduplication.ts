import type { PruneRule } from "../types";

/** The same thing said or called again. */
export const deduplicationRule: PruneRule = { name: "deduplication", votes: "duplicates" };
