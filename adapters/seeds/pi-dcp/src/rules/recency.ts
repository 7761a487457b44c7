import type { PruneRule } from "../types";

/** Nothing to do: keepRecentCount protects, and protection wins. */
export const recencyRule: PruneRule = { name: "recency" };
