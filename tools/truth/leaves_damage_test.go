package truth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A damager does to conversations the damage that programs do to them.
type damager struct{ mutator }

// nameKeys are the members in which some form has the name of a tool.
var nameKeys = []string{"name", "toolName", "tool_name", "tool"}

// resultKeys are the members in which some form has the output of a tool.
var resultKeys = []string{"content", "output", "result", "response", "value"}

// damage damages the document once; it may find nothing to do.
func (m *damager) damage() {
	ways := []func(){
		m.deleteElement, m.deleteElement, m.swapElements, m.repeatElement, m.repeatElement,
		m.renameTool, m.renameTool, m.changeID, m.changeID, m.emptyOutput, m.addMember, m.addBlock, m.addMedia,
	}
	ways[m.IntN(len(ways))]()
}

// renameTool gives a call or a result the name of another tool.
func (m *damager) renameTool() {
	o := m.pick(func(n *node) bool { return n.kind == 'o' && nameIn(n) >= 0 })
	if o != nil {
		o.vals[nameIn(o)] = str([]string{"read", "list_orders", "get_consent"}[m.IntN(3)])
	}
}

func nameIn(n *node) int {
	return slices.IndexFunc(n.keys, func(key string) bool { return slices.Contains(nameKeys, key) && n.get(key).kind == 's' })
}

// changeID gives a call or a result another id, that of another pair, or none.
func (m *damager) changeID() {
	isID := func(n *node) bool { return n.kind == 's' && strings.HasPrefix(n.text, "^") }
	id, other := m.pick(isID), m.pick(isID)
	if id == nil {
		return
	}
	switch m.IntN(4) {
	case 0:
		id.text = other.text
	case 1:
		id.text = ""
	default:
		id.text = fmt.Sprintf("^%s-%d", strings.TrimPrefix(id.text, "^"), m.IntN(100))
	}
}

// emptyOutput takes the words out of a result, and leaves all else.
func (m *damager) emptyOutput() {
	o := m.pick(func(n *node) bool {
		return n.kind == 'o' && slices.ContainsFunc(n.keys, func(key string) bool { return slices.Contains(resultKeys, key) })
	})
	if o == nil {
		return
	}
	for i, key := range o.keys {
		if slices.Contains(resultKeys, key) {
			o.vals[i] = str("")
		}
	}
}

// addMember adds members that no documentation has.
func (m *damager) addMember() {
	if o := m.object(); o != nil {
		v := []string{`"more ~ words"`, `"~"`, `{"a":{"b":"deep ~ words"}}`, `["in ~ a list"]`, `"#"`}
		o.put(m.IntN(len(o.vals)+1), []string{"zork", "details", "metadata", "payload"}[m.IntN(4)], mustTree(v[m.IntN(len(v))]))
	}
}

// addBlock adds a block of an unknown type next to others.
func (m *damager) addBlock() {
	m.addNext(`{"type":"zork_block","zork":"words ~ of it"}`, `{"zork":{"text":"words ~ of it"}}`)
}

// addMedia adds a picture next to other blocks.
func (m *damager) addMedia() {
	m.addNext(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO~"}}`, `{"type":"image","data":"iVBO~","mimeType":"image/png"}`, `{"inlineData":{"mimeType":"image/png","data":"iVBO~"}}`)
}

func (m *damager) addNext(blocks ...string) {
	a := m.pick(func(n *node) bool { return n.kind == 'a' && len(n.vals) > 0 && n.vals[0].kind == 'o' })
	if a != nil {
		a.put(m.IntN(len(a.vals)+1), "", mustTree(blocks[m.IntN(len(blocks))]))
	}
}

// numbers begin the numbers that are nowhere else.
const numbers = 77_000_000

// fill replaces the placeholders of a tree by markers, ids and numbers.
func fill(root *node, rnd *rand.Rand) {
	n := 0
	ids := map[string]string{}
	fresh := func() string { n++; return fmt.Sprintf("%s%04d", marker, n) }
	root.walk(func(x *node) {
		if x.kind != 's' {
			return
		}
		switch {
		case x.text == "#":
			n++
			*x = *literal(fmt.Sprint(numbers + n))
		case strings.HasPrefix(x.text, "^"):
			if ids[x.text] == "" {
				ids[x.text] = idHead(x.text[1:]) + fresh()
			}
			x.text = ids[x.text]
		case x.text == "LONG":
			x.text = strings.ReplaceAll(longOutput[:len(longOutput)/(1+rnd.IntN(20))], "~", fresh())
		default:
			for strings.Contains(x.text, "~") {
				x.text = strings.Replace(x.text, "~", fresh(), 1)
			}
		}
	})
}
