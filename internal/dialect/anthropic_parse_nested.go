package dialect

import (
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// nested is what a rule may want to know of a block's own content list.
type nested struct {
	items, texts, searches int
	marked                 int // item with a cache mark, counted from 1
	refs                   []nestedRef
	bare                   []int // web search results without encrypted content
	hollow                 []int // media without data
	empty                  int   // texts with nothing in them
	firstEmpty             int
	foreign                int // item of a type that results may not hold, from 1
	search                 int // first item that is no search result, from 1
	firstType              string
}

type nestedRef struct {
	path string
	name string
}

// readTool reads the tool of an addition or removal: its name, or its definition.
func (p *parser) readTool(f *blockFields) {
	for k := range p.object {
		switch string(k) {
		case "name":
			f.tool = p.value()
		case "definition":
			f.defines = true
			if name := p.member("name"); name.given() {
				f.tool = name
			}
		default:
			p.Skip()
		}
	}
}

func (p *parser) readCaller(f *blockFields) {
	for k := range p.object {
		switch string(k) {
		case "tool_id":
			f.caller = p.value()
		case "type":
			f.program = strings.HasPrefix(p.text(p.value()), "code_execution")
		default:
			p.Skip()
		}
	}
}

// readSource reads where the data of an image or a document is, and reports whether it should
// be here and is not, or whether there is no such thing.
func (p *parser) readSource() (hollow, null bool) {
	if p.Peek() != jsonspan.Object {
		return false, p.value().isNull()
	}
	here := false
	var data field
	for k := range p.members {
		switch string(k) {
		case "type":
			here = p.is(p.value(), "base64")
		case "data":
			data = p.value()
		default:
			p.Skip()
		}
	}
	return here && (data.absent() || data.empty()), false
}

// readCitations reports whether citations.enabled is true.
func (p *parser) readCitations() bool {
	return p.isTrue(p.member("enabled"))
}

// resultParts are the block types that a tool result may hold.
var resultParts = map[string]bool{"text": true, "image": true, "document": true, "search_result": true, "tool_reference": true, "browser_state": true}

// nestedContent reads the content of a block: of a tool result, of a server
// tool's result, of a document. It looks one level deep.
func (p *parser) nestedContent(n *nested) field {
	k := p.Peek()
	start := p.Offset()
	switch k {
	case jsonspan.Array:
		p.Enter()
		for i := 0; p.Element(); i++ {
			p.nestedItem(n, i)
		}
		return field{jsonspan.Array, p.since(start)}
	case jsonspan.Object:
		for k := range p.members {
			if string(k) != "tool_references" {
				p.Skip()
				continue
			}
			for i := range p.elements {
				if name := p.member("tool_name"); name.kind == jsonspan.String {
					n.refs = append(n.refs, nestedRef{"content.tool_references." + strconv.Itoa(i), p.text(name)})
				}
			}
		}
		return field{jsonspan.Object, p.since(start)}
	}
	return p.value()
}

func (p *parser) nestedItem(n *nested, i int) {
	n.items++
	if k := p.Peek(); k != jsonspan.Object {
		p.value()
		if n.foreign == 0 {
			n.foreign, n.firstType = i+1, k.String()
		}
		return
	}
	var typ, text, name, encrypted field
	p.Enter()
	for k, ok := p.key(); ok; k, ok = p.key() {
		switch string(k) {
		case "type":
			typ = p.value()
		case "text":
			text = p.value()
		case "tool_name":
			name = p.value()
		case "encrypted_content":
			encrypted = p.value()
		case "source":
			if hollow, _ := p.readSource(); hollow {
				n.hollow = append(n.hollow, i)
			}
		case "cache_control":
			if _, ok := p.cacheControl(); ok {
				n.marked = i + 1
			}
		default:
			p.Skip()
		}
	}
	t := p.symbol(typ)
	switch t {
	case "text":
		n.texts++
		if text.empty() {
			if n.empty++; n.empty == 1 {
				n.firstEmpty = i
			}
		}
	case "search_result":
		n.searches++
	case "tool_reference":
		n.refs = append(n.refs, nestedRef{"content." + strconv.Itoa(i), p.text(name)})
	case "web_search_result":
		if encrypted.absent() || encrypted.empty() {
			n.bare = append(n.bare, i)
		}
	}
	if t != "search_result" && n.search == 0 {
		n.search = i + 1
	}
	if !resultParts[t] && n.foreign == 0 {
		n.foreign, n.firstType = i+1, t
	}
}
