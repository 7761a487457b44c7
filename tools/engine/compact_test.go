package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// gist is a summary that is shorter than most content that it replaces.
const gist = "Facts: “α” & <β>\n- none"

// reasonOf is the reason of a *CompactionError, or "".
func reasonOf(err error) string {
	if failed := (*pare.CompactionError)(nil); errors.As(err, &failed) {
		return string(failed.Reason)
	}
	return ""
}

func isPerson(m transcript.Message) bool {
	return m.Begins && m.Speaks && m.Role != transcript.System
}

// taskOf returns the first message in which the user speaks, or -1.
func taskOf(r *wire.Request) int { return slices.IndexFunc(r.Transcript().Messages(), isPerson) }

// newestOf returns the last message with a text of the user, or -1.
func newestOf(r *wire.Request) int {
	ms := r.Transcript().Messages()
	for i := len(ms) - 1; i >= 0; i-- {
		for b := ms[i].First; b < ms[i].End && ms[i].Role == transcript.User && ms[i].Speaks; b++ {
			if r.Transcript().Block(b).Kind == transcript.Text && dialect.PersonsWords(r.Text(b)) != "" {
				return i
			}
		}
	}
	return -1
}

// goes returns the messages before a cut that a compaction replaces: all except the task and the
// newest words of the user.
func goes(r *wire.Request, cut transcript.Cut, foldTask bool) []int {
	var all []int
	task, newest := taskOf(r), newestOf(r)
	if foldTask && newest == task {
		newest = -1
	}
	for i, m := range r.Transcript().Messages()[:cut.Before()] {
		if m.Role != transcript.System && m.First < m.End && i != newest && (foldTask || i != task) {
			all = append(all, i)
		}
	}
	return all
}

// summaries returns the texts of all summaries in a body, read with encoding/json.
func summaries(t testing.TB, d wire.Dialect, body []byte) []string {
	t.Helper()
	var all []string
	for _, u := range utterances(t, d, body) {
		for rest := u.text; ; {
			_, after, ok := strings.Cut(rest, wording.SummaryBegin)
			if !ok {
				break
			}
			text, behind, ok := strings.Cut(after, wording.SummaryEnd)
			if !ok || u.who != "user" {
				t.Errorf("%s says %q", u.who, u.text)
			}
			if !lossLine.MatchString(text) {
				t.Errorf("a summary does not say what it stands for: %q", text)
			}
			all = append(all, strings.TrimSpace(lossLine.ReplaceAllString(text, "")))
			rest = behind
		}
	}
	return all
}

// lossLine matches the line before a summary.
var lossLine = regexp.MustCompile(`(?m)^\[pare: (?:level \d+: )?(?:\d+ turns?, )?(\d+) blocks? of (\d+) bytes, here in (\d+)(?:, archived as ([^\s\],]+))?(?:, stays as it is)?\]\n`)

// refusals lists the rules that a result breaks and that the repair of the input does
// not leave broken too.
func refusals(t testing.TB, in *wire.Request, out *wire.Request, o pare.Options) []string {
	t.Helper()
	fixed, err := planner.Repair(context.Background(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	was := make(map[string]bool)
	for _, f := range fixed.Remaining() {
		was[f.Rule] = true
	}
	var all []string
	for _, f := range out.Check(o.Check) {
		if !was[f.Rule] && !slices.Contains(mayStay, f.Rule) {
			all = append(all, f.Rule+" at "+f.Path)
		}
	}
	return all
}

// checkCompacted checks everything that holds for one compaction.
func checkCompacted(t *testing.T, name string, in *wire.Request, cut transcript.Cut, plan *pare.Plan, o pare.CompactOptions, want string) {
	t.Helper()
	out := plan.Result()
	if bad := refusals(t, in, out, o.Options); len(bad) > 0 {
		t.Errorf("%s: refused: %v", name, bad)
	}
	if got := summaries(t, in.Dialect, out.Raw()); len(got) != 1 || got[0] != want {
		t.Errorf("%s: the summaries are %q, want %q", name, got, want)
	}
	before, after := in.Transcript(), out.Transcript()
	for i, m := range before.Messages() {
		if m.Role == transcript.System && !bytes.Contains(out.Raw(), before.Bytes(m.Span)) && in.Check(o.Check) == nil {
			t.Errorf("%s: what the system says is gone: %s", name, in.MessagePath(i))
		}
	}
	if task := taskOf(in); task >= 0 && task < cut.Before() && !o.FoldTask {
		at := bytes.Index(out.Raw(), []byte(wording.SummaryBegin))
		for b := before.Messages()[task].First; b < before.Messages()[task].End; b++ {
			blk := before.Block(b)
			if text := before.Bytes(blk.Body); blk.Kind == transcript.Text && len(bytes.TrimSpace(text)) > 0 {
				if i := bytes.Index(out.Raw(), text); i < 0 {
					t.Errorf("%s: the task is gone: %s", name, text)
				} else if goes := goes(in, cut, false); i > at && goes[0] > task {
					t.Errorf("%s: the task stands behind the summary", name)
				}
			}
		}
	}
	if first := slices.IndexFunc(after.Messages(), func(m transcript.Message) bool { return m.Role != transcript.System }); first >= 0 && after.Messages()[first].Role != transcript.User {
		t.Errorf("%s: the history begins with %s", name, after.Messages()[first].Role)
	}
	tailKept(t, name, in, cut, plan, o.Options)
	if again, err := planner.Repair(context.Background(), out, o.Options); err != nil || !again.Empty() {
		t.Errorf("%s: a repair changes the result: %v\n%s", name, err, again)
	}
	archived(t, name, in, cut, plan, o.FoldTask)
}

// tailKept checks that the messages after the cut keep their bytes, if the input was valid. The
// first message may be joined to the summary.
func tailKept(t *testing.T, name string, in *wire.Request, cut transcript.Cut, plan *pare.Plan, o pare.Options) {
	t.Helper()
	if len(in.Check(o.Check)) > 0 || dialect.BindsThinking(&in.Profile) {
		return
	}
	msgs, from := in.Transcript().Messages(), cut.Before()
	joined := slices.ContainsFunc(plan.Changes(), func(c wire.Change) bool { return c.Action == "merge" })
	for joined && from < len(msgs) && msgs[from].Role == transcript.User {
		from++
	}
	if from == len(msgs) {
		return
	}
	tail := in.Raw()[msgs[from].Span.Start:]
	if !bytes.HasSuffix(plan.Result().Raw(), tail) {
		t.Errorf("%s: the tail has changed:\n%s", name, plan)
	}
	for _, c := range plan.Changes() {
		if (c.Action == "drop" || c.Action == "edit" || c.Action == "archive") && c.Rule != "compaction" && c.Rule != "cache-breakpoint" && !besideWhatGoes(in, cut, c) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// besideWhatGoes reports whether a change removes a member of a removed message. Members next to
// the blocks have separate receipts.
func besideWhatGoes(in *wire.Request, cut transcript.Cut, c wire.Change) bool {
	return c.Action == "drop" && slices.ContainsFunc(goes(in, cut, true), func(i int) bool { return strings.HasPrefix(c.Path, in.MessagePath(i)+".") })
}

// takenOut returns the archive items of a plan, without index items.
func takenOut(plan *pare.Plan) []archive.Item {
	return slices.DeleteFunc(plan.Archive(), archive.Item.Stands)
}

// archived checks that the archive contains everything that is removed, unchanged.
func archived(t *testing.T, name string, in *wire.Request, cut transcript.Cut, plan *pare.Plan, foldTask bool) {
	t.Helper()
	before := in.Transcript()
	at := make(map[string][]byte)
	for i, m := range before.Messages() {
		for b := m.First; b < m.End; b++ {
			at[in.Path(b)] = before.Bytes(before.Block(b).Span)
		}
		at[in.MessagePath(i)] = before.Bytes(m.Span)
	}
	var whole []string
	for _, item := range takenOut(plan) {
		if !item.Genuine() || item.Path == "" || !bytes.Equal(at[item.Path], item.Raw) {
			t.Errorf("%s: item %s at %q is not what stood there", name, item.ID, item.Path)
		}
		whole = append(whole, item.Path)
	}
	for _, i := range goes(in, cut, foldTask) {
		m := before.Messages()[i]
		found := slices.Contains(whole, in.MessagePath(i))
		for b := m.First; b < m.End && !found; b++ {
			found = slices.Contains(whole, in.Path(b))
		}
		if !found {
			t.Errorf("%s: %s is not archived, only %v", name, in.MessagePath(i), whole)
		}
	}
	c := plan.Conserved()
	sum := 0
	for _, m := range before.Messages() {
		sum += m.Span.Len()
	}
	gone := 0
	for _, item := range takenOut(plan) {
		gone += len(item.Raw)
	}
	if c.Original != sum || c.Retained != sum-gone {
		t.Errorf("%s: %+v; there are %d bytes, %d of them archived", name, c, sum, gone)
	}
}

// compactAll compacts at every cut and returns how often that worked.
func compactAll(t *testing.T, name string, r *wire.Request, o pare.CompactOptions, most int) (done int) {
	t.Helper()
	raw := bytes.Clone(r.Raw())
	cuts := slices.Collect(r.Transcript().Cuts())
	for i, cut := range cuts {
		if len(cuts) > most && i%(len(cuts)/most+1) != 0 {
			continue
		}
		name := fmt.Sprintf("%s, cut %d, inside %v, fold %v", name, cut.Before(), cut.Inside(), o.FoldTask)
		plan, err := planner.CompactAt(r, cut, gist, o)
		head := goes(r, cut, o.FoldTask)
		size := 0
		for _, m := range head {
			size += r.Transcript().Messages()[m].Span.Len()
		}
		switch reason := reasonOf(err); {
		case reason == "nothing-to-compact" && len(head) == 0:
		case reason == "larger" && size < 1000:
		case err != nil || len(head) == 0:
			t.Errorf("%s: %v, %d messages with %d bytes are to go", name, err, len(head), size)
		default:
			done++
			checkCompacted(t, name, r, cut, plan, o, gist)
		}
		if err != nil && plan != nil {
			t.Errorf("%s: an error and a plan", name)
		}
		if t.Failed() {
			t.Fatalf("%s\n%s\nresult:\n%s", name, raw, resultOf(plan))
		}
	}
	if !bytes.Equal(raw, r.Raw()) {
		t.Fatalf("%s: the input has changed", name)
	}
	return done
}

func resultOf(plan *pare.Plan) string {
	if plan == nil {
		return "no plan"
	}
	return plan.String() + string(plan.Result().Raw())
}

// TestCompactRelations checks random histories, complete and broken, in all dialects, at every cut.
func TestCompactRelations(t *testing.T) {
	n := historyCount(t) / 20
	done := 0
	for seed := range uint64(n) {
		d, body, did := history(seed)
		r := reading(t, d, body)
		name := fmt.Sprintf("seed %d, %s, %v", seed, d, did)
		done += compactAll(t, name, r, pare.CompactOptions{FoldTask: seed%3 == 0}, 12)
	}
	if done < n/2 {
		t.Errorf("only %d compactions", done)
	}
	t.Logf("%d histories, %d compactions", n, done)
}

// TestCompactProfiles: the joint obeys the rules of every profile, of models that
// insist on alternation, and of all of them together.
func TestCompactProfiles(t *testing.T) {
	models := map[wire.Dialect][]string{
		wire.Bedrock:    {"anthropic.claude-v2:1", "anthropic.claude-3-sonnet-20240229-v1:0", "meta.llama3-1-70b-instruct-v1:0", "mistral.mistral-large-2407-v1:0", "amazon.nova-pro-v1:0"},
		wire.Anthropic:  {"claude-2.1", "claude-3-opus-20240229", "claude-sonnet-4-5", "claude-opus-5-5"},
		wire.OpenAIChat: {"gpt-4o", "mistral-large-latest", "gemma-3-27b-it", "deepseek-reasoner", "qwen3-max"},
		wire.Gemini:     {"gemini-2.5-pro", "gemini-1.5-flash"},
	}
	n := historyCount(t) / 200
	for seed := range uint64(n) {
		d := wire.Dialects()[seed%5]
		s := histories.Random(seed, histories.GenOptions{NoThinking: seed%2 == 0})
		for _, strict := range []bool{false, true} {
			o := pare.CompactOptions{Options: pare.Options{Check: wire.CheckOptions{Strict: strict}}, FoldTask: seed%4 == 0}
			for _, profile := range wire.Profiles(d) {
				r, err := wire.Parse(s.Render(d, histories.RenderOptions{}), wire.Options{Dialect: d, Profile: profile})
				if err != nil {
					t.Fatal(err)
				}
				compactAll(t, fmt.Sprintf("seed %d, %s/%s, strict %v", seed, d, profile, strict), r, o, 4)
			}
			for _, model := range models[d] {
				r, err := wire.Parse(s.Render(d, histories.RenderOptions{Model: model}), wire.Options{Dialect: d})
				if err != nil {
					t.Fatal(err)
				}
				compactAll(t, fmt.Sprintf("seed %d, %s, %s, strict %v", seed, d, model, strict), r, o, 4)
			}
		}
	}
}

// TestCompactAlternates checks that no role is repeated on models that require alternating roles.
func TestCompactAlternates(t *testing.T) {
	everyCut := func(t *testing.T, r *wire.Request) {
		for cut := range r.Transcript().Cuts() {
			for _, fold := range []bool{false, true} {
				plan, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{FoldTask: fold})
				if reasonOf(err) == "nothing-to-compact" || reasonOf(err) == "larger" {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				msgs := plan.Result().Transcript().Messages()
				for i := 1; i < len(msgs); i++ {
					if msgs[i].Role == msgs[i-1].Role && msgs[i].Role != transcript.Tool {
						t.Errorf("cut %d, fold %v: two messages of %s\n%s", cut.Before(), fold, msgs[i].Role, plan.Result().Raw())
					}
				}
			}
		}
	}
	notation := fmt.Sprintf(`user %q | call a Read a.go | result a %q | say "It is so." | user "go on" | call b Read b.go | result b %q | call c Read c.go | result c ok | say "Done." | user "thanks"`,
		strings.Repeat("fix it ", 40), strings.Repeat("package a ", 60), strings.Repeat("package b ", 60))
	s := histories.MustParse(notation)
	everyCut(t, reading(t, wire.Bedrock, s.Render(wire.Bedrock, histories.RenderOptions{Model: "anthropic.claude-v2:1"})))
	everyCut(t, reading(t, wire.OpenAIChat, s.Render(wire.OpenAIChat, histories.RenderOptions{Model: "gemma-3-27b-it"})))
}

// TestCompactCorpus: requests that were really sent, at every cut.
func TestCompactCorpus(t *testing.T) {
	done, all := 0, corpus.Requests(t)
	for i, c := range all {
		if i%8 != 0 && testing.Short() {
			continue
		}
		r, err := wire.Parse(c.Raw, wire.Options{Model: c.Model})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if len(r.Transcript().Messages()) < 3 {
			continue
		}
		done += compactAll(t, c.Name, r, pare.CompactOptions{}, 6)
		done += compactAll(t, c.Name, r, pare.CompactOptions{FoldTask: true}, 6)
	}
	t.Logf("%d requests, %d compactions", len(all), done)
}

// TestCompactTwice: a second compaction carries the first summary word for word, at
// every pair of cuts.
func TestCompactTwice(t *testing.T) {
	done := 0
	for seed := range uint64(historyCount(t) / 500) {
		d, body, did := history(seed)
		r := reading(t, d, body)
		o := pare.CompactOptions{FoldTask: seed%2 == 0}
		for cut := range r.Transcript().Cuts() {
			first, err := planner.CompactAt(r, cut, gist, o)
			if err != nil {
				continue
			}
			mid := first.Result()
			for next := range mid.Transcript().Cuts() {
				name := fmt.Sprintf("seed %d, %s, %v, cuts %d and %d", seed, d, did, cut.Before(), next.Before())
				second, err := planner.CompactAt(mid, next, "and more", o)
				if reason := reasonOf(err); reason == "nothing-to-compact" || reason == "larger" {
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got := summaries(t, d, second.Result().Raw())
				behind := slices.Equal(got, []string{gist + "\n\nand more"})
				// A cut in front of the first summary leaves it where it is.
				if !behind && !slices.Equal(got, []string{"and more", gist}) {
					t.Fatalf("%s: %q\n%s\n%s", name, got, mid.Raw(), resultOf(second))
				}
				if bad := refusals(t, mid, second.Result(), o.Options); len(bad) > 0 {
					t.Fatalf("%s: %v", name, bad)
				}
				if behind {
					done++
				}
			}
		}
	}
	if done < 100 {
		t.Errorf("only %d second compactions", done)
	}
	t.Logf("%d second compactions", done)
}

// TestCompactThrice: facts survive three passes, in order, once each.
func TestCompactThrice(t *testing.T) {
	everywhere(t, fmt.Sprintf(`user "task" | say %[1]q | user "two" | say %[1]q | user "three" | say %[1]q | user "four"`, strings.Repeat("words ", 60)), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		for i, text := range []string{"fact one", "fact two", "fact three"} {
			var cut transcript.Cut
			for c := range r.Transcript().Cuts() {
				us := utterances(t, d, r.Raw())
				if c.Before() < len(r.Transcript().Messages()) && slices.ContainsFunc(us, func(u utterance) bool { return u.at == c.Before() && u.text == []string{"two", "three", "four"}[i] }) {
					cut = c
				}
			}
			plan, err := planner.CompactAt(r, cut, text, pare.CompactOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r = plan.Result()
		}
		if got := summaries(t, d, r.Raw()); !slices.Equal(got, []string{"fact one\n\nfact two\n\nfact three"}) {
			t.Errorf("got %q", got)
		}
		us := utterances(t, d, r.Raw())
		if us[0].text != "task" || us[len(us)-1].text != "four" {
			t.Errorf("got %+v", us)
		}
	})
}

// TestCompactTwiceAlternating checks that a summary that was joined to the task is recognized, on
// models that require alternating roles.
func TestCompactTwiceAlternating(t *testing.T) {
	s := histories.MustParse(fmt.Sprintf(`user "the task" | say %[1]q | user "two" | say %[1]q | user "three" | say %[1]q | user "four"`, strings.Repeat("words ", 60)))
	for d, model := range map[wire.Dialect]string{wire.OpenAIChat: "gemma-3-27b-it", wire.Bedrock: "anthropic.claude-v2:1"} {
		for _, fold := range []bool{false, true} {
			r := reading(t, d, s.Render(d, histories.RenderOptions{Model: model}))
			o := pare.CompactOptions{FoldTask: fold}
			want := ""
			for i, text := range []string{"fact one", "fact two", "fact three"} {
				cut, ok := r.Transcript().Split(len(r.Transcript().Messages())-2, false)
				if i == 0 {
					cut, ok = r.Transcript().Split(5, false)
				}
				if !ok {
					t.Fatalf("%s: no cut in %s", d, r.Raw())
				}
				plan, err := planner.CompactAt(r, cut, text, o)
				if err != nil {
					t.Fatalf("%s, pass %d: %v", d, i+1, err)
				}
				r = plan.Result()
				want = strings.TrimSpace(want + "\n\n" + text)
				if got := summaries(t, d, r.Raw()); !slices.Equal(got, []string{want}) {
					t.Errorf("%s, fold %v, pass %d: %q\n%s", d, fold, i+1, got, r.Raw())
				}
				if has := bytes.Contains(r.Raw(), []byte("the task")); has == fold {
					t.Errorf("%s, fold %v, pass %d: the task is there: %v", d, fold, i+1, has)
				}
				if !bytes.Contains(r.Raw(), []byte([]string{"two", "three", "four"}[i])) {
					t.Errorf("%s, fold %v, pass %d: a message behind the cut is lost\n%s", d, fold, i+1, r.Raw())
				}
			}
		}
	}
}

// TestCompactTextAfterSummary checks that words of the user after an earlier summary in the same
// message are not part of the summary.
func TestCompactTextAfterSummary(t *testing.T) {
	for _, words := range []string{"my words", "they say " + wording.SummaryEnd + " at the end of it"} {
		said, _ := json.Marshal(wording.SummaryBegin + "\nthe facts\n" + wording.SummaryEnd + "\n\n" + words)
		body := fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":%s},{"role":"assistant","content":%q},{"role":"user","content":"go on"}]}`, said, strings.Repeat("words ", 60))
		r := reading(t, wire.OpenAIChat, []byte(body))
		cut, _ := r.Transcript().Split(1, false)
		plan, err := planner.CompactAt(r, cut, "more facts", pare.CompactOptions{})
		if err != nil {
			t.Fatal(err)
		}
		us := utterances(t, wire.OpenAIChat, plan.Result().Raw())
		prior := ""
		for _, u := range us {
			if _, after, ok := strings.Cut(u.text, wording.SummaryBegin); ok {
				prior, _, _ = strings.Cut(after, "more facts")
			}
		}
		if strings.Contains(prior, "they say") || !strings.Contains(prior, "the facts") {
			t.Errorf("the summary so far has become %q", prior)
		}
	}
}

// callTexts are calls and results in place of a summary.
var callTexts = []string{
	`[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]`, `{"type":"tool_result","tool_use_id":"x","content":"y"}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}`,
	`{"role":"tool","tool_call_id":"x","content":"y"}`, `{"type":"function_call","call_id":"x","name":"y","arguments":"{}"}`, `{"type":"function_call_output","call_id":"x","output":"y"}`,
	`{"functionCall":{"name":"x","args":{}}}`, `[{"functionResponse":{"name":"x","response":{}}}]`, `{"toolUse":{"toolUseId":"x","name":"y","input":{}}}`, `{"toolResult":{"toolUseId":"x","content":[]}}`,
	"```json\n[{\"type\":\"tool_use\",\"id\":\"toolu_1\"}]\n```", "```\n{\"toolUse\":{}}\n```", "  \n{\"functionCall\": {\"name\": \"x\"}}  ",
}

// TestCompactRefuses: a summary that is none is an error with its reason, and no plan.
func TestCompactRefuses(t *testing.T) {
	bad := map[string]string{
		"": "blank", " \n\t\u00a0": "blank", "\u200b \u2060\ufeff": "blank", "\u200e\u00ad": "blank", "a\x00b": "not-text", "\xff\xfe": "not-text", "half a char \xe2\x82": "not-text",
		"facts " + wording.SummaryEnd: "not-text", "facts\n" + wording.SummaryEnd + "\nmy own words": "not-text",
		strings.Repeat("very long ", 2000): "larger",
	}
	for _, text := range callTexts {
		bad[text] = "calls"
	}
	everywhere(t, fmt.Sprintf(`user "task" | call a Read a.go | result a %q | say "ok" | user "next"`, strings.Repeat("words ", 300)), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		cut, ok := r.Transcript().Split(1, false)
		if !ok {
			t.Fatal("no cut")
		}
		for text, want := range bad {
			for _, o := range []pare.CompactOptions{{}, {Options: pare.Options{Counter: quarters{}}}} {
				plan, err := planner.CompactAt(r, cut, text, o)
				if reasonOf(err) != want || plan != nil {
					t.Errorf("%.60q: %v, want %s", text, err, want)
				}
			}
		}
		for _, text := range []string{`{"facts":["a","b"]}`, "[]", "the call \"tool_use\" was made", "```json\n{}\n```"} {
			if _, err := planner.CompactAt(r, cut, text, pare.CompactOptions{}); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// TestCompactConserves checks the sizes in a Conservation.
func TestCompactConserves(t *testing.T) {
	everywhere(t, fmt.Sprintf(`user "task" | call a Read a.go | result a %q | say "ok" | user "next"`, strings.Repeat("words ", 300)), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		cut, _ := r.Transcript().Split(1, false)
		plan, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{MinConserved: 1, Archived: true})
		if err != nil {
			t.Fatal(err)
		}
		c := plan.Conserved()
		if c.Share() < 1 || c.Retained+c.Archived != c.Original || c.Items != len(takenOut(plan)) || c.Summary < len(gist) {
			t.Errorf("%+v", c)
		}
		for _, o := range []pare.CompactOptions{{MinConserved: 1}, {MinConserved: math.NaN(), Archived: true}, {MinConserved: math.Inf(1), Archived: true}} {
			if plan, err := planner.CompactAt(r, cut, gist, o); reasonOf(err) != "not-conserved" || plan != nil {
				t.Errorf("%+v: %v", o, err)
			}
		}
		loose, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{})
		if err != nil || loose.Conserved().Archived != 0 || loose.Conserved().Items != 0 || loose.Conserved().Share() >= 1 {
			t.Errorf("%+v, %v", loose.Conserved(), err)
		}
		share := loose.Conserved().Share()
		if _, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{MinConserved: share}); err != nil {
			t.Errorf("the share itself: %v", err)
		}
		if _, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{MinConserved: share + 1e-9}); reasonOf(err) != "not-conserved" {
			t.Errorf("more than the share: %v", err)
		}
		// What the summarizer has archived itself counts, if its names are genuine.
		var own []archive.Item
		for _, item := range plan.Archive() {
			own = append(own, archive.New(item.Path, item.Raw))
		}
		if _, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{MinConserved: 1, Items: own}); err != nil {
			t.Errorf("own items: %v", err)
		}
		own[0].Raw = append(bytes.Clone(own[0].Raw), ' ')
		if _, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{MinConserved: 0.1, Items: own}); reasonOf(err) != "not-conserved" {
			t.Errorf("a forged item: %v", err)
		}
	})
}

// TestOffload checks that everything before a cut is archived without a summary, and that the note
// names the archive.
func TestOffload(t *testing.T) {
	n, done := historyCount(t)/200, 0
	for seed := range uint64(n) {
		d, body, did := history(seed)
		r := reading(t, d, body)
		o := pare.CompactOptions{FoldTask: seed%2 == 0, MinConserved: 1}
		for cut := range r.Transcript().Cuts() {
			name := fmt.Sprintf("seed %d, %s, %v, cut %d", seed, d, did, cut.Before())
			plan, err := planner.Offload(r, cut, o)
			if reason := reasonOf(err); reason == "nothing-to-compact" && len(goes(r, cut, o.FoldTask)) == 0 || reason == "larger" {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			done++
			id := archive.Name(plan.Archive())
			note := summaries(t, d, plan.Result().Raw())
			if len(note) != 1 || !bytes.Contains(plan.Result().Raw(), []byte(", archived as "+id+"]")) {
				t.Fatalf("%s: the note is %q, the archive %s", name, note, id)
			}
			checkCompacted(t, name, r, cut, plan, o, note[0])
			again, err := planner.Offload(reading(t, d, bytes.Clone(body)), cut, o)
			if err != nil || archive.Name(again.Archive()) != id || !bytes.Equal(again.Result().Raw(), plan.Result().Raw()) {
				t.Fatalf("%s: another run differs: %v", name, err)
			}
			if t.Failed() {
				t.Fatalf("%s\n%s\n%s", name, body, resultOf(plan))
			}
		}
	}
	t.Logf("%d archives", done)
	if done < n {
		t.Errorf("only %d archives of %d histories", done, n)
	}
}

// TestOffloadSaves checks that a history is only repaired if the note would be larger than the
// removed content.
func TestOffloadSaves(t *testing.T) {
	n, skipped := historyCount(t)/100, 0
	for seed := range uint64(n) {
		d, body, did := history(seed)
		name := fmt.Sprintf("seed %d, %s, %v", seed, d, did)
		c := pare.Compactor{MinKeep: 1, Options: pare.CompactOptions{FoldTask: seed%2 == 0}}
		repaired, err := (&pare.Policy{}).Plan(t.Context(), reading(t, d, body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan, err := (&pare.Policy{Compact: &c}).Plan(t.Context(), reading(t, d, body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		why := ""
		for _, e := range plan.Events() {
			if m, ok := e.Metadata.(pare.CompactionSkipped); ok {
				why = m.Reason
			}
		}
		before, after := repaired.Result(), plan.Result()
		switch {
		case why != "":
			if !bytes.Equal(before.Raw(), after.Raw()) || len(plan.Archive()) != len(repaired.Archive()) {
				t.Errorf("%s: skipped (%s), and yet\n%s\nis not\n%s", name, why, after.Raw(), before.Raw())
			}
			if strings.Contains(why, "larger") {
				skipped++
			}
		case after.Tokens(tokens.For(after.Model())) >= before.Tokens(tokens.For(before.Model())):
			t.Errorf("%s: no smaller: %d bytes and then %d", name, len(before.Raw()), len(after.Raw()))
		}
	}
	if skipped < n/100 {
		t.Errorf("only %d of %d were too small", skipped, n)
	}
}

// TestOffloadCarries checks that an earlier summary stays when the content after it is archived.
func TestOffloadCarries(t *testing.T) {
	everywhere(t, fmt.Sprintf(`user "task" | say %[1]q | user "two" | say %[1]q | user "three"`, strings.Repeat("words ", 60)), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		cut, _ := r.Transcript().Split(3, false)
		first, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cut, _ = first.Result().Transcript().Split(1, false)
		second, err := planner.Offload(first.Result(), cut, pare.CompactOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := summaries(t, d, second.Result().Raw())
		if len(got) != 1 || !strings.HasPrefix(got[0], gist+"\n\nWhat stood here") || !bytes.Contains(second.Result().Raw(), []byte(archive.Name(second.Archive()))) {
			t.Errorf("got %q", got)
		}
	})
}

// Seed system 4: where to split.

// tools is a turn with so many calls one after the other: 2 n + 2 messages.
func toolTurn(name string, n int) string {
	s := fmt.Sprintf("user %q", name)
	for i := range n {
		s += fmt.Sprintf(" | call %s%d Read %s%d.go | result %s%d %s", name, i, name, i, name, i, strings.Repeat("content ", 20))
	}
	return s + ` | say "done"`
}

// eachSplit runs in every dialect; results live in messages of the user in three of
// them, and all have the same number of messages.
func eachSplit(t *testing.T, notation string, messages int, f func(t *testing.T, r *wire.Request)) {
	t.Helper()
	s := histories.MustParse(notation)
	for _, d := range wire.Dialects() {
		t.Run(d.String(), func(t *testing.T) {
			r := reading(t, d, s.Render(d, histories.RenderOptions{}))
			if n := len(r.Transcript().Messages()); n != messages {
				t.Fatalf("%d messages, want %d", n, messages)
			}
			f(t, r)
		})
	}
}

func splitAt(t *testing.T, r *wire.Request, minKeep int, inside bool) int {
	t.Helper()
	cut, ok := r.Transcript().Split(minKeep, inside)
	if !ok {
		return -1
	}
	if len(r.Transcript().Messages())-cut.Before() < minKeep {
		t.Errorf("cut %d leaves less than %d", cut.Before(), minKeep)
	}
	if m := r.Transcript().Messages()[cut.Before()]; !cut.Inside() && !isPerson(m) {
		t.Errorf("the tail begins with %s", m.Role)
	}
	return cut.Before()
}

func TestSplitTurns(t *testing.T) {
	eachSplit(t, toolTurn("a", 3)+" | "+toolTurn("b", 2)+" | "+toolTurn("c", 1), 18, func(t *testing.T, r *wire.Request) {
		if at := splitAt(t, r, 4, false); at != 14 {
			t.Errorf("cut at %d, want 14", at)
		}
		for keep := 5; keep <= 10; keep++ {
			if at := splitAt(t, r, keep, false); at != 8 {
				t.Errorf("keep %d: cut at %d, want 8", keep, at)
			}
		}
	})
}

func TestSplitPlainTurns(t *testing.T) {
	eachSplit(t, `user "a" | say "b" | user "c" | say "d" | user "e" | say "f"`, 6, func(t *testing.T, r *wire.Request) {
		if at := splitAt(t, r, 2, false); at != 4 {
			t.Errorf("cut at %d, want 4", at)
		}
	})
}

func TestSplitSingleTurn(t *testing.T) {
	eachSplit(t, toolTurn("a", 10), 22, func(t *testing.T, r *wire.Request) {
		for keep := range 30 {
			if at := splitAt(t, r, keep, false); at != -1 {
				t.Errorf("keep %d: cut at %d", keep, at)
			}
			// Calls stand at odd places; in front of one is a cut.
			want := 22 - max(keep, 1)
			if want%2 == 0 {
				want--
			}
			if at := splitAt(t, r, keep, true); at != max(want, -1) {
				t.Errorf("keep %d, inside: cut at %d, want %d", keep, at, want)
			}
		}
	})
}

func TestSplitLengthIsKeep(t *testing.T) {
	eachSplit(t, `user "a" | say "b" | user "c" | say "d"`, 4, func(t *testing.T, r *wire.Request) {
		for _, keep := range []int{4, 5, 100, math.MaxInt} {
			for _, inside := range []bool{false, true} {
				if at := splitAt(t, r, keep, inside); at != -1 {
					t.Errorf("keep %d, inside %v: cut at %d", keep, inside, at)
				}
			}
		}
	})
}

func TestSplitNeverInTurn(t *testing.T) {
	eachSplit(t, toolTurn("a", 3), 8, func(t *testing.T, r *wire.Request) {
		for keep := range 12 {
			if at := splitAt(t, r, keep, false); at != -1 {
				t.Errorf("keep %d: cut at %d", keep, at)
			}
		}
	})
}

func TestSplitKeepThree(t *testing.T) {
	eachSplit(t, `user "a" | say "b" | user "c" | call r Read a.go | result r text | say "d"`, 6, func(t *testing.T, r *wire.Request) {
		if at := splitAt(t, r, 3, false); at != 2 {
			t.Errorf("cut at %d, want 2", at)
		}
	})
}

// TestSplitSystem: messages of the system alone are nothing to compact.
func TestSplitSystem(t *testing.T) {
	r := reading(t, wire.OpenAIChat, []byte(`{"model":"gpt-4o","messages":[{"role":"system","content":"s"},{"role":"developer","content":"d"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`))
	if at := splitAt(t, r, 2, false); at != -1 {
		t.Errorf("cut at %d", at)
	}
	if at := splitAt(t, r, 1, false); at != 4 {
		t.Errorf("cut at %d", at)
	}
}

// TestCompactBeforeAssistant checks a cut before an assistant message, with a prefix before it.
func TestCompactBeforeAssistant(t *testing.T) {
	s := histories.MustParse(`system "be brief" | ` + toolTurn("a", 10))
	for _, d := range wire.Dialects() {
		r := reading(t, d, s.Render(d, histories.RenderOptions{}))
		for cut := range r.Transcript().Cuts() {
			for _, fold := range []bool{false, true} {
				plan, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{FoldTask: fold})
				if reason := reasonOf(err); reason == "nothing-to-compact" || reason == "larger" {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				alternates(t, fmt.Sprintf("%s, cut %d, fold %v", d, cut.Before(), fold), d, plan.Result().Raw(), true)
			}
		}
	}
}

// alternates checks, only with encoding/json, that a user message comes first, that assistant turns
// do not follow each other, that pairs are complete and that nothing is empty.
func alternates(t *testing.T, name string, d wire.Dialect, body []byte, strictly bool) {
	t.Helper()
	us := utterances(t, d, body)
	wholePairs(t, name, d, us)
	last, at := "", -1
	for i, u := range us {
		by := map[string]string{"system": "system", "user": "user", "result": "user", "other": "user", "assistant": "assistant", "think": "assistant", "call": "assistant"}[u.who]
		if by == "system" {
			continue
		}
		if last == "" && u.who != "user" && u.who != "other" {
			t.Errorf("%s: it begins with %s", name, u.who)
		}
		if strings.TrimSpace(u.text) == "" && u.who != "result" && u.who != "think" {
			t.Errorf("%s: utterance %d, %s, is empty", name, i, u.who)
		}
		// The items of the Responses API and the steps of Interactions are no turns.
		if by == "assistant" && last == "assistant" && u.at != at && d.List() != "input" && strictly {
			t.Errorf("%s: two messages of the assistant meet at %d", name, u.at)
		}
		last, at = by, u.at
	}
	if last != "user" && strictly && us[len(us)-1].who != "assistant" {
		t.Errorf("%s: it ends with %s", name, last)
	}
}

// TestCompactConsecutiveAssistants checks that two consecutive assistant messages lose nothing.
func TestCompactConsecutiveAssistants(t *testing.T) {
	long := strings.Repeat("words ", 100)
	body := fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":"task"},{"role":"assistant","content":%[1]q},{"role":"user","content":"one"},
{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"Read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_a","content":"A"},
{"role":"assistant","content":null,"tool_calls":[{"id":"call_b","type":"function","function":{"name":"Read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_b","content":"B"},
{"role":"assistant","content":"first"},{"role":"assistant","content":"second"},{"role":"user","content":"two"}],"tools":[{"type":"function","function":{"name":"Read","parameters":{"type":"object"}}}]}`, long)
	r := reading(t, wire.OpenAIChat, []byte(body))
	for cut := range r.Transcript().Cuts() {
		plan, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{})
		if reasonOf(err) == "nothing-to-compact" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		us := utterances(t, wire.OpenAIChat, plan.Result().Raw())
		wholePairs(t, "", wire.OpenAIChat, us)
		for _, u := range utterances(t, wire.OpenAIChat, []byte(body)) {
			if u.at >= cut.Before() && !slices.ContainsFunc(us, func(o utterance) bool { return o.who == u.who && o.text == u.text && o.id == u.id }) {
				t.Errorf("cut %d: %+v is lost", cut.Before(), u)
			}
		}
	}
}

// TestCompactBindsThinking checks that only the thinking of the tail is dropped where thinking is
// bound to the preceding content.
func TestCompactBindsThinking(t *testing.T) {
	s := histories.MustParse(fmt.Sprintf(`user "task" | think "a" | say %q | user "two" | think "b" | call r Read a.go | result r text | think "c" | say "done" | user "three"`, strings.Repeat("words ", 100)))
	r := reading(t, wire.Anthropic, s.Render(wire.Anthropic, histories.RenderOptions{Model: "claude-opus-5-5"}))
	cut, _ := r.Transcript().Split(5, false)
	plan, err := planner.CompactAt(r, cut, gist, pare.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	us := utterances(t, wire.Anthropic, plan.Result().Raw())
	mustNotSay(t, us, "think", "a", "b", "c")
	mustSay(t, us, "user", "task", "two", "three")
	if len(plan.Remaining()) > 0 {
		t.Error(plan.Remaining())
	}
}

// TestCompactForeignCut: a cut of another history is an error or cuts nothing apart.
func TestCompactForeignCut(t *testing.T) {
	short := reading(t, wire.OpenAIChat, histories.MustParse(toolTurn("a", 1)).Render(wire.OpenAIChat, histories.RenderOptions{}))
	long := reading(t, wire.OpenAIChat, histories.MustParse(toolTurn("a", 10)).Render(wire.OpenAIChat, histories.RenderOptions{}))
	at := 0
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("cut %d in %d messages: panic: %v", at, len(short.Transcript().Messages()), p)
		}
	}()
	for cut := range long.Transcript().Cuts() {
		at = cut.Before()
		if plan, err := planner.CompactAt(short, cut, "x", pare.CompactOptions{}); err == nil {
			wholePairs(t, "", wire.OpenAIChat, utterances(t, wire.OpenAIChat, plan.Result().Raw()))
		}
	}
}

// TestCompactTask checks that the task is the first text of the user, and not a reminder or the
// text of a repair.
func TestCompactTask(t *testing.T) {
	talk := `,{"role":"assistant","content":"aaaa"},{"role":"user","content":"the task"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"` + strings.Repeat("x ", 200) + `"}]},{"role":"assistant","content":"b"},{"role":"user","content":"the newest"}]}`
	for _, first := range []string{
		`{"role":"user","content":"(The beginning of this conversation is not included.)"}`,
		`{"role":"user","content":[{"type":"text","text":"<system-reminder>be brief</system-reminder>"}]}`,
		`{"role":"assistant","content":"an answer to nothing"}`,
	} {
		r := reading(t, wire.Anthropic, []byte(`{"model":"claude-opus-4-6","max_tokens":9,"messages":[`+first+talk))
		c := pare.Compactor{MinKeep: 1, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{Text: gist}, nil }}
		for range 2 { // a second compaction knows it again
			plan, err := planner.Compact(context.Background(), &c, r)
			if err != nil {
				t.Fatal(first, err)
			}
			out := string(plan.Result().Raw())
			if task, told := strings.Index(out, "the task"), strings.Index(out, wording.SummaryBegin); task < 0 || told < task {
				t.Errorf("%s: the task at %d, the summary at %d: %s", first, task, told, out)
			}
			r = plan.Result()
		}
	}
}
