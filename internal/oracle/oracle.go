// Package oracle judges the pairs of a request body a second time, for tests: which calls
// are unanswered, which results answer nothing, which answer twice. It is written from
// the providers' documentation and recorded answers, decodes with encoding/json, and uses
// nothing of package wire, so that it can contradict it.
package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Kind is why a provider refuses a body.
type Kind string

const (
	// Unanswered means that a tool call has no result where the provider requires one.
	Unanswered Kind = "unanswered"
	// Orphan means that a result answers no call that it could answer at its place.
	Orphan Kind = "orphan"
	// Twice: a second result for one call.
	Twice Kind = "twice"
	// Reused: a second call with an id that must not be used again there.
	Reused Kind = "reused"
	// Misplaced means that a call or a result is in a message that must not contain it.
	Misplaced Kind = "misplaced"
	// Roles: messages in an order that the provider refuses for its pairs.
	Roles Kind = "roles"
)

// A Fault is one reason to refuse a body.
type Fault struct {
	Kind Kind
	Path string // as findings write paths
	ID   string
}

func (f Fault) String() string { return fmt.Sprintf("%s at %s (%s)", f.Kind, f.Path, f.ID) }

// Judge returns the faults of the pairs of a body, or of a bare list, in the order in which
// they are found. It returns an error if the body has no list. Bodies that continue a response
// or conversation that the provider stores may answer calls that they do not contain.
func Judge(dialect string, body []byte) ([]Fault, error) {
	judges := map[string]struct {
		list  string
		judge func(*judge)
	}{
		"anthropic": {"messages", (*judge).anthropic}, "openai-chat": {"messages", (*judge).chat}, "openai-responses": {"input", (*judge).responses},
		"gemini": {"contents", (*judge).gemini}, "bedrock": {"messages", (*judge).bedrock}, "gemini-interactions": {"input", (*judge).interactions},
	}
	j, ok := judges[dialect]
	if !ok {
		return nil, fmt.Errorf("no oracle for %s", dialect)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, err
	}
	c := &judge{name: j.list}
	switch v := value.(type) {
	case []any:
		c.list, c.body = v, object{}
	case map[string]any:
		c.body = v
		c.list, ok = v[j.list].([]any)
		if !ok {
			return nil, errors.New("there is no list of " + j.list)
		}
	default:
		return nil, errors.New("neither a body nor a list")
	}
	j.judge(c)
	return c.faults, nil
}

// object is a JSON object; a member that is not there, or is something else, is empty.
type object map[string]any

func (o object) text(key string) string { s, _ := o[key].(string); return s }
func (o object) list(key string) []any  { l, _ := o[key].([]any); return l }
func (o object) object(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}
func (o object) has(key string) bool { v, ok := o[key]; return ok && v != nil }

func asObject(v any) object { m, _ := v.(map[string]any); return m }

// A court collects faults.
type judge struct {
	name   string // of the list
	body   object
	list   []any
	faults []Fault
}

func (c *judge) fault(k Kind, id, format string, args ...any) {
	c.faults = append(c.faults, Fault{k, c.name + "." + fmt.Sprintf(format, args...), id})
}

// model returns the model that the body names, in lower case.
func (c *judge) model() string {
	m := c.body.text("model")
	if m == "" {
		m = c.body.text("modelId")
	}
	return strings.ToLower(m)
}

// A part is a block with its place.
type part struct {
	object
	path string
}

// A turn is a run of neighbors of one role, which the provider treats as one message.
type turn struct {
	role  string
	first int // the index of its first message
	parts []part
}

// turns joins neighbours of one role; blocks are in the member called content.
func (c *judge) turns(content string, merge bool) []turn {
	var all []turn
	for i, v := range c.list {
		m := asObject(v)
		t := turn{role: m.text("role"), first: i}
		for j, b := range m.list(content) {
			t.parts = append(t.parts, part{asObject(b), fmt.Sprintf("%d.%s.%d", i, content, j)})
		}
		if s, ok := m[content].(string); ok {
			t.parts = []part{{object{"type": "text", "text": s}, fmt.Sprintf("%d.%s", i, content)}}
		}
		if n := len(all) - 1; merge && n >= 0 && all[n].role == t.role {
			all[n].parts = append(all[n].parts, t.parts...)
			continue
		}
		all = append(all, t)
	}
	return all
}
