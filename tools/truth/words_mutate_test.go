package truth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// names are names of members; a mutation renames another member to one of them.
var names = []string{
	"content", "text", "parts", "contents", "blocks", "items", "input", "output", "message", "messages", "value", "body", "data",
	"role", "type", "id", "name", "tool_calls", "toolCalls", "tool_call", "tool_call_id", "call_id", "arguments", "args", "result", "refusal",
	"audio", "transcript", "reasoning", "reasoning_content", "thinking", "thought", "signature", "summary", "metadata", "function_call",
	"functionCall", "functionResponse", "toolUse", "toolResult", "tool_use_id", "toolUseId", "source", "image", "file", "system", "instructions",
	"annotations", "citations", "status", "error", "is_error", "cache_control", "zork", "note", "speech", "Text", "Content", "",
}

var roles = []string{"user", "assistant", "model", "tool", "system", "developer", "human", "ai", "function", "toolResult", "agent", "zork", "", "User"}

var types = []string{
	"text", "input_text", "output_text", "tool_use", "tool_result", "function_call", "function_call_output", "message", "image", "image_url",
	"thinking", "reasoning", "refusal", "toolCall", "tool-call", "tool-result", "user_input", "model_output", "thought", "file", "document",
	"server_tool_use", "web_search_tool_result", "mcp_tool_use", "compaction", "summary", "human", "zork", "",
}

// A mutator changes trees at random.
type mutator struct {
	*rand.Rand
	root   *node
	others []*shape
	gentle bool // only damage of real incidents: order, pairs, roles
}

// mutate makes one random change; it may find nothing to do.
func (m *mutator) mutate() {
	ways := []func(){
		m.rename, m.rename, m.moveText, m.moveText, m.dropMember, m.dropMember, m.wrap, m.unwrap, m.swapRole, m.swapType, m.repeatKey,
		m.addEmpty, m.addEmpty, m.wrongType, m.splice, m.splice, m.deleteElement, m.deleteElement, m.swapElements, m.repeatElement, m.addText, m.wordsInKey,
	}
	if m.gentle {
		ways = []func(){m.deleteElement, m.deleteElement, m.swapElements, m.repeatElement, m.addEmpty, m.swapRole}
	}
	ways[m.IntN(len(ways))]()
}

// pick chooses a node that will do, nil if there is none.
func (m *mutator) pick(will func(n *node) bool) *node {
	var chosen *node
	n := 0
	m.root.walk(func(x *node) {
		if will(x) {
			if n++; m.IntN(n) == 0 {
				chosen = x
			}
		}
	})
	return chosen
}

func (m *mutator) object() *node {
	return m.pick(func(n *node) bool { return n.kind == 'o' && len(n.vals) > 0 })
}
func (m *mutator) array() *node {
	return m.pick(func(n *node) bool { return n.kind == 'a' && len(n.vals) > 0 })
}

func (m *mutator) name() string { return names[m.IntN(len(names))] }

// rename calls a member something else.
func (m *mutator) rename() {
	if o := m.object(); o != nil {
		o.keys[m.IntN(len(o.keys))] = m.name()
	}
}

// moveText moves prose from its member to another one, of this object or of a new one.
func (m *mutator) moveText() {
	o := m.pick(func(n *node) bool { return n.kind == 'o' && slices.ContainsFunc(n.vals, prose) })
	if o == nil {
		return
	}
	i := slices.IndexFunc(o.vals, prose)
	v := o.vals[i]
	switch m.IntN(3) {
	case 0:
		o.keys[i] = m.name()
	case 1:
		o.vals[i] = str("")
		o.put(m.IntN(len(o.vals)+1), m.name(), v)
	default:
		o.vals[i] = member(m.name(), v)
	}
}

func prose(n *node) bool { return n.kind == 's' && strings.HasPrefix(n.text, "~") }

func (m *mutator) dropMember() {
	if o := m.object(); o != nil {
		o.remove(m.IntN(len(o.vals)))
	}
}

// wrap wraps a value in another one.
func (m *mutator) wrap() {
	n := m.pick(func(n *node) bool { return n != m.root })
	if n == nil {
		return
	}
	inner := *n
	switch m.IntN(4) {
	case 0:
		*n = *member(m.name(), &inner)
	case 1:
		*n = *list(&inner)
	case 2:
		*n = *member("type", str("text"))
		n.put(1, "text", &inner)
	default:
		*n = *list(member("text", &inner))
	}
}

// unwrap replaces a parent by its only child.
func (m *mutator) unwrap() {
	n := m.pick(func(n *node) bool { return n != m.root && len(n.vals) == 1 })
	if n != nil {
		*n = *n.vals[0]
	}
}

func (m *mutator) swapRole() {
	n := m.pick(func(n *node) bool { return n.kind == 's' && slices.Contains(roles, n.text) && n.text != "" })
	if n != nil {
		n.text = roles[m.IntN(len(roles))]
	}
}

func (m *mutator) swapType() {
	o := m.pick(func(n *node) bool { return n.kind == 'o' && slices.Contains(n.keys, "type") })
	if o != nil {
		o.vals[slices.Index(o.keys, "type")] = str(types[m.IntN(len(types))])
	}
}

// repeatKey writes a member twice, with other words in it.
func (m *mutator) repeatKey() {
	if o := m.object(); o != nil {
		i := m.IntN(len(o.vals))
		v := o.vals[i].copy()
		if m.IntN(2) == 0 {
			v = str("~said twice")
		}
		o.put(m.IntN(len(o.vals)+1), o.keys[i], v)
	}
}

// addEmpty inserts an empty element into a list.
func (m *mutator) addEmpty() {
	if a := m.array(); a != nil {
		nothing := []string{`{}`, `null`, `""`, `[]`, `{"type":"text"}`, `{"role":"user"}`, `{"role":"assistant","content":[]}`, `{"role":"user","content":""}`, `{"text":""}`, `0`}
		a.put(m.IntN(len(a.vals)+1), "", mustTree(nothing[m.IntN(len(nothing))]))
	}
}

func (m *mutator) wrongType() {
	n := m.pick(func(n *node) bool { return n != m.root })
	if n == nil {
		return
	}
	wrong := []string{`null`, `7`, `true`, `[]`, `{}`, `"~a text instead"`, `["~a list instead"]`, `{"zork":"~an object instead"}`}
	*n = *mustTree(wrong[m.IntN(len(wrong))])
}

// splice inserts a part of another shape.
func (m *mutator) splice() {
	other := m.others[m.IntN(len(m.others))]
	from := other.make(m.Rand, 3)
	inner := &mutator{Rand: m.Rand, root: from}
	part := inner.pick(func(n *node) bool { return n.kind == 'o' })
	if part == nil {
		return
	}
	if n := m.pick(func(n *node) bool { return n.kind == 'o' }); n != nil && m.IntN(3) == 0 {
		n.put(m.IntN(len(n.vals)+1), m.name(), part)
		return
	}
	if a := m.array(); a != nil {
		a.put(m.IntN(len(a.vals)+1), "", part)
	}
}

func (m *mutator) deleteElement() {
	if a := m.array(); a != nil {
		a.remove(m.IntN(len(a.vals)))
	}
}

func (m *mutator) swapElements() {
	if a := m.array(); a != nil {
		i, j := m.IntN(len(a.vals)), m.IntN(len(a.vals))
		a.vals[i], a.vals[j] = a.vals[j], a.vals[i]
	}
}

func (m *mutator) repeatElement() {
	if a := m.array(); a != nil {
		v := a.vals[m.IntN(len(a.vals))].copy()
		a.put(m.IntN(len(a.vals)+1), "", v)
	}
}

// addText adds words in an unknown member, or in a member of another shape.
func (m *mutator) addText() {
	if o := m.object(); o != nil {
		o.put(m.IntN(len(o.vals)+1), m.name(), str("~words beside it"))
	}
}

// wordsInKey uses words as a key.
func (m *mutator) wordsInKey() {
	if o := m.object(); o != nil {
		o.put(m.IntN(len(o.vals)+1), "~a key of words", str("~and its value"))
	}
}

// marker is the prefix of all markers; digits follow.
const marker = "qv7k3x"

// mark adds markers to the prose and the ids of a tree.
func mark(root *node, rnd *rand.Rand) {
	n := 0
	ids := map[string]string{}
	fresh := func() string { n++; return fmt.Sprintf("%s%04d", marker, n) }
	one := func(s string) string {
		switch {
		case strings.HasPrefix(s, "~"):
			m := fresh()
			if rnd.IntN(8) == 0 {
				i := rnd.IntN(len(m))
				m = m[:i] + "\x00" + m[i:] // written as an escape
			}
			return s[1:] + " " + m + " here"
		case strings.HasPrefix(s, "^"):
			if ids[s] == "" {
				ids[s] = idHead(s[1:]) + fresh()
			}
			return ids[s]
		}
		return s
	}
	root.walk(func(x *node) {
		if x.kind == 's' {
			x.text = one(x.text)
		}
		for i, k := range x.keys {
			x.keys[i] = one(k)
		}
	})
}

// idHead returns the prefix of an id: the name in the template, or id_.
func idHead(name string) string {
	if i := strings.IndexByte(name, '_'); i >= 0 {
		return name[:i+1]
	}
	return "id_"
}
