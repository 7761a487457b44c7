package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// utterance is one element of a body in any dialect. Its role is system, user, assistant, think,
// call, result or other.
type utterance struct {
	who  string
	text string // of a call its arguments, compact
	id   string
	tool string
	at   int // index of the message
}

// utterances reads a body with nothing but encoding/json.
func utterances(t testing.TB, d wire.Dialect, body []byte) []utterance {
	t.Helper()
	var root any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatalf("the result is no JSON: %v\n%s", err, body)
	}
	list, _ := root.([]any)
	if o, ok := root.(map[string]any); ok {
		list, _ = o[map[wire.Dialect]string{wire.OpenAIResponses: "input", wire.GeminiInteractions: "input", wire.Gemini: "contents"}[d]].([]any)
		if list == nil {
			list, _ = o["messages"].([]any)
		}
	}
	var all []utterance
	for i, m := range list {
		o, _ := m.(map[string]any)
		for _, u := range utterancesOf(d, o) {
			u.at = i
			all = append(all, u)
		}
	}
	return all
}

func str(o map[string]any, name string) string { s, _ := o[name].(string); return s }

func obj(o map[string]any, name string) map[string]any { m, _ := o[name].(map[string]any); return m }

func compact(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// words collects the strings of a content.
func words(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, words(e))
		}
		return strings.Join(all, "\n")
	case map[string]any:
		for _, name := range []string{"text", "output", "error", "content", "json"} {
			if e, ok := v[name]; ok {
				return words(e)
			}
		}
		return compact(v)
	}
	return ""
}

func utterancesOf(d wire.Dialect, m map[string]any) []utterance {
	role := str(m, "role")
	switch role {
	case "model":
		role = "assistant"
	case "developer":
		role = "system"
	}
	var all []utterance
	add := func(u utterance) { all = append(all, u) }
	switch d {
	case wire.OpenAIChat:
		if role == "tool" || role == "function" {
			return []utterance{{who: "result", text: words(m["content"]), id: str(m, "tool_call_id"), tool: str(m, "name")}}
		}
		if s := str(m, "reasoning_content"); s != "" {
			add(utterance{who: "think", text: s})
		}
		if s := words(m["content"]); s != "" {
			add(utterance{who: role, text: s})
		}
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			o, _ := c.(map[string]any)
			add(utterance{who: "call", id: str(o, "id"), tool: str(obj(o, "function"), "name"), text: compact(obj(o, "function")["arguments"])})
		}
		if f := obj(m, "function_call"); f != nil {
			add(utterance{who: "call", tool: str(f, "name"), text: compact(f["arguments"])})
		}
		return all
	case wire.OpenAIResponses:
		switch typ := str(m, "type"); {
		case typ == "reasoning":
			add(utterance{who: "think", text: words(m["summary"])})
		case strings.HasSuffix(typ, "_call_output"):
			add(utterance{who: "result", text: words(m["output"]), id: str(m, "call_id")})
		case strings.HasSuffix(typ, "_call") && m["call_id"] != nil:
			add(utterance{who: "call", text: compact(m["arguments"]), id: str(m, "call_id"), tool: str(m, "name")})
		default:
			add(utterance{who: role, text: words(m["content"])})
		}
		return all
	case wire.GeminiInteractions:
		switch typ := str(m, "type"); typ {
		case "thought":
			return []utterance{{who: "think", text: words(m["summary"])}}
		case "function_call":
			return []utterance{{who: "call", text: compact(m["arguments"]), id: str(m, "id"), tool: str(m, "name")}}
		case "function_result":
			return []utterance{{who: "result", text: words(m["result"]), id: str(m, "call_id"), tool: str(m, "name")}}
		case "user_input":
			role = "user"
		case "model_output":
			role = "assistant"
		default:
			return []utterance{{who: "user", text: words(m)}}
		}
	}
	if s, ok := m["content"].(string); ok {
		return []utterance{{who: role, text: s}}
	}
	list, _ := m["content"].([]any)
	if d == wire.Gemini {
		list, _ = m["parts"].([]any)
	}
	for _, e := range list {
		o, _ := e.(map[string]any)
		call, result, id := o, o, "id"
		is := func(typ, member string) bool { return str(o, "type") == typ }
		switch d {
		case wire.Bedrock:
			call, result, id = obj(o, "toolUse"), obj(o, "toolResult"), "toolUseId"
			is = func(_, member string) bool { return o[member] != nil }
		case wire.Gemini:
			call, result = obj(o, "functionCall"), obj(o, "functionResponse")
			is = func(_, member string) bool {
				return o[map[string]string{"toolUse": "functionCall", "toolResult": "functionResponse"}[member]] != nil
			}
		}
		switch {
		case is("tool_use", "toolUse"):
			args := call["input"]
			if d == wire.Gemini {
				args = call["args"]
			}
			add(utterance{who: "call", text: compact(args), id: str(call, id), tool: str(call, "name")})
		case is("tool_result", "toolResult"):
			what := words(result["content"])
			if d == wire.Gemini {
				what = words(result["response"])
			}
			u := utterance{who: "result", text: what, id: str(result, id), tool: str(result, "name")}
			if d == wire.Anthropic {
				u.id = str(result, "tool_use_id")
			}
			add(u)
		case str(o, "type") == "thinking" || str(o, "type") == "redacted_thinking" || o["reasoningContent"] != nil || o["thought"] == true:
			add(utterance{who: "think", text: words(o)})
		case o["text"] != nil:
			add(utterance{who: role, text: str(o, "text")})
		default:
			add(utterance{who: "other", text: compact(o)})
		}
	}
	return all
}

// wholePairs checks that every call has exactly one result, directly after its turn, and that every
// result has a call.
func wholePairs(t testing.TB, name string, d wire.Dialect, us []utterance) {
	t.Helper()
	var open []utterance
	take := func(r utterance) bool {
		i := slices.IndexFunc(open, func(c utterance) bool { return c.id == r.id && (r.id != "" || r.tool == "" || c.tool == r.tool) })
		if i >= 0 {
			open = slices.Delete(open, i, i+1)
		}
		return i >= 0
	}
	for i, u := range us {
		switch {
		case u.who == "call":
			open = append(open, u)
		case u.who == "result":
			if !take(u) {
				t.Errorf("%s: result %q (%s) answers no call in front of it, or one that has its answer", name, u.text, u.id)
			}
		case d == wire.OpenAIResponses: // pairs by id, anywhere
		case d == wire.Bedrock && u.who == "user" && answeredInTurn(us[i:], open): // some models do not mind the order in a turn
		case d == wire.GeminiInteractions && i > 0 && (u.who == "assistant" || u.who == "think") && (us[i-1].who == "call" || us[i-1].who == "assistant" || us[i-1].who == "think"): // steps of one turn
		case len(open) > 0 && us[i-1].at != u.at:
			t.Errorf("%s: %s says %q before call %s is answered", name, u.who, u.text, open[0].id)
		}
	}
	for _, c := range open {
		t.Errorf("%s: call %s of %s has no result", name, c.id, c.tool)
	}
}

// answeredInTurn reports whether all open calls are answered before the next turn of the model.
func answeredInTurn(us []utterance, open []utterance) bool {
	end := slices.IndexFunc(us, func(u utterance) bool { return u.who != "user" && u.who != "result" })
	if end < 0 {
		end = len(us)
	}
	for _, c := range open {
		if !slices.ContainsFunc(us[:end], func(r utterance) bool { return r.who == "result" && r.id == c.id }) {
			return false
		}
	}
	return true
}

// heard returns the texts of one role.
func heard(us []utterance, who string) []string {
	var all []string
	for _, u := range us {
		if u.who == who {
			all = append(all, u.text)
		}
	}
	return all
}

// answerTo returns the results of the call whose arguments contain a text, in order.
func answerTo(us []utterance, arg string) []string {
	var all []string
	for i, c := range us {
		if c.who != "call" || !strings.Contains(c.text, arg) {
			continue
		}
		nth := 0 // of the calls without id and of its name in this turn
		for _, o := range us[:i] {
			if o.who == "call" && o.at == c.at && o.tool == c.tool {
				nth++
			}
		}
		for _, r := range us[i:] {
			switch {
			case r.who != "result":
			case c.id != "" && r.id == c.id:
				all = append(all, r.text)
			case c.id == "" && r.tool == c.tool:
				if nth == 0 {
					all = append(all, r.text)
				}
				nth--
			}
			if r.who == "call" && r.at > c.at && r.id == c.id {
				break
			}
		}
	}
	return all
}

func holds(all []string, text string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, text) })
}

// mustSay checks that a role still has some texts.
func mustSay(t *testing.T, us []utterance, who string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !holds(heard(us, who), s) {
			t.Errorf("the %s's %q is lost: %q", who, s, heard(us, who))
		}
	}
}

func mustNotSay(t *testing.T, us []utterance, who string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if holds(heard(us, who), s) {
			t.Errorf("the %s's %q is still there", who, s)
		}
	}
}

// noLoneThinking checks that text or a call of the model follows each thinking block.
func noLoneThinking(t *testing.T, us []utterance) {
	t.Helper()
	for i, u := range us {
		if u.who == "think" && (i+1 == len(us) || !slices.Contains([]string{"think", "assistant", "call"}, us[i+1].who)) {
			t.Errorf("thinking %q leads to nothing: %+v", u.text, us)
		}
	}
}

// stays returns a check that roles still have their texts: "user: hello".
func stays(lines ...string) func(*testing.T, wire.Dialect, []utterance, *pare.Plan) {
	return func(t *testing.T, _ wire.Dialect, us []utterance, _ *pare.Plan) {
		t.Helper()
		for _, l := range lines {
			who, text, _ := strings.Cut(l, ": ")
			if who, ok := strings.CutPrefix(who, "no "); ok {
				mustNotSay(t, us, who, text)
				continue
			}
			mustSay(t, us, who, text)
		}
	}
}
