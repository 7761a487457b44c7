package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// parseMessage parses one message.
func parseMessage(session *Session, raw []byte) (*wire.Request, error) {
	return session.parse(slices.Concat([]byte{'['}, raw, []byte{']'}))
}

// readMessage parses a message that is to become an entry.
func (s *Session) readMessage(raw []byte) (*wire.Request, error) {
	return checkOneMessage(parseMessage(s, raw))
}

// checkOneMessage returns an error if the request is not one message.
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

// checkMessage returns an error if an element of a list is not a message of its dialect.
func checkMessage(r *wire.Request, i int) error {
	if why := dialect.NoMessage(r, i); why != "" {
		return notMessageError(r.Dialect, why)
	}
	return nil
}

// checkSendable returns an error if no repair can make the message valid, because no window could
// contain it.
func checkSendable(r *wire.Request) error {
	// Most messages need no repair.
	if !slices.ContainsFunc(r.Check(wire.CheckOptions{}), func(f wire.Finding) bool { return !slices.Contains(rulesOfLoneMessages, f.Rule) }) {
		return nil
	}
	repaired, err := dialect.RepairRequest(r, wire.Repair{}, wire.CheckOptions{})
	if err != nil {
		return err
	}
	bad := slices.Clone(repaired.Left)
	// A lone result is quoted as text because its call is missing, which hides its own problems.
	for _, f := range repaired.Found {
		isRepaired := func(c wire.Change) bool { return repairs(c, f) }
		if f.Rule == "duplicate-key" || f.Rule == "wrong-type" && !slices.ContainsFunc(repaired.Changes, isRepaired) {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	f := bad[len(bad)-1] // found problems have the paths of the original message
	return fmt.Errorf("no repair puts it right, so it could never be sent: %s at %s; correct the message and append it again", f.Rule, f.Path)
}

// rulesOfLoneMessages are the rules that a message breaks because it is alone. Each has a repair.
var rulesOfLoneMessages = []string{"orphan-call", "orphan-result", "first-role", "last-role", "tools-undefined"}

// repairs reports whether a change was made because of a finding.
func repairs(c wire.Change, f wire.Finding) bool {
	return c.Rule == f.Rule && (strings.HasPrefix(f.Path, c.Path) || strings.HasPrefix(c.Path, f.Path))
}

// notMessageError returns an error with an example of a valid message.
func notMessageError(d wire.Dialect, why string) error {
	of := "the dialect " + d.String()
	if d == wire.Auto {
		of, d = "any dialect", wire.OpenAIChat
	}
	return fmt.Errorf("it is no message of %s: %s; send an object such as %s, or give an entry that is never sent a kind of its own",
		of, why, dialect.TextMessage(d, transcript.User, "Hi"))
}
