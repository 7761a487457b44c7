package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/transcript"
)

// TestDefectP5Unions: every type of block that the official libraries know is known here, or
// carried through on purpose. The list is made by package tools/unions.
func TestDefectP5Unions(t *testing.T) {
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
			if !knows(t, d, u.Place, typ) {
				t.Errorf("%s: wire does not know %q (%s of %s): give it a kind, or list it as carried in foreign.go", d, typ, u.Place, u.From)
			}
		}
	}
	if seen < 100 || len(list.Modules) != 5 {
		t.Errorf("only %d types of %d libraries", seen, len(list.Modules))
	}
	t.Logf("%d types of %v", seen, list.Modules)
}

// bodies has a place for a block in each dialect; %s is the type.
var bodies = map[Dialect]map[string]string{
	Anthropic: {"block": `{"messages":[{"role":"assistant","content":[{"type":%s}]}]}`},
	OpenAIChat: {
		"block": `{"messages":[{"role":"assistant","content":[{"type":%s}]}]}`,
		"call":  `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":%s}]}]}`,
	},
	OpenAIResponses: {"item": `{"input":[{"type":%s,"execution":"client"}]}`, "block": `{"input":[{"role":"user","content":[{"type":%s}]}]}`},
	Gemini:          {"block": `{"contents":[{"parts":[{%s:{}}]}]}`},
	Bedrock: {
		"block": `{"messages":[{"role":"user","content":[{%s:{}}]}]}`, "system": `{"messages":[{"role":"user","content":[{%s:{}}]}]}`,
	},
	GeminiInteractions: {"item": `{"input":[{"type":%s}]}`, "block": `{"input":[{"type":"user_input","content":[{"type":%s}]}]}`},
}

// knows reports whether a type has a meaning here, or is one that is handed on as it is.
func knows(t *testing.T, d Dialect, place, typ string) bool {
	t.Helper()
	if place == "result" && d == Anthropic {
		return resultParts[typ] // what it may not hold becomes text
	}
	if carried[typ] {
		return true
	}
	if place == "result" {
		return slices.Contains(textTypes, typ) || resultParts[typ] || stepKinds[typ].kind == transcript.Media ||
			slices.Contains([]string{"text", "image", "document", "video", "json", "searchResult", "input_image", "input_file"}, typ)
	}
	body := bodies[d][place]
	if body == "" {
		t.Fatalf("%s: no body for %s", d, place)
	}
	r, err := Parse(fmt.Appendf(nil, body, quote(typ)), Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.t.Blocks() {
		if b.Kind != transcript.Other {
			return true
		}
	}
	return place == "item" && (typ == "user_input" || typ == "model_output" || typ == "message" || strings.HasSuffix(typ, "_call") && itemTypeOf(typ).prefix != "")
}
