package dialect

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/pare-llm/pare/transcript"
)

// TestBlockTypesCoverUnions: the table of block types has a row for every type that the official libraries
// know, and the parser gives a block the kind of its row. Package tools/unions makes the list.
func TestBlockTypesCoverUnions(t *testing.T) {
	data, err := os.ReadFile("testdata/unions.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Modules map[string]string
		Unions  []struct {
			Dialect, Place, From string
			Types                []string
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, u := range list.Unions {
		d, err := ParseDialect(u.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, typ := range u.Types {
			if seen++; u.Place == "request" {
				continue // TestRequestMembersHaveClass
			}
			row := findType(grammars[d].types, typ)
			if row.name == "" {
				t.Errorf("%s: the table of block types has no row for %q (%s of %s)", d, typ, u.Place, u.From)
				continue
			}
			if u.Place == "result" || u.Place == "system" { // such parts are no blocks of messages
				continue
			}
			if got := kindOf(t, d, u.Place, typ); got != row.kind {
				t.Errorf("%s: %q is parsed as %s, and its row has %s", d, typ, got, row.kind)
			}
		}
	}
	if seen < 100 || len(list.Modules) != 5 {
		t.Errorf("only %d types of %d libraries", seen, len(list.Modules))
	}
	t.Logf("%d types of %v", seen, list.Modules)
}

// bodies have a place for a block in each dialect; %s is the type.
var bodies = map[Dialect]map[string]string{
	Anthropic: {"block": `{"messages":[{"role":"assistant","content":[{"type":%s,"content":"x"}]}]}`},
	OpenAIChat: {
		"block": `{"messages":[{"role":"assistant","content":[{"type":%s}]}]}`,
		"call":  `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":%s}]}]}`,
	},
	OpenAIResponses: {
		"item":  `{"input":[{"type":%s,"execution":"client","encrypted_content":"x"}]}`,
		"block": `{"input":[{"role":"user","content":[{"type":%s}]}]}`,
	},
	Gemini:             {"block": `{"contents":[{"parts":[{%s:{}}]}]}`},
	Bedrock:            {"block": `{"messages":[{"role":"user","content":[{%s:{}}]}]}`},
	GeminiInteractions: {"item": `{"input":[{"type":%s}]}`, "block": `{"input":[{"type":"user_input","content":[{"type":%s}]}]}`},
}

// kindOf returns the kind of the block that a body with one block of a type has; Other if it has none.
func kindOf(t *testing.T, d Dialect, place, typ string) transcript.Kind {
	t.Helper()
	body := bodies[d][place]
	if body == "" {
		t.Fatalf("%s: no body for %s", d, place)
	}
	r, err := Parse(fmt.Appendf(nil, body, quote(typ)), Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	if blocks := r.t.Blocks(); len(blocks) > 0 {
		return blocks[0].Kind
	}
	return transcript.Other
}
