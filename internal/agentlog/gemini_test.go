package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

const gemHead = `{"sessionId":"g","projectHash":"h","startTime":"2026-03-01T10:00:00Z","lastUpdated":"2026-03-01T10:00:00Z","kind":"main"}` + "\n"

func gemSaid(id, text string) string {
	return `{"id":"` + id + `","timestamp":"2026-03-01T10:00:01Z","type":"user","content":[{"text":"` + text + `"}]}`
}

// gemResponse returns a part with the response to a call.
func gemResponse(call, output string) string {
	return `{"functionResponse":{"id":"` + call + `","name":"ls","response":{"output":"` + output + `"}}}`
}

func gemResponses(id string, parts ...string) string {
	return `{"id":"` + id + `","timestamp":"2026-03-01T10:00:01Z","type":"user","content":[` + strings.Join(parts, ",") + `]}`
}

// gemCalls returns a message with toolCalls. A call with an = has the result after it.
func gemCalls(id string, calls ...string) string {
	var all []string
	for _, c := range calls {
		call, output, ok := strings.Cut(c, "=")
		result := ""
		if ok {
			result = `,"result":[` + gemResponse(call, output) + `]`
		}
		all = append(all, `{"id":"`+call+`","name":"ls","args":{}`+result+`,"status":"success"}`)
	}
	return `{"id":"` + id + `","timestamp":"2026-03-01T10:00:01Z","type":"gemini","content":"","model":"gemini-2.5-pro","toolCalls":[` + strings.Join(all, ",") + `]}`
}

// gemParts returns a message whose calls are parts of its content.
func gemParts(id string, calls ...string) string {
	var all []string
	for _, c := range calls {
		all = append(all, `{"functionCall":{"id":"`+c+`","name":"ls","args":{}}}`)
	}
	return `{"id":"` + id + `","timestamp":"2026-03-01T10:00:01Z","type":"gemini","content":[{"text":"let me look"},` + strings.Join(all, ",") + `],"model":"gemini-2.5-pro"}`
}

func gemSet(messages ...string) string {
	return `{"$set":{"messages":[` + strings.Join(messages, ",") + `],"lastUpdated":"2026-03-01T11:00:00Z"}}`
}

func gemFile(lines ...string) string { return gemHead + strings.Join(lines, "\n") + "\n" }

// A gemContent is a short form of a sent content.
type gemContent struct {
	role             string
	calls, responses []string
	texts            []string
}

// resumeGemini is an independent implementation of resuming a chat of lines in Gemini CLI. It joins
// neighboring contents of one role.
func resumeGemini(t *testing.T, raw []byte) []gemContent {
	t.Helper()
	type part struct {
		Text                           string
		FunctionCall, FunctionResponse *struct{ ID string }
	}
	type message struct {
		ID, Type  string
		Content   json.RawMessage
		ToolCalls []struct {
			ID     string
			Result []part
		}
	}
	var order []string
	byID := make(map[string]message)
	put := func(m message) {
		if _, ok := byID[m.ID]; !ok {
			order = append(order, m.ID)
		}
		byID[m.ID] = m
	}
	for line := range bytes.Lines(raw) {
		var r struct {
			message
			Set *struct{ Messages []message } `json:"$set"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		switch {
		case r.ID != "":
			put(r.message)
		case r.Set != nil && r.Set.Messages != nil:
			order, byID = nil, make(map[string]message)
			for _, m := range r.Set.Messages {
				put(m)
			}
		}
	}
	var out []gemContent
	add := func(role string, parts []part) {
		if len(parts) == 0 {
			return
		}
		if n := len(out); n == 0 || out[n-1].role != role {
			out = append(out, gemContent{role: role})
		}
		c := &out[len(out)-1]
		for _, p := range parts {
			switch {
			case p.FunctionCall != nil:
				c.calls = append(c.calls, p.FunctionCall.ID)
			case p.FunctionResponse != nil:
				c.responses = append(c.responses, p.FunctionResponse.ID)
			default:
				c.texts = append(c.texts, p.Text)
			}
		}
	}
	for _, id := range order {
		m := byID[id]
		var parts []part
		if json.Unmarshal(m.Content, &parts) != nil {
			parts = nil // a string, which is empty here
		}
		if m.Type == "user" {
			add("user", parts)
			continue
		}
		own := false
		for _, p := range parts {
			own = own || p.FunctionCall != nil
		}
		var answers []part
		for _, c := range m.ToolCalls {
			if !own {
				parts = append(parts, part{FunctionCall: &struct{ ID string }{c.ID}})
			}
			answers = append(answers, c.Result...)
		}
		if len(parts) > 0 {
			add("model", parts)
			add("user", answers)
		}
	}
	return out
}

// wantPairs checks that every call is answered once, in the next turn.
func wantPairs(t *testing.T, name string, all []gemContent) {
	t.Helper()
	for i, c := range all {
		want := ""
		if c.role == "user" && i > 0 {
			want = fmt.Sprint(count1(all[i-1].calls))
		} else {
			want = fmt.Sprint(map[string]int{})
		}
		if got := fmt.Sprint(count1(c.responses)); got != want {
			t.Errorf("%s: turn %d answers %s, not %s", name, i, got, want)
		}
	}
	if n := len(all); n > 0 && len(all[n-1].calls) > 0 {
		t.Errorf("%s: the last calls are not answered", name)
	}
}

func count1(ids []string) map[string]int {
	n := make(map[string]int)
	for _, id := range ids {
		n[id]++
	}
	return n
}

// TestChatPairsAreRepaired checks that calls and responses are found in all places from which the
// program reads them, and that each pair is complete once after a fix.
func TestChatPairsAreRepaired(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		broken bool
		keep   []string // must be sent afterwards
	}{
		"clean":                   {gemFile(gemSaid("1", "go"), gemCalls("2", "c1=ok"), gemSaid("3", "on")), false, []string{"go", "on"}},
		"recorded twice":          {gemFile(gemSaid("1", "go"), gemCalls("2", "c1=ok"), gemResponses("3", gemResponse("c1", "ok")), gemSaid("4", "on")), true, []string{"on"}},
		"recorded seven times":    {gemFile(gemSaid("1", "go"), gemCalls("2", "c1=ok"), gemResponses("3", strings.Split(strings.Repeat(gemResponse("c1", "ok")+"|", 6), "|")[:6]...), gemSaid("4", "on")), true, []string{"on"}},
		"a snapshot":              {gemFile(gemSaid("1", "go"), gemSet(gemSaid("1", "go"), gemParts("2", "c1"), gemResponses("3", gemResponse("c1", "ok")), gemSaid("4", "on"))), false, []string{"on"}},
		"a snapshot, open":        {gemFile(gemSaid("1", "go"), gemSet(gemSaid("1", "go"), gemParts("2", "c1", "c2"), gemResponses("3", gemResponse("c1", "ok")), gemSaid("4", "on"))), true, []string{"on"}},
		"a snapshot, at the end":  {gemFile(gemSet(gemSaid("1", "go"), gemParts("2", "c1"))), true, []string{"go"}},
		"a response without call": {gemFile(gemSaid("1", "go"), gemResponses("2", gemResponse("c9", "precious")), gemSaid("3", "on")), true, []string{"precious", "on"}},
		"and other words":         {gemFile(gemSaid("1", "go"), gemResponses("2", gemResponse("c9", "precious"), `{"text":"by the way"}`)), true, []string{"precious", "by the way"}},
		"too late":                {gemFile(gemSaid("1", "go"), gemParts("2", "c1"), gemSaid("3", "well?"), `{"id":"4","type":"gemini","content":[{"text":"hm"}]}`, gemResponses("5", gemResponse("c1", "precious"))), true, []string{"well?"}},
		"another result":          {gemFile(gemSaid("1", "go"), gemCalls("2", "c1=ok"), gemResponses("3", gemResponse("c1", "precious")), gemSaid("4", "on")), true, []string{"precious", "on"}},
		"no result":               {gemFile(gemSaid("1", "go"), gemCalls("2", "c1", "c2=ok"), gemSaid("3", "on")), true, []string{"on"}},
		"in the user's message":   {gemFile(gemSaid("1", "go"), gemCalls("2", "c1"), gemResponses("3", gemResponse("c1", "ok")), gemSaid("4", "on")), false, []string{"on"}},
		"many calls":              {gemFile(gemSaid("1", "go"), gemSet(gemParts("2", "c1", "c2", "c3"), gemResponses("3", gemResponse("c3", "ok"), gemResponse("c1", "ok"))), gemSaid("4", "on")), true, []string{"on"}},
	} {
		raw := []byte(c.raw)
		l, found, fixed := fix(t, "session-1.jsonl", raw)
		if Broken(found) != c.broken {
			t.Errorf("%s: %+v", name, found)
		}
		if len(fixed.Remaining) > 0 {
			t.Errorf("%s: left %+v", name, fixed.Remaining)
		}
		sent := resumeGemini(t, fixed.Raw)
		wantPairs(t, name, sent)
		all := fmt.Sprint(sent)
		for _, k := range c.keep {
			if !strings.Contains(all, k) && !strings.Contains(string(fixed.Raw), k) {
				t.Errorf("%s: %s is gone: %s", name, k, all)
			}
		}
		// Check against the contents that the program sends.
		calls, responses := 0, 0
		for _, c := range resumeGemini(t, raw) {
			calls, responses = calls+len(c.calls), responses+len(c.responses)
		}
		if n := l.Tally(); n.Calls != calls || n.Results != responses {
			t.Errorf("%s: %d calls and %d results are sent, %+v is read", name, calls, responses, n)
		}
		if t.Failed() {
			t.Fatalf("%s\n%s\nbecame\n%s", name, raw, fixed.Raw)
		}
	}
}

// TestRandomChatsAreRepaired checks that random chats have complete pairs after a fix and that a
// second fix changes nothing.
func TestRandomChatsAreRepaired(t *testing.T) {
	for seed := range trial.Size(600) {
		r := rand.New(rand.NewPCG(9, uint64(seed)))
		var lines, messages []string
		for n := range 2 + r.IntN(8) {
			id, call := fmt.Sprintf("%d", n), fmt.Sprintf("c%d", n)
			other := fmt.Sprintf("c%d", r.IntN(n+1))
			switch r.IntN(6) {
			case 0:
				messages = append(messages, gemSaid(id, fmt.Sprint("word", n)))
			case 1:
				messages = append(messages, gemCalls(id, call+"=ok"))
			case 2:
				messages = append(messages, gemCalls(id, call, call+"b=ok"))
			case 3:
				messages = append(messages, gemParts(id, call, call+"b"))
			case 4:
				messages = append(messages, gemResponses(id, gemResponse(other, "ok"), gemResponse(other+"b", "ok")))
			default:
				messages = append(messages, gemResponses(id, gemResponse(other, fmt.Sprint("out", n))))
			}
			if r.IntN(4) == 0 { // a resume
				lines = append(lines, gemSet(messages...))
			} else {
				lines = append(lines, messages[len(messages)-1])
			}
		}
		raw := []byte(gemFile(lines...))
		l := mustRead(t, "session-1.jsonl", raw)
		fixed, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		verify(t, "session-1.jsonl", raw, fixed)
		wantPairs(t, fmt.Sprint("seed ", seed), resumeGemini(t, fixed.Raw))
		if t.Failed() {
			t.Fatalf("\n%s\nbecame\n%s", raw, fixed.Raw)
		}
	}
}

// gemResume returns the lines that Gemini CLI writes when it resumes a chat: a head, its context,
// and all messages.
func gemResume(messages ...string) []string {
	return append([]string{strings.TrimSuffix(gemHead, "\n"), gemSet(gemSaid("ctx", "<session_context>today</session_context>"))}, messages...)
}

// TestChatLostSnapshot checks a chat without the line that repeats all messages at a resume. The
// client then sends none of the earlier messages; seen with 0.61.0.
func TestChatLostSnapshot(t *testing.T) {
	context := gemSaid("ctx", "<session_context>then</session_context>")
	before := []string{gemSet(context), gemSaid("1", "go"), gemCalls("2", "c1=ok"), gemResponses("3", gemResponse("c1", "ok"))}
	whole := gemSet(context, gemSaid("1", "go"), gemParts("2", "c1"), gemResponses("3", gemResponse("c1", "ok")))
	after := []string{gemSaid("4", "well"), gemCalls("5", "c2=ok")}
	join := func(parts ...[]string) []byte { return []byte(gemFile(slices.Concat(parts...)...)) }
	for name, c := range map[string]struct {
		raw  []byte
		lost bool
	}{
		"there":            {join(before, gemResume(whole), after), false},
		"lost":             {join(before, gemResume(), after), true},
		"torn":             {join(before, gemResume(whole[:len(whole)/2]), after), true},
		"torn at the end":  {bytes.TrimSuffix(join(before, gemResume(whole[:len(whole)/2])), []byte("\n")), true},
		"lost at the end":  {join(before, gemResume()), true},
		"lost twice":       {join(before, gemResume(), after, gemResume(), []string{gemSaid("6", "more")}), true},
		"lost, said later": {join(before, gemResume(), gemResume(whole), after), false},
		// The messages were removed intentionally.
		"no resume":       {join(before, []string{gemSet(context)}, after), false},
		"another session": {join(before, []string{strings.Replace(strings.TrimSpace(gemHead), `"g"`, `"other"`, 1), gemSet(context)}, after), false},
	} {
		for _, appendOnly := range []bool{false, true} {
			l := mustRead(t, "session-1.jsonl", c.raw)
			if got := slices.ContainsFunc(l.Check(wire.CheckOptions{}), func(f Finding) bool { return f.Rule == "lost-snapshot" }); got != c.lost {
				t.Errorf("%s: lost-snapshot is found: %v", name, got)
			}
			if !c.lost {
				continue
			}
			fixed, err := l.Fix(Options{AppendOnly: appendOnly})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if appendOnly && !bytes.HasPrefix(fixed.Raw, c.raw) {
				t.Errorf("%s: the lines that were there have changed", name)
			}
			if Broken(fixed.Remaining) {
				t.Errorf("%s, append only %v: left %+v", name, appendOnly, fixed.Remaining)
			}
			var lines [][]byte
			for line := range bytes.Lines(fixed.Raw) {
				if json.Valid(line) {
					lines = append(lines, line)
				}
			}
			sent := resumeGemini(t, bytes.Join(lines, nil))
			wantPairs(t, name, sent)
			for _, word := range []string{"go", "c1"} {
				if !strings.Contains(fmt.Sprint(sent), word) {
					t.Errorf("%s, append only %v: %s is forgotten: %v\n%s", name, appendOnly, word, sent, fixed.Raw)
				}
			}
		}
	}
}

// gemBatch returns a message whose toolCalls each hold the responses to all of them.
func gemBatch(id string, results map[string][]string, calls ...string) string {
	var own, all []string
	for _, c := range calls {
		own = append(own, `{"functionCall":{"id":"`+c+`","name":"ls","args":{}}}`)
		all = append(all, `{"id":"`+c+`","name":"ls","args":{},"result":[`+strings.Join(results[c], ",")+`],"status":"success"}`)
	}
	return `{"id":"` + id + `","timestamp":"2026-03-01T10:00:01Z","type":"gemini","content":[` + strings.Join(own, ",") + `],"model":"gemini-2.5-pro","toolCalls":[` + strings.Join(all, ",") + `]}`
}

// TestParallelResultsAreSorted checks parallel toolCalls that each hold the responses to all of
// them after a compaction; seen with 0.61.0. Each one keeps only its own response.
func TestParallelResultsAreSorted(t *testing.T) {
	a, b, c := gemResponse("c1", "alpha"), gemResponse("c2", "beta"), gemResponse("c3", "gamma")
	for name, results := range map[string]map[string][]string{
		"all in each":       {"c1": {a, b, c}, "c2": {a, b, c}, "c3": {a, b, c}},
		"all in the first":  {"c1": {a, b, c}},
		"all in the last":   {"c3": {a, b, c}},
		"exchanged":         {"c1": {b}, "c2": {c}, "c3": {a}},
		"twice":             {"c1": {a, a}, "c2": {b}, "c3": {c, c, c}},
		"one is elsewhere":  {"c1": {a}, "c2": {a, b, c}, "c3": {}},
		"with a text":       {"c1": {a, b, `{"text":"by the way"}`}, "c2": {a, b}, "c3": {c}},
		"another that says": {"c1": {a}, "c2": {b, gemResponse("c1", "other words")}, "c3": {c}},
	} {
		raw := []byte(gemFile(gemSaid("1", "go"), gemSet(gemSaid("1", "go"), gemBatch("2", results, "c1", "c2", "c3"), gemResponses("2_response", a, b, c), gemResponses("3", a, b, c)), gemSaid("4", "on")))
		_, found, fixed := fix(t, "session-1.jsonl", raw)
		if !Broken(found) || len(fixed.Remaining) > 0 {
			t.Errorf("%s: found %+v, left %+v", name, found, fixed.Remaining)
		}
		wantPairs(t, name, resumeGemini(t, fixed.Raw))
		for id, word := range map[string]string{"c1": "alpha", "c2": "beta", "c3": "gamma"} {
			if n := strings.Count(string(fixed.Raw), `"id":"`+id+`","name":"ls","response":{"output":"`+word+`"}`); n != 1 {
				t.Errorf("%s: the response to %s is there %d times", name, id, n)
			}
		}
		for _, word := range []string{"by the way", "other words"} {
			if strings.Contains(string(raw), word) && !strings.Contains(string(fixed.Raw), word) {
				t.Errorf("%s: %s is gone", name, word)
			}
		}
		if strings.Contains(string(fixed.Raw), wording.Stub) {
			t.Errorf("%s: a stub in the place of a real result", name)
		}
		if t.Failed() {
			t.Fatalf("%s\n%s\nbecame\n%s", name, raw, fixed.Raw)
		}
	}
}
