import type { Fitting, PareError } from "../index.js";

/** Options of all adapters to the lists of hosts. */
export interface Listed extends Fitting {
  /** Is told why a list went on as it was. */
  onError?: (problem: PareError) => void;
}

/** A list in the shape of a host, as it should be sent. */
export function mended<T>(list: T[], as: string, options?: Listed): T[];
