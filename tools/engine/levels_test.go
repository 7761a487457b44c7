package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// rounds is how often a conversation is compacted: 200 times in a soak.
func rounds() int {
	switch {
	case trial.Soak():
		return 200
	case testing.Short():
		return 12
	}
	return 24
}

// factTurn is a turn in which a fact is said, something is read and something is decided.
func factTurn(d wire.Dialect, i int) string {
	talk := fmt.Sprintf("We decided to keep %s the tests need it. %s", trial.Decision(i), strings.Repeat("More words about it. ", 12))
	if d == wire.OpenAIChat {
		return fmt.Sprintf(`{"role":"user","content":"Please note that %s"},{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"Read","arguments":"{\"path\":\"f%d.go\"}"}}]},`+
			`{"role":"tool","tool_call_id":"c%d","content":"package f%d %s"},{"role":"assistant","content":%q}`, trial.Fact(i), i, i, i, i, strings.Repeat("code ", 40), talk)
	}
	return fmt.Sprintf(`{"role":"user","content":"Please note that %s"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"path":"f%d.go"}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"package f%d %s"}]},{"role":"assistant","content":%q}`, trial.Fact(i), i, i, i, i, strings.Repeat("code ", 40), talk)
}

// wordy stands in for a model: it writes more than its limit, in lines or in one paragraph, and
// copies marks.
func wordy(_ context.Context, h pare.Removed) (pare.Summary, error) {
	var lines []string
	for _, b := range h.Blocks {
		lines = append(lines, strings.Fields(h.Text(b)+" .")...)
	}
	sep := []string{"\n", ". "}[len(h.Blocks)%2]
	text := pare.Mark + "2 turns, 3 blocks of 4 bytes, here in 5]\n"
	for i := 0; i+4 < len(lines) && len(text) < 12*h.MaxTokens; i += 5 {
		text += "- " + strings.Join(lines[i:i+5], " ") + sep
	}
	return pare.Summary{Text: text}, nil
}

// An attic keeps items by id.
type attic map[string]archive.Item

func (a attic) Get(_ context.Context, id string) (archive.Item, error) {
	if item, ok := a[id]; ok {
		return item, nil
	}
	return archive.Item{}, fmt.Errorf("%s: %w", id, archive.ErrNotFound)
}

var handleIn = regexp.MustCompile(`(?:archived as|pare recall) (pare-[0-9a-z]+)`)

// reach is everything that can be read in a window, and by one recall of each handle in it.
func reach(t testing.TB, a attic, window string) string {
	t.Helper()
	var all strings.Builder
	all.WriteString(window)
	for _, m := range handleIn.FindAllStringSubmatch(window, -1) {
		items, err := archive.Recall(context.Background(), a, m[1])
		if err != nil {
			t.Fatalf("recall %s: %v", m[1], err)
		}
		for _, item := range items {
			all.Write(item.Raw)
		}
	}
	return all.String()
}

// standsFor adds up the turns of the lines over summaries.
func standsFor(window string) (turns int) {
	for _, m := range regexp.MustCompile(`\[pare: (?:level \d+: )?(\d+) turns?, \d+ blocks? of`).FindAllStringSubmatch(window, -1) {
		n, _ := strconv.Atoi(m[1])
		turns += n
	}
	return turns
}

// TestManyCompactionsStayBounded checks a conversation of thousands of turns that is compacted
// hundreds of times: the summaries stay within their bound and count their turns, and every fact is
// in the request or one recall away.
func TestManyCompactionsStayBounded(t *testing.T) {
	for _, d := range []wire.Dialect{wire.Anthropic, wire.OpenAIChat} {
		for name, s := range map[string]pare.Summarizer{"extract": summary.Extract(summary.ExtractOptions{}), "model": wordy, "offload": nil} {
			for _, most := range []int{300, 2000} {
				count := tokens.For("claude-sonnet-4-5")
				c := pare.Compactor{Summarize: s, MinKeep: 8, MaxTokens: most, Options: pare.CompactOptions{Archived: true, Options: pare.Options{Counter: count}}}
				kept, messages, turns, levels := attic{}, "", 0, 0
				for round := range rounds() {
					for range 25 {
						messages += "," + factTurn(d, turns)
						turns++
					}
					r, err := wire.Parse([]byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[`+strings.TrimPrefix(messages, ",")+`]}`), wire.Options{Dialect: d})
					if err != nil {
						t.Fatal(err)
					}
					at := fmt.Sprintf("%s, %s, at most %d, round %d", d, name, most, round)
					plan, err := planner.Compact(context.Background(), &c, r)
					if err != nil {
						t.Fatalf("%s: %v", at, err)
					}
					for _, item := range plan.Archive() {
						kept[item.ID] = item
					}
					out := plan.Result()
					text := summaryText(out)
					if n := count.Count([]byte(text)); n > most || text == "" {
						t.Fatalf("%s: %d tokens\n%s", at, n, text)
					}
					left := 0
					for _, m := range out.Transcript().Messages() {
						if m.Begins && !strings.Contains(out.Text(m.First), wording.SummaryBegin) {
							left++
						}
					}
					if gone := standsFor(text); gone+left != turns {
						t.Fatalf("%s: %d turns, %d are there and summaries stand for %d\n%s", at, turns, left, gone, text)
					}
					if round%10 == 9 || round == rounds()-1 {
						all := reach(t, kept, string(out.Raw()))
						if i := trial.FirstMissingTurn(all, turns); i < turns {
							t.Fatalf("%s: the fact of turn %d is out of reach\n%s", at, i, text)
						}
					}
					levels = max(levels, strings.Count(text, "[pare: level "))
					messages = ""
					for _, m := range out.Transcript().Messages() {
						messages += "," + string(out.Transcript().Bytes(m.Span))
					}
				}
				if levels == 0 && most == 300 {
					t.Errorf("%s, %s: nothing was ever condensed", d, name)
				}
			}
		}
	}
}

// summaryText returns the text between the lines around summaries.
func summaryText(r *wire.Request) string {
	for b := range r.Transcript().Blocks() {
		_, after, ok := strings.Cut(r.Text(r.Transcript().Messages()[r.Transcript().Blocks()[b].Message].First), wording.SummaryBegin+"\n")
		if ok {
			text, _, _ := strings.Cut(after, "\n"+wording.SummaryEnd)
			return text
		}
	}
	return ""
}

// TestManySummariesOfWindowsStayBounded checks a growing history in a window: its summaries stay
// within their bound, and every turn is in the request or named by a summary, also if the
// summarizer fails.
func TestManySummariesOfWindowsStayBounded(t *testing.T) {
	turns, every := 300, 20
	switch {
	case trial.Soak():
		turns, every = 5000, 25
	case testing.Short():
		turns = 120
	}
	fails := 0
	for name, s := range map[string]pare.Summarizer{
		"extract": summary.Extract(summary.ExtractOptions{}), "model": wordy,
		"now and then": func(ctx context.Context, h pare.Removed) (pare.Summary, error) {
			if fails++; fails%3 == 0 {
				return pare.Summary{}, errors.New("busy")
			}
			return wordy(ctx, h)
		},
	} {
		for _, w := range []pare.Window{{Tokens: 6000, Low: 3500, Archive: true}, {Tokens: 6000, Archive: true}} {
			count := tokens.For("claude-sonnet-4-5")
			c := pare.Compactor{Summarize: s, MaxTokens: 1000, Options: pare.CompactOptions{Options: pare.Options{Counter: count}}}
			body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[` + factTurn(wire.Anthropic, 0))
			for i := 1; i < turns; i++ {
				body = append(append(body, ','), factTurn(wire.Anthropic, i)...)
				if i%every != every-1 {
					continue
				}
				r, err := wire.Parse(slices.Concat(body, []byte("]}")), wire.Options{})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
				if err != nil {
					t.Fatalf("%s, %d turns: %v", name, i+1, err)
				}
				out := plan.Result()
				text := summaryText(out)
				if n := count.Count([]byte(text)); n > 1000 || out.Tokens(count) > w.Tokens {
					t.Fatalf("%s, %d turns: %d tokens of summaries, %d of all", name, i+1, n, out.Tokens(count))
				}
				if i > 300 && i/every%10 != 9 {
					continue
				}
				kept := attic{}
				for _, item := range plan.Archive() {
					kept[item.ID] = item
				}
				all := reach(t, kept, string(out.Raw()))
				if j := trial.FirstMissingTurn(all, i+1); j <= i {
					t.Fatalf("%s, low %d, %d turns: the fact of turn %d is out of reach\n%s", name, w.Low, i+1, j, text)
				}
			}
		}
	}
}

// TestNoRoomIsKnownBeforeSummarizing checks that a summary without room is an error before the
// summarizer is called, and that summaries of the caller stay as they are.
func TestNoRoomIsKnownBeforeSummarizing(t *testing.T) {
	asked := 0
	r := talkOf(t, wire.Anthropic, 20)
	cut, _ := r.Transcript().Split(60, false)
	own := "My own words. " + strings.Repeat("They stay. ", 100)
	first, err := planner.CompactAt(r, cut, own, pare.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{10, 100, 300, 2000} {
		c := pare.Compactor{MinKeep: 4, MaxTokens: most, Summarize: func(_ context.Context, h pare.Removed) (pare.Summary, error) {
			asked++
			return pare.Summary{Text: "more of it"}, nil
		}}
		c.Options.Counter = quarters{}
		asked = 0
		plan, err := planner.Compact(context.Background(), &c, first.Result())
		if most < 400 {
			if reasonOf(err) != "no-room" || asked > 0 {
				t.Errorf("at most %d: %v, asked %d times", most, err, asked)
			}
			continue
		}
		if err != nil || !strings.Contains(summaryText(plan.Result()), strings.TrimSpace(own)) || asked != 1 {
			t.Errorf("at most %d: %v, asked %d times", most, err, asked)
		}
	}
}

// TestSummariesOfEarlierVersions checks that summaries of earlier versions are recognized: without
// turns and levels, with the handle in a line after them, and without any line about a loss.
func TestSummariesOfEarlierVersions(t *testing.T) {
	old := "Words of a stranger.\n\n[pare: 7 blocks of 90 bytes, here in 10]\nthe first\n[pare: archived as pare-abc]\n\n[pare: 1 block of 5 bytes, here in 14, archived as pare-def]\nsecond\n\n[pare: x]"
	padding := strings.Repeat("long words ", 400)
	body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"task"},{"role":"user","content":%q},{"role":"assistant","content":%q},{"role":"user","content":"next"},{"role":"assistant","content":"yes"},{"role":"user","content":"last"}]}`,
		wording.SummaryBegin+"\n"+old+"\n"+wording.SummaryEnd, padding)
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var below []string
	c := pare.Compactor{MinKeep: 1, MaxTokens: 300, Summarize: func(_ context.Context, h pare.Removed) (pare.Summary, error) {
		if h.Level > 1 {
			for _, b := range h.Blocks {
				below = append(below, h.Text(b))
			}
			return pare.Summary{Text: "both"}, nil
		}
		return pare.Summary{Text: strings.Repeat("- a line of what is new\n", 19)}, nil
	}, Options: pare.CompactOptions{Archived: true}}
	plan, err := planner.Compact(context.Background(), &c, r)
	if err != nil {
		t.Fatal(err)
	}
	got := summaryText(plan.Result())
	if fmt.Sprintf("%q", below) != `["the first" "second\n\n[pare: x]"]` && !strings.Contains(got, "second\n\n[pare: x]") {
		t.Errorf("condensed %q:\n%s", below, got)
	}
	if !strings.HasPrefix(got, "Words of a stranger.\n\n[pare: ") {
		t.Errorf("got\n%s", got)
	}
}

// TestMarkNamesLostContent checks that a mark names everything that a window drops without a
// summary, and that the window is within its limit.
func TestMarkNamesLostContent(t *testing.T) {
	for _, d := range []wire.Dialect{wire.Anthropic, wire.OpenAIChat} {
		messages := ""
		for i := range 120 {
			messages += "," + factTurn(d, i)
		}
		r, err := wire.Parse([]byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[`+messages[1:]+`]}`), wire.Options{Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []pare.Window{{Tokens: 5000, Archive: true}, {Tokens: 5000, Low: 3000, Archive: true}, {Messages: 40, Archive: true}} {
			count := tokens.For("claude-sonnet-4-5")
			plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: count})
			if err != nil {
				t.Fatal(err)
			}
			kept := attic{}
			for _, item := range plan.Archive() {
				kept[item.ID] = item
			}
			out := string(plan.Result().Raw())
			all := reach(t, kept, out)
			if i := trial.FirstMissingTurn(all, 120); i < 120 {
				t.Fatalf("%s, %+v: the fact of turn %d is out of reach", d, w, i)
			}
			if strings.Count(out, wording.LeftOut) != 1 || w.Tokens > 0 && plan.Result().Tokens(count) > w.Tokens {
				t.Errorf("%s, %+v: %d marks, %d tokens", d, w, strings.Count(out, wording.LeftOut), plan.Result().Tokens(count))
			}
		}
	}
}
