package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// dialect returns the dialect of the session. A session with nothing but plain text has the usual
// dialect of its model, or wire.Auto.
func (s *Session) dialect() (wire.Dialect, error) {
	switch {
	case s.Dialect != "":
		return wire.ParseDialect(s.Dialect)
	case strings.HasPrefix(strings.ToLower(s.Model), "claude"):
		return wire.Anthropic, nil
	}
	return wire.Auto, nil
}

// parse parses a body of the session.
func (s *Session) parse(body []byte) (*wire.Request, error) {
	d, err := s.dialect()
	if err != nil {
		return nil, err
	}
	return wire.Parse(body, wire.Options{Dialect: d, Model: s.Model})
}

// body returns the base with the messages and the settings of the session. A nil base means the
// session's own.
func (s *Session) body(base []byte, messages [][]byte) ([]byte, error) {
	if s.Dialect == "" && len(messages) == 0 {
		return nil, fmt.Errorf("%w: the session is empty; append a message first", ErrUsage)
	}
	d, err := s.dialect()
	if err != nil {
		return nil, err
	}
	if d == wire.Auto {
		d = wire.OpenAIChat // the most common one
	}
	if base == nil {
		base = s.Base
	}
	if base, err = s.withModel(d, base); err != nil {
		return nil, fmt.Errorf("%w: base of the session: %w", ErrUsage, err)
	}
	list := jsonedit.List(messages...)
	if base, err = setMember(base, d.List(), list); err != nil {
		return nil, fmt.Errorf("%w: base of the session: %w", ErrUsage, err)
	}
	if len(s.Settings) > 0 {
		if base, err = merge(base, s.Settings); err != nil {
			return nil, fmt.Errorf("settings of the session: %w", err)
		}
		if _, ok := jsonedit.Find(s.Settings, d.List()); ok {
			return setMember(base, d.List(), list) // settings never replace the messages
		}
	}
	return base, nil
}

// withModel returns the base with the model of the session, unless the base or the URL names a
// model.
func (s *Session) withModel(d wire.Dialect, base []byte) ([]byte, error) {
	name := jsonedit.Quote(s.Model)
	switch base = bytes.TrimSpace(base); {
	case s.Model == "" || dialect.ModelInURL(d):
		if len(base) == 0 {
			base = []byte(`{}`)
		}
		return base, nil
	case len(base) == 0:
		return slices.Concat([]byte(`{"model":`), name, []byte{'}'}), nil
	case jsonspan.Valid(base) == nil && base[0] == '{':
		_, named := jsonedit.Find(base, "model")
		_, vertex := jsonedit.Find(base, "anthropic_version")
		if named || vertex {
			return base, nil
		}
	}
	return setMember(base, "model", name)
}

// defaultReplyTokens limits a reply in addition to its thinking budget, if no limit is set. The
// official libraries wait for as many without streaming. Known models may have a lower maximum,
// unknown ones get minReplyTokens.
const defaultReplyTokens, minReplyTokens = 16_000, 4096

// withOutputLimit adds the maximum length of the reply where the provider requires it and the body
// lacks it.
func (s *Session) withOutputLimit(body []byte) ([]byte, error) {
	d, err := s.dialect()
	if err != nil {
		return body, err
	}
	member := dialect.Required(d)
	if member == "" || jsonedit.Get(body, member) != nil {
		return body, nil
	}
	most := minReplyTokens
	if m, _ := tokens.Lookup(s.Model); m.Prefix != "" {
		most = min(defaultReplyTokens+jsonedit.NumberAt(body, "thinking", "budget_tokens"), m.Output)
	}
	return jsonedit.Set(body, member, strconv.AppendInt(nil, int64(most), 10)), nil
}

// setMember sets a member of an object, in place or at the end.
func setMember(object []byte, name string, value []byte) ([]byte, error) {
	if err := jsonspan.Valid(object); err != nil {
		return nil, err
	}
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' {
		return nil, errors.New("it is no JSON object")
	}
	return jsonedit.Set(object, name, value), nil
}

// merge sets the members of from in into. Objects are merged, other values replaced.
func merge(into, from []byte) ([]byte, error) {
	from = bytes.TrimSpace(from)
	for name, value := range jsonedit.All(from) {
		if old := jsonedit.Get(into, name); len(old) > 0 && value[0] == '{' && old[0] == '{' {
			inner, err := merge(old, value)
			if err != nil {
				return nil, err
			}
			value = inner
		}
		next, err := setMember(into, name, value)
		if err != nil {
			return nil, err
		}
		into = next
	}
	return into, nil
}
