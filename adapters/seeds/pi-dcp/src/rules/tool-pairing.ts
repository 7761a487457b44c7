import type { PruneRule } from "../types";

/** Nothing to do: votes are about whole exchanges, whatever is voted. */
export const toolPairingRule: PruneRule = { name: "tool-pairing" };
