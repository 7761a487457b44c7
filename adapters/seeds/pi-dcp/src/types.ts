// What the suite of pi-dcp asks of its types.

export interface PruneRule {
	name: string;
	/** What Pare does for it. */
	votes?: "duplicates";
}

export interface DcpConfigWithPruneRuleObjects {
	enabled?: boolean;
	debug?: boolean;
	rules: PruneRule[];
	keepRecentCount: number;
}
