package agentlog

import (
	"fmt"
	"maps"
	"slices"
)

// An Effect is the consequence of a finding for resuming the session.
type Effect uint8

const (
	// Refused means that the request is rejected, or the agent fails or forgets something, until
	// the fault is fixed.
	Refused Effect = iota
	// Cosmetic means that the session resumes as if the fault did not exist.
	Cosmetic
	// Unfixable means that the session resumes, but something in the file is permanently lost.
	Unfixable
)

// String returns the effect's name in JSON.
func (e Effect) String() string { return [...]string{"refused", "cosmetic", "unfixable"}[e] }

// MarshalText returns the effect's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText parses the effect's name.
func (e *Effect) UnmarshalText(text []byte) error {
	for _, x := range []Effect{Refused, Cosmetic, Unfixable} {
		if x.String() == string(text) {
			*e = x
			return nil
		}
	}
	return fmt.Errorf("unknown effect %q", text)
}

// Broken reports whether one of the findings keeps the session from being resumed properly.
// Commands then exit with status 1.
func Broken(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Effect == Refused })
}

// A damageRule is a rule about the bytes and the links of a file.
type damageRule struct {
	message    string
	effect     Effect
	adviceOnly bool   // reported only on request
	advice     string // for damage that cannot be fixed
}

var damageRules = map[string]damageRule{
	markRule:           {message: "a byte order mark comes before the first line; the agent may not read that line, or not open the file"},
	"joined-lines":     {message: "two records on one line; a newline is missing between them"},
	"truncated-line":   {message: "the last line is incomplete; the next append would be lost, too"},
	"dangling-parent":  {message: "the line it refers to is not in the file; the agent loses everything before it"},
	"parent-loop":      {message: "the links between lines go in a circle; the agent forgets what comes before it"},
	encodingRule:       {message: "bytes of this line are no text in UTF-8; the agent does not read the line"},
	"torn-file":        {message: "this file breaks off or is empty; the agent cannot open the session"},
	"torn-row":         {message: "this row of the database is not JSON; the agent cannot open the session"},
	headRule:           {message: "the line that a session begins with is not there; the agent does not open the file"},
	secondHeadRule:     {message: "a second head stands in the middle of the file; the agent loses everything before it"},
	"idless-line":      {message: "this line has no id and is the last; the agent goes on from it and forgets everything before it"},
	lateRule:           {message: "this line is the last, and earlier lines link to it; the agent goes on from it and forgets those"},
	"stray-line":       {message: "this line is from another session and newer than all others; the agent would go on from it and forget everything else"},
	otherSessionRule:   {message: "this line is from another session; the agent does not open the file with it"},
	"lost-snapshot":    {message: "the line that says again what was said before the session was resumed is not in the file; the agent forgets all of it"},
	"lost-kept-line":   {message: "a line that a compaction keeps is not in the file; the agent forgets all that it keeps"},
	promptRule:         {message: "the line with what the user said here is torn or lost; the agent forgets it, but an event has the words, too"},
	"duplicate-line":   {message: "this line is a copy of an earlier one", effect: Cosmetic},
	"no-final-newline": {message: "the last line lacks its newline; the agent reads it, and some programs would append to it", effect: Cosmetic, adviceOnly: true},
	"comment-line":     {message: "a comment is not JSON; the agent skips it, and it is left as it is", effect: Cosmetic, adviceOnly: true},
	"foreign-line":     {message: "this line is JSON but no object; the agent skips it, and it is left as it is", effect: Cosmetic, adviceOnly: true},
	"duplicate-uuid":   {message: "two lines carry one uuid; the agent keeps the last", effect: Cosmetic, adviceOnly: true},
	"second-root":      {message: "a new beginning; the agent no longer sends what comes before it", effect: Cosmetic, adviceOnly: true},
	"skipped-message":  {message: "this part is no message; the agent skips it, and it is left as it is", effect: Cosmetic, adviceOnly: true},
	"broken-line": {message: "this line is not JSON; the agent skips it, and it is left as it is", effect: Unfixable,
		advice: "nothing has to be done: the session goes on without it. What the line held is only in a copy of the file, if there is one"},
	"unreadable": {message: "this cannot be read as a session; it is left as it is", effect: Unfixable,
		advice: "go back to a copy of the file, or begin a new session"},
}

const otherSessionRule = "other-session"

// Damages returns the meaning of each rule about the bytes and links of files.
func Damages() map[string]string {
	all := make(map[string]string, len(damageRules))
	for _, rule := range slices.Sorted(maps.Keys(damageRules)) {
		all[rule] = damageRules[rule].message
	}
	return all
}

// newSessionAdvice is the advice for a fault without a known repair.
const newSessionAdvice = "go on in a new session, or go back to a copy of the file from before"
