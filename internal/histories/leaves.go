package histories

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

// A Leaf is a string that a person, the model or a tool wrote, sent or signed, and that must
// not get lost unnoticed. Its marker is unique in the body.
type Leaf struct {
	Marker string
	Path   string // of the string, as findings write paths
	// Kind is the type of the innermost block around it, and the way from there:
	// "document source.data".
	Kind string
}

// Mark writes a body anew with a marker of its own in every string leaf: texts, thinking,
// arguments, results, titles, media, signatures. Strings that have a meaning to the
// protocol (types, roles, ids, names of tools) have none. It returns an error if body is
// not JSON.
func Mark(body []byte) ([]byte, error) {
	root, err := jsontree.Parse(body)
	if err != nil {
		return nil, err
	}
	(&marker{}).root(root)
	return root.Write(nil, jsontree.Spelling{}, 0), nil
}

// Leaves returns the leaves of a body that [Mark] has marked.
func Leaves(body []byte) []Leaf {
	root, err := jsontree.Parse(body)
	if err != nil {
		return nil
	}
	m := &marker{collects: true}
	m.root(root)
	return m.leaves
}

func (m *marker) root(root *jsontree.Node) {
	base := ""
	if root.Kind == jsonspan.Array {
		base = "messages" // a bare list has the paths that it would have in a body
		if len(root.Items) > 0 && root.Items[0].Get("parts") != nil {
			base = "contents"
		} else if len(root.Items) > 0 && (root.Items[0].Get("type") != nil) {
			base = "input"
		}
	}
	m.value(root, base, "", nil)
}

type marker struct {
	leaves   []Leaf
	first    int    // how many markers there are besides
	collects bool   // collect the markers that are there
	kind     string // of the innermost block
}

// plainNames are the members whose strings the protocol reads, besides ids.
var plainNames = []string{
	"type", "role", "model", "modelId", "name", "tool_name", "server_name", "server_label", "status", "media_type", "mimeType", "mime_type", "resolution", "search_type", "retrieval_type", "thinking_level", "format", "detail", "phase", "ttl",
	"outcome", "language", "scheduling", "execution", "environment", "level", "qualifiers", "stop_reason", "thinkingLevel", "effort", "tool_choice", "include", "betas", "display", "behavior",
}

// isID reports whether a member holds an id by which things find each other.
func isID(key string) bool {
	switch key {
	case "file_id", "user_id":
		return false
	}
	return key == "id" || strings.HasSuffix(key, "_id") || key == "toolUseId" || key == "container" || key == "caller"
}

func (m *marker) value(n *jsontree.Node, path, key string, parent *jsontree.Node) {
	join := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	switch n.Kind {
	case jsonspan.Object:
		was := m.kind
		if k := kindOf(n, key); k != "" {
			m.kind = k
		}
		for i := range n.Keys {
			name := n.Key(i)
			if name == "input_schema" || name == "parameters" || name == "inputSchema" {
				continue
			}
			m.value(n.Items[i], join(name), name, n)
		}
		m.kind = was
	case jsonspan.Array:
		for i, item := range n.Items {
			m.value(item, join(strconv.Itoa(i)), key, parent)
		}
	case jsonspan.String:
		if !m.isLeaf(key, parent) {
			return
		}
		m.leaf(n, path, key)
	}
}

// isLeaf reports whether a string is a leaf.
func (m *marker) isLeaf(key string, parent *jsontree.Node) bool {
	if key == "name" && parent.Get("source") != nil { // the title of a document
		return true
	}
	return key != "" && !slices.Contains(plainNames, key) && !isID(key)
}

// kindOf is the type of a block, "" if n is none.
func kindOf(n *jsontree.Node, key string) string {
	if t := n.Get("type"); t != nil && t.Kind == jsonspan.String {
		return string(t.Raw[1 : len(t.Raw)-1])
	}
	if r := n.Get("role"); r != nil && r.Kind == jsonspan.String {
		return string(r.Raw[1:len(r.Raw)-1]) + " message"
	}
	for _, one := range []string{
		"toolUse", "toolResult", "reasoningContent", "image", "document", "video", "guardContent", "citationsContent", "searchResult", "cachePoint", "json",
		"functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
	} {
		if n.Get(one) != nil {
			return one
		}
	}
	return ""
}

func (m *marker) leaf(n *jsontree.Node, path, key string) {
	if m.collects {
		for found := range markers(string(n.Raw)) {
			m.leaves = append(m.leaves, Leaf{Marker: found, Path: path, Kind: m.kind + " " + key})
		}
		return
	}
	content := jsonspan.Decode(nil, n.Raw[1:len(n.Raw)-1])
	if tree := argumentTree(key, content); tree != nil {
		// JSON inside of a string: its leaves are the leaves.
		inner := &marker{kind: m.kind, first: m.count()}
		inner.value(tree, "", "", nil)
		for _, l := range inner.leaves {
			m.leaves = append(m.leaves, Leaf{Marker: l.Marker, Path: path, Kind: m.kind + " " + key})
		}
		n.Raw = jsonspan.AppendQuote(nil, string(tree.Write(nil, jsontree.Spelling{}, 0)))
		return
	}
	if (key == "thoughtSignature" || key == "signature") && strings.HasPrefix(string(content), "skip_") || len(content) == 0 {
		return // a word of the protocol; nothing
	}
	mark := m.nextMarker()
	m.leaves = append(m.leaves, Leaf{Marker: mark, Path: path, Kind: m.kind + " " + key})
	sep := " "
	if key == "data" || key == "bytes" || key == "file_data" || key == "result" || strings.HasPrefix(string(content), "data:") || !bytes.ContainsAny(content, " ") && len(content) > 40 || key == "url" || key == "file_id" || strings.HasPrefix(key, "encrypted") {
		// Eight letters and digits are valid base64 anywhere before the padding.
		body := strings.TrimRight(string(content), "=")
		cut := len(body) &^ 3
		n.Raw = jsonspan.AppendQuote(nil, string(content[:cut])+mark+string(content[cut:]))
		return
	}
	n.Raw = append(append(slices.Clone(n.Raw[:len(n.Raw)-1]), sep+mark...), '"')
}

// argumentTree reads arguments that are written as a string, nil if content is something
// else.
func argumentTree(key string, content []byte) *jsontree.Node {
	if key != "arguments" {
		return nil
	}
	tree, err := jsontree.Parse(content)
	if err != nil || tree.Kind != jsonspan.Object {
		return nil
	}
	return tree
}

// nextMarker returns a marker of eight letters and digits. No encoding changes them.
func (m *marker) nextMarker() string { return fmt.Sprintf("mk%06d", m.count()) }

func (m *marker) count() int { return m.first + len(m.leaves) }

// A Loss is a leaf that is missing in the output although no change names it.
type Loss struct {
	Leaf
	// By is the change at the leaf's place, such as "edit orphan-result", or "".
	By string
}

// Lost returns the leaves that are not in the output and that no change covers. A change that
// drops or archives covers everything below its path. All other changes cover nothing, because
// the strings that they edit, move, merge or rename must be in the output.
func Lost(leaves []Leaf, out []byte, changes []wire.Change) []Loss {
	there := markersIn(out)
	var all []Loss
	for _, l := range leaves {
		if there[l.Marker] {
			continue
		}
		covered, by := false, ""
		for _, c := range changes {
			if !covers(c.Path, l.Path) {
				continue
			}
			by = string(c.Action) + " " + c.Rule
			if c.Action == wire.ActionDrop || c.Action == wire.ActionArchive {
				covered = true
				break
			}
		}
		if !covered {
			all = append(all, Loss{l, by})
		}
	}
	return all
}

// markers are those that [Mark] has put into a text.
func markers(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			i := strings.Index(s, "mk")
			if i < 0 || len(s) < i+8 {
				return
			}
			n := 2
			for n < 8 && '0' <= s[i+n] && s[i+n] <= '9' {
				n++
			}
			if n == 8 && !yield(s[i:i+n]) {
				return
			}
			s = s[i+n:]
		}
	}
}

// markersIn finds all markers of a body.
func markersIn(body []byte) map[string]bool {
	all := map[string]bool{}
	for m := range markers(string(body)) {
		all[m] = true
	}
	return all
}

// covers reports whether path is that of something around, or the same as, the leaf's.
func covers(path, leaf string) bool {
	return path != "" && (leaf == path || strings.HasPrefix(leaf, path+"."))
}

// Unresolved returns the changes whose path is not in the input although they are about
// something that was.
func Unresolved(in []byte, changes []wire.Change) []wire.Change {
	root, err := jsontree.Parse(in)
	if err != nil {
		return changes
	}
	if root.Kind == jsonspan.Array {
		root = jsontree.Object("messages", root, "input", root, "contents", root)
	}
	var all []wire.Change
	for _, c := range changes {
		if c.Action != wire.ActionInsert && (c.Path == "" || root.At(c.Path) == nil) || c.Path != "" && root.At(c.Path) == nil {
			all = append(all, c)
		}
	}
	return all
}
