package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/rulelist"
)

// The kinds of words in reports.
const (
	kindFault   = "fault"
	kindDamage  = "damage"
	kindRule    = "rule"
	kindStep    = "step"
	kindAction  = "action"
	kindEvent   = "event"
	kindRefusal = "refusal"
	kindSkip    = "not inspected"
	kindTerm    = "term"
)

// wordKinds are the headings of the word list, in its order.
var wordKinds = []picture.WordKind{
	{Kind: kindFault, Title: "Faults: what a provider refuses, or accepts at a cost"},
	{Kind: kindDamage, Title: "Damage: what is wrong with a session file as a file"},
	{Kind: kindRule, Title: "Rules: what changed it, where a receipt names no fault"},
	{Kind: kindStep, Title: "Steps of a window: how pare trim makes a transcript fit, gentle steps first"},
	{Kind: kindAction, Title: "Actions: what a receipt says was done"},
	{Kind: kindRefusal, Title: "Refusals: why a compaction was not made"},
	{Kind: kindSkip, Title: "Not inspected: why pare serve let a request pass as it came, in Pare-Skipped and on the live page"},
	{Kind: kindTerm, Title: "Terms: other words of reports and pages"},
	{Kind: kindEvent, Title: "Events: what the library reports while it works"},
}

// listWords returns all words that can be explained, in the order of the list.
func listWords() []picture.Word {
	var all []picture.Word
	for _, f := range fixedWords {
		all = append(all, picture.Word{Word: f.word, Kind: f.kind, Meaning: f.meaning, More: f.more})
	}
	for word, meaning := range dialect.RuleSlugs() {
		all = append(all, picture.Word{Word: word, Kind: kindFault, Meaning: meaning, Fault: true})
	}
	for word, meaning := range agentlog.Damages() {
		all = append(all, picture.Word{Word: word, Kind: kindDamage, Meaning: meaning, Repair: damageRepairs[word]})
	}
	for _, r := range rulelist.All() {
		all = append(all, picture.Word{Word: r.Name, Kind: kindRule, Meaning: r.Doc, More: "pare rules lists the rules in their order; docs/config.md has the options"})
	}
	rank := map[string]int{}
	for i, k := range wordKinds {
		rank[k.Kind] = i
	}
	slices.SortStableFunc(all, func(a, b picture.Word) int {
		if a.Kind != b.Kind {
			return cmp.Compare(rank[a.Kind], rank[b.Kind])
		}
		if a.Kind == kindStep {
			return 0 // steps keep the order in which a window takes them
		}
		return cmp.Compare(a.Word, b.Word)
	})
	return all
}

// findMeanings returns the meanings of a word. A fault and a step of a window may have the same
// name.
func findMeanings(word string) []picture.Word {
	var words []picture.Word
	if own, ok := wordSynonyms[strings.ReplaceAll(strings.ToLower(word), "_", "-")]; ok {
		word = own
	}
	for _, t := range listWords() {
		if strings.EqualFold(t.Word, word) {
			words = append(words, t)
		}
	}
	return words
}

// wordSynonyms maps words of providers and agents to the words of Pare.
var wordSynonyms = map[string]string{
	"prompt-too-long": agentlog.OverWindow, "prompt-is-too-long": agentlog.OverWindow, "context-length-exceeded": agentlog.OverWindow,
	"context-window-exceeded": agentlog.OverWindow, "too-long": agentlog.OverWindow, "context-overflow": agentlog.OverWindow,
	"tool-use": "call", "tool-call": "call", "tool-calls": "call", "toolcall": "call", "tooluse": "call", "function-call": "call", "functioncall": "call",
	"tool-result": "result", "toolresult": "result", "function-call-output": "result", "functionresponse": "result", "function-response": "result",
	"context-window": "window",
}

// fixedWords are the words that no other table defines.
var fixedWords = []struct{ word, kind, meaning, more string }{
	{"relink", kindRule, "a line of a session file now links to the previous line",
		"session files such as Claude Code's name the line before each line; where a line was added, removed or lost, the next one is given another parent"},
	{"kept-words", kindRule, "words of a record in a session file that a repair would have lost stay in that record, where the agent passes them over",
		"in its member pare_kept; a record that would have gone stays with a type or a mark that the agent passes over"},
	{"user-words", kindRule, "the task and the newest words of the user stay, although a rule voted to drop them", ""},
	{"cache-breakpoint", kindRule, "a cache mark moved to the block before it, because its own block was dropped", ""},
	{"compaction", kindRule, "a summary replaced older messages",
		"drop: a message that the summary replaces; insert: the summary itself"},

	{"overflow", kindRule, "a provider refused the request for its size; it was sent again, smaller", "pare serve says so in Pare-Healed and in receipts"},
	{"unexplained", kindRule, "a provider refused the request and did not say why; it was sent again, repaired by the rules of all vendors", "such as Google's \"Request contains an invalid argument.\""},

	{agentlog.OverWindow, kindFault, "the conversation is longer than the window of its model: the provider refuses it, and an agent cannot compact it any more, because that takes a request of the same length",
		"pare trim or pare compact makes it shorter. Where a session file has the API's own count for the last reply, that is used, and only what came after it is estimated; the window is the published one, the one that the agent has noted, or more if the API has answered more"},

	{"left-out", kindRule, "a short mark stands where a window dropped exchanges or turns, so that the model knows that something is missing", "--unmarked leaves it out"},

	{"rules", kindStep, "what the rules of the window vote for, all at once", ""},
	{"clear-results", kindStep, "an old result is replaced by a placeholder that names the call", "results older than the last eight exchanges; --recent changes the eight"},
	{"shorten", kindStep, "a huge result or argument keeps its beginning and its end", ""},
	{"drop-exchanges", kindStep, "a call is dropped together with its results", ""},
	{"drop-turns", kindStep, "a turn is dropped, the words of the user included, except for what must stay", ""},
	{"squeeze", kindStep, "a result or argument that must stay is shortened, then cleared", "only when nothing else is left to fit the window"},

	{"keep", kindAction, "it stays as it is", ""},
	{"edit", kindAction, "something in it was changed; the reason says what", ""},
	{"drop", kindAction, "it was removed", ""},
	{"archive", kindAction, "its text was replaced by a placeholder, or shortened", "the whole is among what --archive keeps"},
	{"insert", kindAction, "it was added, such as a result that was missing", "it has no place in the input, so its path is where it was put"},
	{"move", kindAction, "it is in another place now", "the path is where it was in the input"},
	{"rename", kindAction, "an id or a name was replaced, on both halves of a pair", ""},
	{"merge", kindAction, "it was joined with its neighbour", ""},

	{"blank", kindRefusal, "the summary is empty", ""},
	{"not-text", kindRefusal, "the summary is not text, or holds the line that ends a summary", ""},
	{"calls", kindRefusal, "the summary holds calls or results", ""},
	{"larger", kindRefusal, "the summary is larger than what it replaces, or than allowed", "--max-summary sets how large it may be"},
	{"no-room", kindRefusal, "summaries may have too few tokens for one more", "--max-summary sets how many they may have"},
	{"not-conserved", kindRefusal, "too few bytes of the history are accounted for", "--conserve sets how many must be; --archive keeps what is removed"},
	{"no-cut", kindRefusal, "the transcript cannot be divided there without breaking a pair", "pare split shows where it can"},
	{"nothing-to-compact", kindRefusal, "there is nothing before the cut", ""},
	{"summarizer", kindRefusal, "the summary could not be made", ""},
	{"timeout", kindRefusal, "the summary took too long", "--timeout sets how long it may take"},
	{"left-out", kindRefusal, "the summarizer was not called, because it failed twice for these messages or five times in a row", "check its endpoint; Pare calls it again after 50 more summaries, or after a restart"},

	{"off", kindSkip, "the configuration says that such requests are left alone", ""},
	{"too-large", kindSkip, "the body is larger than pare serve reads", "--max-body sets how large it may be"},
	{"content-coding", kindSkip, "the body is compressed in a way that Pare does not read", "gzip, deflate, zstd and brotli are read"},
	{"invalid-json", kindSkip, "the body is not JSON", ""},
	{"unknown-shape", kindSkip, "the body holds no conversation", ""},
	{"foreign-shape", kindSkip, "the body holds a conversation in a format that Pare does not read, such as that of a framework", ""},
	{"server-state", kindSkip, "the request continues a conversation that the provider keeps, so that only its last messages are in it", "a member such as thread, previous_response_id, conversation or previous_interaction_id names the conversation"},
	{"still-refused", kindSkip, "some finding cannot be repaired, so the provider gets the request as it came and answers itself", "pare check on the request shows which"},
	{"window-too-small", kindSkip, "what must stay is larger than the limit", "a larger limit, or fewer pins, in pare.toml"},
	{"time", kindSkip, "planning took longer than its budget", ""},
	{"panic", kindSkip, "Pare met a bug of its own; the log has it", "please report it"},
	{"error", kindSkip, "planning failed; the log says why", ""},
	{"stopped", kindSkip, "its conversation is above a limit of [stop], and it was not sent", "begin another conversation, or raise the limit"},
	{"signed", kindSkip, "the request is signed, and Pare has no key to sign a changed one", "docs/serve.md shows how to give it one"},
	{"unsupported", kindSkip, "requests to this path are not looked at", ""},

	{"transcript", kindTerm, "a conversation as it is sent or stored: a request body, a list of messages, or a session file", ""},
	{"dialect", kindTerm, "the wire format of an API, such as anthropic or openai-chat", "--as names one"},
	{"profile", kindTerm, "the vendor whose rules apply", "--profile names one; several vendors speak the same dialect"},
	{"call", kindTerm, "the model asks for a tool to be run: tool_use, tool_calls, function_call", ""},
	{"result", kindTerm, "what a tool returned for a call: tool_result, a tool message, function_call_output", ""},
	{"pair", kindTerm, "a call and its result; one without the other is refused by most providers", ""},
	{"exchange", kindTerm, "a call with its results", "--max-exchanges counts them"},
	{"turn", kindTerm, "what follows a message of the user, up to the next one", "--max-turns counts them"},
	{"thread", kindTerm, "one line of conversation in a session file that has several: the main one, or that of a sub-agent", "only the main one is sent when the session is resumed"},
	{"cut", kindTerm, "a place where a conversation can be divided without separating a call from its result", "pare split lists them"},
	{"window", kindTerm, "how many tokens a model takes, the reply included", ""},
	{"room", kindTerm, "the tokens that a window leaves for the request: the window without the reply", ""},
	{"marks", kindTerm, "message overhead: the tokens that a provider counts around every message, besides its content", ""},
	{"message overhead", kindTerm, "the tokens that a provider counts around every message, besides its content", "marks in JSON"},
	{"other fields", kindTerm, "what a request has besides its messages, system prompt and tools, in tokens", ""},
	{"head", kindTerm, "what a request has besides its messages: system prompt, tools, other fields", ""},
	{"stub", kindTerm, "a result that Pare puts where a call has none; it says that the result is missing and claims no outcome", "--orphan-call drop removes the call instead"},
	{"placeholder", kindTerm, "a short text where a result was cleared; it names the call, and with an archive where the whole is", ""},
	{"receipt", kindTerm, "one change as JSON: what was done, where, by which rule and why", "--receipt FILE writes them; pare serve names them in Pare-Receipt"},
	{"finding", kindTerm, "one place that breaks a rule", "pare check lists them"},
	{"refused", kindTerm, "the provider answers such a request with an error", ""},
	{"refused by some", kindTerm, "some vendors of this dialect answer such a request with an error, others take it", ""},
	{"degrades", kindTerm, "the provider takes it, but something is lost, such as its cache", ""},
	{"forgotten", kindTerm, "the agent goes on, but without a part of the conversation", ""},
	{"outlook", kindTerm, "what happens when a session is resumed: resumes, repairs, unknown, forgets, full or unusable", "pare doctor says it of every session"},
	{"resumes", kindTerm, "the agent goes on with the session as it was left", ""},
	{"repairs", kindTerm, "the agent itself puts right what is wrong with the session, and loses nothing", "pare doctor --all lists such sessions"},
	{"unknown", kindTerm, "the session is damaged in a way that was not recorded for this version of its agent", "pare doctor --fix repairs it"},
	{"forgets", kindTerm, "the session is resumed, but the agent no longer knows some of it", "pare doctor --fix brings it back, as far as the file holds it"},
	{"full", kindTerm, "the session is longer than the window of its model, and the provider refuses it", "pare trim or pare compact makes it fit; so does pare doctor --fix"},
	{"unusable", kindTerm, "the session cannot be resumed: the provider refuses it, or the agent does not open it", "pare doctor --fix repairs it, if that can be done"},
	{"unfixable", kindTerm, "no repair can bring it back: the session is resumed, and what is lost stays lost", ""},
	{"cosmetic", kindTerm, "it does no harm: the agent reads the file as if nothing were wrong", ""},
	{"healed", kindTerm, "a request that the provider refused was repaired by what its error says, and sent again", "Pare-Healed names the rule"},
	{"recall", kindTerm, "to print what was removed, by the handle in its placeholder", "pare recall HANDLE"},
	{"scope", kindTerm, "a namespace of sessions in a store; a token of one scope sees nothing of another", ""},
	{"Pare-Changes", kindTerm, "a header of replies: how many changes were made to the request", ""},
	{"Pare-Rules", kindTerm, "a header of replies: the rules that changed the request", ""},
	{"Pare-Receipt", kindTerm, "a header of replies: the id of the receipts, at /pare/v1/receipts/ID", ""},
	{"Pare-Saved-Tokens", kindTerm, "a header of replies: how many tokens were removed from the request", ""},
	{"Pare-Window", kindTerm, "a header of replies: how many tokens the request has, of which window, and how many more requests there is room for", ""},
	{"Pare-Healed", kindTerm, "a header of replies: the provider refused the request by this rule, and took it after a repair", ""},
	{"Pare-Faults", kindTerm, "a header of replies: what failed in Pare and was left out, such as a rule of your own", ""},
	{"Pare-Skipped", kindTerm, "a header of replies: why the request passed as it came", ""},
	{"Pare-Token", kindTerm, "a header of requests: the token of a client, where pare serve wants one", ""},
	{"everything", kindTerm, "in pare replay: the policy that sends the whole history each time", ""},
	{"sliding", kindTerm, "in pare replay: the policy that always sends as much of the end as fits", ""},
	{"vs. sending all", kindTerm, "in pare replay: the money of a policy as a share of that of sending everything", ""},
	{"did not fit", kindTerm, "in pare replay: requests that could not be made to fit, and were sent as they are", ""},
	{"cached", kindTerm, "in pare replay: the share of the tokens sent that the provider reads from its cache, at a tenth of the price with most", ""},
	{"changed", kindTerm, "in pare replay: requests that were sent otherwise than the agent had them", ""},
	{"rewrites", kindTerm, "in pare replay: requests that do not begin with what was sent before, so that the provider's cache is lost", ""},
	{"names unseen", kindTerm, "calls with a name that had been shown and is nowhere in what was sent, of all calls", "a column of pare replay"},
	{"missed", kindTerm, "the share of calls that edit blindly or name something that is out of sight", "a column of pare replay"},
	{"net", kindTerm, "money with what is missed read again, compared with sending everything", "a column of pare replay"},
	{"losing", kindTerm, "histories, or parts of a session, that cost more than with everything, net", "a column of pare replay"},
	{"blind edits", kindTerm, "in pare replay: edits of a file whose text was no longer in sight", ""},

	{"tool_pair_validated", kindEvent, "the pairs of calls and results were checked, and all are whole", ""},
	{"tool_pair_repaired", kindEvent, "some pairs of calls and results were not whole; they were repaired, and none of them was dropped", ""},
	{"tool_pair_pruned", kindEvent, "some pairs of calls and results were not whole, and some of that was dropped", ""},
	{"plan_made", kindEvent, "a plan changes something", ""},
	{"compaction_started", kindEvent, "a summary is about to be made", ""},
	{"compaction_completed", kindEvent, "a summary replaced older messages", ""},
	{"compaction_overflow_archived", kindEvent, "older messages were removed without a summary; the archive keeps them", ""},
	{"compaction_skipped", kindEvent, "the history was left as it is", ""},
	{"compaction_failed", kindEvent, "no summary was made, or it was refused", ""},
}

// wordNames returns all words once, sorted.
func wordNames() []string {
	set := map[string]bool{}
	for _, word := range listWords() {
		set[word.Word] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// damageRepairs maps kinds of damage to session files to the way they are repaired.
var damageRepairs = map[string]string{
	"joined-lines":     "a newline is added between the records",
	"no-final-newline": "a newline is added, if anything else is repaired",
	"truncated-line":   "a newline is added to the line, so that nothing is appended to it",
	"broken-line":      "it is left as it is: what it said cannot be known; delete the line, or restore it",
	"comment-line":     "it is left as it is",
	"foreign-line":     "it is left as it is",
	"duplicate-line":   "the copy goes",
	"duplicate-uuid":   "it is left as it is",
	"dangling-parent":  "the line now links to the previous one",
	"parent-loop":      "the line now links to the previous one",
	"second-root":      "it is left as it is",
	"unreadable":       "it is left as it is: go back to a copy of the file, or begin a new session",
	"skipped-message":  "it is left as it is",
	"torn-row":         "as with torn-file: what can be read of it stays, words of the user above all; the rows as they were are kept beside the database",
	"torn-file":        "what can be read of it stays, words of the user above all; else something of which nothing is sent takes its place; the original is kept beside the storage",
	"other-session":    "the line is removed",
	"stray-line":       "the line gets a type that the agent passes over; what it says stays in the file",
	"lost-snapshot":    "the messages are written again",
	"second-head":      "the head in the middle goes",
	"lost-head":        "a head is written, from what the other lines and the name of the file say",
	"byte-order-mark":  "the mark goes",
	"broken-encoding":  "a replacement character takes the place of the bytes; if the agent reads them so itself, only along with other repairs",
	"idless-line":      "it moves before the last line with an id",
	"late-line":        "the line that nothing links to moves after it",
	"lost-prompt":      "a line with the words is written, from the event that repeats them",
	"lost-kept-line":   "the compaction names the lines that are there",
}
