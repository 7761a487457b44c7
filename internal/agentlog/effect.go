package agentlog

import (
	"fmt"
	"maps"
	"slices"
)

// An Effect is what a finding means to somebody who wants to resume the session.
type Effect uint8

const (
	// Refused: what is sent is refused, or the agent fails or forgets something, until it
	// is fixed.
	Refused Effect = iota
	// Cosmetic: the session is resumed as if it were not there.
	Cosmetic
	// Unfixable: the session is resumed, and something in the file is lost for good.
	Unfixable
)

// String is the effect's name in JSON.
func (e Effect) String() string { return [...]string{"refused", "cosmetic", "unfixable"}[e] }

// MarshalText writes the effect's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads the effect's name.
func (e *Effect) UnmarshalText(text []byte) error {
	for _, x := range []Effect{Refused, Cosmetic, Unfixable} {
		if x.String() == string(text) {
			*e = x
			return nil
		}
	}
	return fmt.Errorf("unknown effect %q", text)
}

// Broken reports whether one of some findings keeps the session from being resumed as it
// should be. That is what a status of 1 says.
func Broken(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Effect == Refused })
}

// A damage is a rule about the bytes and the links of a file.
type damage struct {
	means   string
	effect  Effect
	quiet   bool   // it is told only to those who ask for advice
	instead string // what to do about what cannot be fixed
}

var damages = map[string]damage{
	markRule:           {means: "a byte order mark comes before the first line; the agent may not read that line, or not open the file"},
	"joined-lines":     {means: "two records on one line; a newline is missing between them"},
	"truncated-line":   {means: "the last line is incomplete; the next append would be lost, too"},
	"dangling-parent":  {means: "the line it refers to is not in the file; the agent loses everything before it"},
	"parent-loop":      {means: "the links between lines go in a circle; the agent forgets what comes before it"},
	encodingRule:       {means: "bytes of this line are no text in UTF-8; the agent does not read the line"},
	"torn-file":        {means: "this file breaks off or is empty; the agent cannot open the session"},
	"torn-row":         {means: "this row of the database is not JSON; the agent cannot open the session"},
	headRule:           {means: "the line that a session begins with is not there; the agent does not open the file"},
	secondHeadRule:     {means: "a second head stands in the middle of the file; the agent loses everything before it"},
	"idless-line":      {means: "this line has no id and is the last; the agent goes on from it and forgets everything before it"},
	lateRule:           {means: "this line is the last, and earlier lines link to it; the agent goes on from it and forgets those"},
	"stray-line":       {means: "this line is from another session and newer than all others; the agent would go on from it and forget everything else"},
	otherSessionRule:   {means: "this line is from another session; the agent does not open the file with it"},
	"lost-snapshot":    {means: "the line that says again what was said before the session was resumed is not in the file; the agent forgets all of it"},
	"lost-kept-line":   {means: "a line that a compaction keeps is not in the file; the agent forgets all that it keeps"},
	promptRule:         {means: "the line with what the user said here is torn or lost; the agent forgets it, but an event has the words, too"},
	"duplicate-line":   {means: "this line is a copy of an earlier one", effect: Cosmetic},
	"no-final-newline": {means: "the last line lacks its newline; the agent reads it, and some programs would append to it", effect: Cosmetic, quiet: true},
	"comment-line":     {means: "a comment is not JSON; the agent skips it, and it is left as it is", effect: Cosmetic, quiet: true},
	"foreign-line":     {means: "this line is JSON but no object; the agent skips it, and it is left as it is", effect: Cosmetic, quiet: true},
	"duplicate-uuid":   {means: "two lines carry one uuid; the agent keeps the last", effect: Cosmetic, quiet: true},
	"second-root":      {means: "a new beginning; the agent no longer sends what comes before it", effect: Cosmetic, quiet: true},
	"skipped-message":  {means: "this part is no message; the agent skips it, and it is left as it is", effect: Cosmetic, quiet: true},
	"broken-line": {means: "this line is not JSON; the agent skips it, and it is left as it is", effect: Unfixable,
		instead: "nothing has to be done: the session goes on without it. What the line held is only in a copy of the file, if there is one"},
	"unreadable": {means: "this cannot be read as a session; it is left as it is", effect: Unfixable,
		instead: "go back to a copy of the file, or begin a new session"},
}

const otherSessionRule = "other-session"

// Damages returns the rules about the bytes and links of files, and what each means.
func Damages() map[string]string {
	all := make(map[string]string, len(damages))
	for _, rule := range slices.Sorted(maps.Keys(damages)) {
		all[rule] = damages[rule].means
	}
	return all
}

// newSession is what to do about a fault that no repair is known for.
const newSession = "go on in a new session, or go back to a copy of the file from before"
