package doctest

import "regexp"

// reworded lists phrases that confused native speakers, with their replacements.
// TestTextsForUsersUsePlainWords keeps them out of all texts for users.
var reworded = [][2]string{
	{"a refusal that can be helped is healed", "Pare repairs the request and retries once"},
	{"everything else passes byte for byte", "everything else passes through unchanged"},
	{"/pare/` shows what happens", "open /pare/ to watch requests live"},
	{"stands in for the providers", "a fake provider for tests"},
	{"A limit is never passed", "never exceeds the limit"},
	{"what is coarse or missing", "known limitations"},
	{"Random histories hold Pare to this", "property tests check this on every run"},
	{"nothing is made up as if it were real", "nothing is invented"},
	{"not repaired: as you wish", "skipped"},
	{"and asks each time", "one by one"},
	{"in which nothing has been said yet", "empty session"},
	{"checks a file that lies elsewhere", "To check another file"},
	{"and nobody listens there", "but nothing is listening there"},
	{"what it was until now is", "the replaced version is"},
	{"why, and how it is repaired:", "Details:"},
	{"a call that no result answers", "a tool call without a result"},
	{"a result whose call is not in the list", "a tool result without a matching call in the message before"},
	{"nothing before it calls", "no earlier call has this id"},
	{"no report has the word", "unknown term"},
	{"the agent forgets everything in front of it", "the agent loses everything before it"},
	{"the last line breaks off", "the last line is incomplete"},
	{"two objects stand on one line", "two records on one line"},
	{"links to the line that is in front of it now", "now linked to the previous line"},
	{"that many, or let more go", "or let Pare drop more"},
	{"a shortened session is not written back", "session files cannot be shortened yet"},
	{"of the room for a request", "of the tokens available"},
	{"rest of head", "other fields"},
	{"as for this one in any case", "overrides the model for counting and window size"},
	{"Repair whatever is not valid everywhere", "also repair what any vendor would refuse"},
	{"Whose sessions. Default:", "namespace; default: none"},
	{"Let go of what is old", "Delete old data"},
	{"entries let go", "entries removed"},
	{"read from entry 4 on", "request starts at entry 4"},
	{"no upstream takes this path, and no key", "unknown path"},
	{"Stand between clients and providers", "a local proxy that …"},
	{"a model is to write the summary, and it is not named", "--endpoint needs --summary-model NAME"},
	{"take the # away", "uncomment what you want to change"},
	{"no provider refused a request that Pare could help", "none"},
	{"Passed untouched", "Not inspected"},
	{"Repaired or fitted", "Repaired or shortened"},
	{"a cut pays at later requests", "savings come with later requests"},
	{"edited unseen", "blind edits"},
	{"which is sent; 1 other thread", "main (sent)"},
	{"Colours: as the system has them", "Theme: system"},
	{"Beside the messages", "Outside the messages"},
	{"to whoever has this address", "this machine only"},
	{"Ctrl-C ends it", "Ctrl-C stops"},
	{"the talk of a sub-agent", "a sub-agent's conversation"},
	{"What it brings along", "Dependencies"},
	{"repairs and second thoughts", "repair and undo"},
}

func init() {
	for _, r := range reworded {
		strangeWords = append(strangeWords, struct{ word, instead string }{regexp.QuoteMeta(r[0]), r[1]})
	}
}
