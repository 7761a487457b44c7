package engine

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

var update = flag.Bool("update", false, "rewrite what comes out in testdata/scenarios")

// scenario has some histories, the operations on them and the expected result; see
// testdata/scenarios/README.md.
type scenario struct {
	comment   string
	histories []string
	asked     string
	as        string   // the dialect of bodies; "": detected
	musts     []string // what holds in every variant
	want      string
}

// askWords begin the line of operations after the histories.
var askWords = []string{"repair", "rules", "harmless", "orphans", "prune", "trim", "every"}

func parseScenarios(t *testing.T, text string) (all []scenario) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var s scenario
		head, want, ok := strings.Cut(part+"\n", "\n----")
		if !ok {
			t.Fatalf("no ---- in %.200q", part)
		}
		s.want = strings.TrimSpace("----" + want)
		for line := range strings.SplitSeq(head, "\n") {
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case word == "#":
				s.comment += line + "\n"
			case word == "must":
				s.musts = append(s.musts, rest)
			case word == "as":
				s.as = rest
			case slices.Contains(askWords, word) && s.asked == "":
				s.asked = line
			case s.asked == "":
				s.histories = append(s.histories, line)
			default:
				t.Fatalf("%q behind what is asked, in %.200q", line, part)
			}
		}
		if s.asked == "" || len(s.histories) == 0 {
			t.Fatalf("nothing is asked, or of nothing, in %.200q", part)
		}
		all = append(all, s)
	}
	return all
}

func (s scenario) String() string {
	b := s.comment + strings.Join(s.histories, "\n") + "\n" + s.asked + "\n"
	if s.as != "" {
		b += "as " + s.as + "\n"
	}
	for _, m := range s.musts {
		b += "must " + m + "\n"
	}
	return b + s.want + "\n"
}

// longer replaces names in scenarios by long texts.
var longer = strings.NewReplacer(
	"$STUB", wording.Stub, "$CLAUDE", claudeHead, "$BEDROCK", bedrockHead, "$LLAMA", llamaHead, "$BIG", strings.Repeat("x", 300_000),
	"$LARGE", strings.Repeat("x", 3000),
	"$CHAIN6", chain(6), "$CHAIN9", chain(9), "$CHAIN12", chain(12), "$CHAIN40", chain(40),
)

// A variant is one history of a scenario in one dialect, for one model.
type variant struct {
	label string // as what comes out is listed; "": it is not
	d     wire.Dialect
	body  []byte
}

func (s scenario) variants(t *testing.T) (all []variant) {
	t.Helper()
	for i, h := range s.histories {
		h = longer.Replace(h)
		number := ""
		if len(s.histories) > 1 {
			number = fmt.Sprintf("%d-", i+1)
		}
		if h[0] == '{' || h[0] == '[' {
			d, err := wire.ParseDialect(s.as)
			if s.as == "" {
				var found wire.Detection
				found, err = wire.Detect([]byte(h))
				d = found.Dialect
			}
			if err != nil {
				t.Fatalf("%v: %.200s", err, h)
			}
			all = append(all, variant{number + d.String(), d, []byte(h)})
			continue
		}
		script := histories.MustParse(h)
		for _, d := range wire.Dialects() {
			all = append(all, variant{number + d.String(), d, script.Render(d, histories.RenderOptions{})})
			for _, m := range models[d] {
				if m != "" && !slices.Contains([]string{"orphans", "prune", "trim"}, strings.Fields(s.asked)[0]) {
					all = append(all, variant{"", d, script.Render(d, histories.RenderOptions{Model: m})})
				}
			}
		}
	}
	return all
}

// TestScenarios runs the operations of each scenario on every variant of its histories.
func TestScenarios(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/scenarios/*.txt")
	if len(files) < 6 {
		t.Fatalf("only %d files of scenarios", len(files))
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := parseScenarios(t, string(raw))
		title := ""
		for i := range all {
			s := &all[i]
			if s.comment != "" {
				title = strings.Trim(strings.ReplaceAll(s.comment, "\n", " "), "# ")
			}
			if i%trial.Stride(4) > 0 && !*update {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d %.60s", strings.TrimSuffix(filepath.Base(file), ".txt"), i+1, title), func(t *testing.T) {
				got := s.run(t)
				if got != s.want && !*update {
					t.Errorf("%s\n%.500s\ngot\n%s\nwant\n%s", s.asked, strings.Join(s.histories, "\n"), got, s.want)
				}
				s.want = got
			})
		}
		if *update && !t.Failed() {
			var b strings.Builder
			for i, s := range all {
				if i > 0 {
					b.WriteByte('\n')
				}
				b.WriteString(s.String())
			}
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// run returns the result of a scenario, once for all variants that agree.
func (s scenario) run(t *testing.T) string {
	var texts []string
	labels := make(map[string][]string)
	for _, v := range s.variants(t) {
		label := v.label
		if label == "" {
			label = v.d.String() + " of another model"
		}
		t.Run(label, func(t *testing.T) {
			o := s.ask(t, v)
			for _, m := range s.musts {
				o.must(t, longer.Replace(m))
			}
			if v.label == "" {
				return
			}
			text := o.text()
			if labels[text] == nil {
				texts = append(texts, text)
			}
			labels[text] = append(labels[text], v.label)
		})
	}
	var b strings.Builder
	for _, text := range texts {
		b.WriteString("----")
		if len(texts) > 1 {
			b.WriteString(" " + strings.Join(labels[text], " "))
		}
		b.WriteString("\n" + text)
	}
	return strings.TrimSpace(b.String())
}

// outcome is the result of the operations of a scenario.
type outcome struct {
	variant
	in     *wire.Request
	notes  []string // what the listing says beside the utterances
	out    []byte   // nil: nothing came out
	us     []utterance
	plan   *pare.Plan
	found  []pare.Orphan
	small  *pare.WindowTooSmall
	failed error
}

func (s scenario) ask(t *testing.T, v variant) *outcome {
	t.Helper()
	o := &outcome{variant: v, in: reading(t, v.d, v.body)}
	word, rest, _ := strings.Cut(s.asked, " ")
	switch word {
	case "repair":
		if rest == "strict" {
			o.strictly(t)
			break
		}
		o.us, o.plan = sound(t, "repair", v.d, v.body)
	case "rules":
		var rules []pare.Rule
		for r := range strings.SplitSeq(rest, "; ") {
			rules = append(rules, ruleOf(t, r))
		}
		sound(t, "repair", v.d, v.body)
		o.us, o.plan = sound(t, "rules", v.d, v.body, rules...)
	case "harmless":
		o.harmless(t)
	case "orphans":
		o.orphans()
	case "prune":
		o.prune(t)
	case "trim":
		o.trim(t, rest)
	case "every":
		o.everyLimit(t, rest)
	}
	if o.plan != nil {
		o.out = o.plan.Result().Raw()
	}
	return o
}

// text lists the results.
func (o *outcome) text() string {
	var b strings.Builder
	for _, n := range o.notes {
		b.WriteString(n + "\n")
	}
	for _, u := range o.us {
		line := u.who
		if u.who == "call" && u.tool != "" {
			line += " " + u.tool
		}
		line += " " + strconv.Quote(u.text)
		if len(u.text) > 200 {
			line = fmt.Sprintf("%.60s…\" and so on, %d bytes", line, len(u.text))
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// ruleOf reads a rule of a scenario.
func ruleOf(t *testing.T, text string) pare.Rule {
	t.Helper()
	word, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(rest)
	switch {
	case text == "all":
		return dropping(func(*wire.Request, transcript.BlockID, transcript.Block) bool { return true })
	case text == "all but the system":
		return dropping(func(r *wire.Request, _ transcript.BlockID, b transcript.Block) bool {
			return r.Transcript().Messages()[b.Message].Role != transcript.System
		})
	case text == "repeated calls":
		return repeatedCalls
	case text == "failed results":
		return failedResults
	case word == "before" && err == nil:
		return before(n)
	case word == "before":
		return beforeText(quoted(t, rest)[0])
	case word == "saying":
		return saying(quoted(t, rest)...)
	case word == "recent" && err == nil:
		return recency(n)
	}
	if _, err := fmt.Sscanf(text, "calls before the last %d messages", &n); err == nil {
		return dropping(func(r *wire.Request, _ transcript.BlockID, b transcript.Block) bool {
			return b.Kind == transcript.Call && b.Message < len(r.Transcript().Messages())-n
		})
	}
	if _, err := fmt.Sscanf(text, "shorten over %d", &n); err == nil {
		return voting("oversized", func(b *pare.Ballot, r *wire.Request) {
			for id, blk := range r.Transcript().Blocks() {
				if blk.Body.Len() > n {
					b.Edit(transcript.BlockID(id), "arguments of 300 kB removed", "oversized")
				}
			}
		})
	}
	t.Fatalf("no rule %q", text)
	return pare.Rule{}
}

// quoted reads quoted strings with spaces between them.
func quoted(t *testing.T, text string) (all []string) {
	t.Helper()
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		one, err := strconv.QuotedPrefix(text)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		s, _ := strconv.Unquote(one)
		all, text = append(all, s), text[len(one):]
	}
	return all
}

// strictly repairs for all providers at the same time. A second repair must change nothing.
func (o *outcome) strictly(t *testing.T) {
	t.Helper()
	strict := pare.Options{Check: wire.CheckOptions{Strict: true}}
	plan, err := planner.Repair(context.Background(), o.in, strict)
	if err != nil {
		t.Fatal(err)
	}
	again, err := planner.Repair(context.Background(), plan.Result(), strict)
	if err != nil || !bytes.Equal(again.Result().Raw(), plan.Result().Raw()) {
		t.Errorf("a second repair changes the result (%v):\n%s\n%s", err, plan.Result().Raw(), again.Result().Raw())
	}
	for _, f := range plan.Remaining() {
		o.notes = append(o.notes, "left: "+f.Rule)
	}
	o.plan, o.us = plan, utterances(t, o.d, plan.Result().Raw())
}

// harmless repairs requests that no client should send. The result is valid or its faults are
// named, and no content is lost.
func (o *outcome) harmless(t *testing.T) {
	t.Helper()
	plan, err := planner.Prune(context.Background(), compile(t, recency(2)), o.in, pare.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, o.body)
	}
	var left []string
	for _, f := range plan.Remaining() {
		left = append(left, f.Rule+" "+f.Path)
		o.notes = append(o.notes, "left: "+f.Rule+" at "+f.Path)
	}
	for _, f := range plan.Result().Check(wire.CheckOptions{}) {
		if !slices.Contains(left, f.Rule+" "+f.Path) {
			t.Errorf("refused, and not named: %s at %s\n%s", f.Rule, f.Path, plan.Result().Raw())
		}
	}
	o.plan, o.us = plan, utterances(t, o.d, plan.Result().Raw())
	if len(left) == 0 {
		wholePairs(t, "harmless", o.d, o.us)
	}
}

// trim makes the history fit a window.
func (o *outcome) trim(t *testing.T, limits string) {
	t.Helper()
	var w pare.Window
	for f := range strings.FieldsSeq(limits) {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "tokens":
			w.Tokens = o.number(t, value, "tokens")
		case "messages":
			w.Messages = o.number(t, value, "messages")
		case "exchanges":
			w.Exchanges = o.number(t, value, "exchanges")
		case "turns":
			w.Turns = o.number(t, value, "turns")
		case "unpin":
			w.Unpin = map[string]pare.Pin{"task": pare.PinTask, "system": pare.PinSystem, "newest": pare.PinNewest}[value]
		case "tiny":
			w.AllowTiny = true
		case "unmarked":
			w.Unmarked = true
		case "order":
			w.MiddleOut, w.Priority = orderOf(t, value)
		default:
			t.Fatalf("no limit %q", f)
		}
	}
	o.plan, o.small = fitted(t, limits, o.d, o.body, w)
	if o.small != nil {
		_, o.failed = planner.Trim(context.Background(), o.in, w, pare.Options{Counter: quarters{}})
		o.notes = []string{o.failed.Error()}
		return
	}
	o.us = utterances(t, o.d, o.plan.Result().Raw())
}

// number reads a number, which may be relative to the size of the history: all-2.
func (o *outcome) number(t *testing.T, text string, u string) int {
	t.Helper()
	rest, relative := strings.CutPrefix(text, "all")
	n, err := strconv.Atoi(rest)
	if err != nil && rest != "" {
		t.Fatal(err)
	}
	if relative {
		n += size(u, o.in)
	}
	return n
}

// everyLimit tries the limits of every unit, from 1 up, and checks the promises of windows. It
// lists the minimums.
func (o *outcome) everyLimit(t *testing.T, how string) {
	t.Helper()
	var unpin int
	var other string
	if _, err := fmt.Sscanf(how, "limit unpin=%d other=%s", &unpin, &other); err != nil {
		t.Fatal(err)
	}
	if o.label == "" { // another model: fewer limits
		for _, u := range units {
			if fmt.Sprint(u) == other || u == "tokens" {
				checkWindow(t, how, o.in, u, func(*pare.Window) {})
			}
		}
		return
	}
	sparse := 25
	switch {
	case trial.Soak():
		sparse = 400
	case testing.Short() || trial.Race:
		sparse = 3
	}
	for _, u := range units {
		least := 1
		top := size(u, o.in) + 1
		for l := 1; l <= top; l += 1 + l/sparse { // every one up to there, and those above by a share
			if _, small := fitted(t, fmt.Sprintf("%s %d", u, l), o.d, o.body, window(u, l)); small != nil {
				least = small.Minimum
			}
		}
		checkWindow(t, how, o.in, u, func(w *pare.Window) { w.Unpin = pare.Pin(unpin) })
		o.notes = append(o.notes, fmt.Sprintf("from %d %s", least, u))
	}
}

func orderOf(t *testing.T, name string) (middleOut bool, priority func(*wire.Request, transcript.AtomID) int) {
	t.Helper()
	switch name {
	case "middle":
		return true, nil
	case "odd": // odd files matter less than even ones, and these less than the rest
		return false, func(r *wire.Request, a transcript.AtomID) int {
			for _, b := range r.Transcript().Atoms()[a].Blocks {
				path, ok := wire.Argument(r.Transcript(), b, "path")
				var i int
				if _, err := fmt.Sscanf(path, "file%d", &i); ok && err == nil {
					return 1 - i%2
				}
			}
			return 2
		}
	case "twos": // what ends in a 2 matters
		return false, func(r *wire.Request, a transcript.AtomID) int {
			if strings.HasSuffix(r.Text(r.Transcript().Atoms()[a].Blocks[0]), "2") {
				return 9
			}
			return 0
		}
	}
	t.Fatal(errors.New("no order " + name))
	return false, nil
}
