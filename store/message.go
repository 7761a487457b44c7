package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// parseMessage reads one message as a list of its own.
func parseMessage(session *Session, raw []byte) (*wire.Request, error) {
	return session.parse(slices.Concat([]byte{'['}, raw, []byte{']'}))
}

// readMessage is parseMessage for what is to become an entry.
func (s *Session) readMessage(raw []byte) (*wire.Request, error) {
	return checkOneMessage(parseMessage(s, raw))
}

// oneMessage is an error if what was read is not one message.
func checkOneMessage(r *wire.Request, err error) (*wire.Request, error) {
	switch {
	case errors.Is(err, wire.ErrNotRequest):
		return nil, notMessageError(wire.Auto, "it has neither a role nor a type")
	case err != nil:
		return nil, err
	case len(r.Transcript().Messages()) != 1:
		return nil, errors.New("an entry holds one message")
	}
	return r, nil
}

// isMessage is an error if an element of a list is no message of its dialect. What is wrong
// with a message is repaired in a window.
func checkMessage(r *wire.Request, i int) error {
	if why := wirex.NoMessage(r, i); why != "" {
		return notMessageError(r.Dialect, why)
	}
	return nil
}

// sendable is an error if something is wrong with a message that no repair puts right: no window
// could ever be made with it.
func checkSendable(r *wire.Request) error {
	if !slices.ContainsFunc(r.Check(wire.CheckOptions{}), func(f wire.Finding) bool { return !slices.Contains(rulesOfLoneMessages, f.Rule) }) {
		return nil // most messages, without the time that a repair takes
	}
	repaired, err := wirex.Repair(r, wire.Repair{}, wire.CheckOptions{})
	if err != nil {
		return err
	}
	bad := slices.Clone(repaired.Left)
	// A message that is alone here has no neighbours: a result, say, is quoted for want of its call,
	// and with it what is wrong inside of it. Beside its call it would not be.
	for _, f := range repaired.Found {
		isRepaired := func(c wire.Change) bool { return repairs(c, f) }
		if f.Rule == "duplicate-key" || f.Rule == "wrong-type" && !slices.ContainsFunc(repaired.Changes, isRepaired) {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	f := bad[len(bad)-1] // those that were found have the paths of the message as it came
	return fmt.Errorf("no repair puts it right, so it could never be sent: %s at %s; correct the message and append it again", f.Rule, f.Path)
}

// forWantOfOthers are the rules that a message breaks because it is alone; each has a repair.
var rulesOfLoneMessages = []string{"orphan-call", "orphan-result", "first-role", "last-role", "tools-undefined"}

// repairs reports whether a change was made because of a finding.
func repairs(c wire.Change, f wire.Finding) bool {
	return c.Rule == f.Rule && (strings.HasPrefix(f.Path, c.Path) || strings.HasPrefix(c.Path, f.Path))
}

// noMessage says what to send instead.
func notMessageError(d wire.Dialect, why string) error {
	of := "the dialect " + d.String()
	if d == wire.Auto {
		of, d = "any dialect", wire.OpenAIChat
	}
	return fmt.Errorf("it is no message of %s: %s; send an object such as %s, or give an entry that is never sent a kind of its own",
		of, why, wirex.TextMessage(d, transcript.User, "Hi"))
}
