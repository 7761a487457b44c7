package rules_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

var update = flag.Bool("update", false, "rewrite testdata")

// long texts stand for their names in scripts.
var long = strings.NewReplacer(
	"LONG1", strings.Repeat("one line. ", 80), "LONG2", strings.Repeat("two lines. ", 80), "LONG3", strings.Repeat("three. ", 110), "HUGE", strings.Repeat("a huge file.", 750),
)

// A scene is a script, the rules to run on it, and what they are to do.
type scene struct {
	comment, script, rules, want string
}

func scenes(t *testing.T, file string) []scene {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []scene
	for part := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		var s scene
		for strings.HasPrefix(part, "#") {
			line, rest, _ := strings.Cut(part, "\n")
			s.comment, part = s.comment+line+"\n", rest
		}
		head, want, ok := strings.Cut(part, "\n----\n")
		s.script, s.rules, _ = strings.Cut(head, "\n")
		if s.want = strings.TrimSpace(want); !ok {
			t.Fatalf("%s: no ---- in %q", file, part)
		}
		all = append(all, s)
	}
	return all
}

// TestScenes runs every scene in every dialect; each must lead to the same.
func TestScenes(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		all := scenes(t, file)
		for i := range all {
			s := &all[i]
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) {
				script := histories.MustParse(long.Replace(s.script))
				p := pipeline(t, s.rules)
				for _, d := range wire.Dialects() {
					got := play(t, script, p, d)
					if *update && d == wire.Anthropic {
						s.want = got
					}
					if got != s.want {
						t.Errorf("%s: got\n%s\nwant\n%s", d, got, s.want)
					}
				}
			})
		}
		if *update {
			rewrite(t, file, all)
		}
	}
}

func rewrite(t *testing.T, file string, all []scene) {
	var out []string
	for _, s := range all {
		out = append(out, s.comment+s.script+"\n"+s.rules+"\n----\n"+s.want)
	}
	if err := os.WriteFile(file, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pipeline compiles rules written one per line, each with its options as JSON.
func pipeline(t testing.TB, lines string) *pare.Pipeline {
	t.Helper()
	var all []pare.Rule
	for line := range strings.Lines(lines) {
		name, options, _ := strings.Cut(strings.TrimSpace(line), " ")
		e, ok := rulelist.Named(name)
		if !ok {
			t.Fatalf("no rule %q", name)
		}
		r, err := e.New([]byte(options))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	p, err := pare.Compile(all...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// play returns what a pipeline does to a script, in the words of the script.
func play(t testing.TB, script histories.Script, p *pare.Pipeline, d wire.Dialect) string {
	t.Helper()
	body := script.Render(d, histories.RenderOptions{})
	plan := planOf(t, body, p)
	steps := map[string]int{}
	names := []string{}
	for i, path := range script.Paths(d, histories.RenderOptions{}) {
		steps[path] = i
		if id := script[i].ID; id != "" {
			names = append(names, histories.WireID(id, d, histories.RenderOptions{}), id)
		}
	}
	var lines []string
	at := map[string]int{}
	for _, c := range plan.Changes() {
		step, ok := steps[c.Path]
		if c.Path == "" || !ok {
			continue // of the finish
		}
		s := script[step]
		op := "call"
		if s.Op == histories.Result || s.Op == histories.Fail {
			op = "result"
		}
		line := fmt.Sprintf("%s %s %s %s", c.Action, op, s.ID, strings.NewReplacer(names...).Replace(c.Reason))
		at[line] = step
		lines = append(lines, line)
	}
	slices.SortStableFunc(lines, func(a, b string) int { return at[a] - at[b] })
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

func planOf(t testing.TB, body []byte, p *pare.Pipeline) *pare.Plan {
	t.Helper()
	r, err := pare.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Prune(context.Background(), p, r, pare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestStandard(t *testing.T) {
	p, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Rules() {
		got = append(got, r.Name)
		if r.Doc == "" || strings.Contains(r.Doc, "\n") {
			t.Errorf("%s: the doc is %q", r.Name, r.Doc)
		}
	}
	want := []string{"deduplication", "error-purging", "superseded-writes", "recency"}
	if !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	var standard []string
	for _, e := range rulelist.All() {
		if e.Standard {
			standard = append(standard, e.Name)
		}
		if len(e.Fields()) == 0 {
			t.Errorf("%s has no options", e.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(standard)
	if !slices.Equal(standard, want) {
		t.Errorf("All says that %q are standard, want %q", standard, want)
	}
}

// TestBadOptions wants each bad option named, with its value and with what is
// expected instead.
func TestBadOptions(t *testing.T) {
	for _, c := range []struct{ rule, options, want string }{
		{"deduplication", `{"mode":"kill"}`, `mode: "kill" is no mode; write clear or drop`},
		{"deduplication", `{"mode":"arguments"}`, `mode: "arguments" is no mode; write clear or drop`},
		{"deduplication", `{"min_bytes":-1}`, "min_bytes: -1 is less than 0; write 0 or more"},
		{"deduplication", `{"keep_last":-1}`, "keep_last: -1 is less than 0; write 0 or more"},
		{"deduplication", `{"protect_paths":["a","[a"]}`, `protect_paths.1: "[a" is no glob: syntax error in pattern; write a glob such as docs/**/*.md; a [ that means itself is written \[`},
		{"deduplication", `{"protect_tools":[""]}`, "protect_tools.0: an empty glob matches nothing; remove it"},
		{"deduplication", `{"table":[{"kind":"read"}]}`, "table.0.name: a tool has no name"},
		{"deduplication", `{"table":[{"name":"a","kind":"reed"}]}`, `table.0.kind: "reed" is no kind; write read, write, edit, search, run or other`},
		{"deduplication", `{"table":[{"name":"a"},{"name":"b","command":"c","commands":{"x":"reed"}}]}`, `table.1.commands.x: "reed" is no kind; write read, write, edit, search, run or other`},
		{"deduplication", `{"table":[{"name":"a","commands":{"x":"read"}}]}`, "table.0.commands: commands without the argument they are values of"},
		{"superseded-writes", `{"mode":"arguments"}`, `mode: "arguments" is no mode; write clear or drop`},
		{"superseded-writes", `{"min_bytes":-2}`, "min_bytes: -2 is less than 0; write 0 or more"},
		{"error-purging", `{"mode":"x"}`, `mode: "x" is no mode; write clear or arguments or drop`},
		{"error-purging", `{"min_bytes":-2}`, "min_bytes: -2 is less than 0; write 0 or more"},
		{"recency", `{"messages":1,"turns":1}`, "messages: messages, turns, exchanges: choose one of them"},
		{"recency", `{"turns":-1}`, "turns: -1 is less than 0; write 0 or more"},
		{"oversized", `{"max_bytes":10}`, "max_bytes: 10 is less than 1024; write 1024 or more"},
		{"oversized", `{"max_bytes":2000,"head":1999}`, "head: head, tail: 1999 and 0 leave no room for a marker of 256 within max_bytes, 2000; write less for them, or more for max_bytes"},
		{"oversized", `{"max_bytes":2000,"tail":1999}`, "tail: head, tail: 1000 and 1999 leave no room for a marker of 256 within max_bytes, 2000; write less for them, or more for max_bytes"},
		{"oversized", `{"tail":-5}`, "tail: -5 is less than 0; write 0 or more"},
		{"protect", `{"roles":["boss"]}`, `roles.0: "boss" is no role; write system, user, assistant or tool`},
		{"protect", `{"kinds":["word"]}`, `kinds.0: "word" is no kind; write text, thinking, call, result, server call, server result, media, compaction or other`},
		{"protect", `{"markers":[""]}`, "markers.0: an empty text stands everywhere; remove it"},
		{"protect", `{"paths":["a[/b"]}`, `paths.0: "a[/b" is no glob: syntax error in pattern; write a glob such as docs/**/*.md; a [ that means itself is written \[`},
	} {
		e, _ := rulelist.Named(c.rule)
		_, err := e.New([]byte(c.options))
		var all rules.OptionErrors
		var one *rules.OptionError
		if !errors.As(err, &all) || !errors.As(err, &one) || err.Error() != "rule "+c.rule+": "+c.want {
			t.Errorf("%s %s: got %v, want %s", c.rule, c.options, err, c.want)
			continue
		}
		if one.Rule != c.rule || one.Option == "" || one.Value == nil || one.Problem == "" {
			t.Errorf("%s %s: not all is said: %+v", c.rule, c.options, one)
		}
	}
	// Everything that is wrong is told at once.
	_, err := rules.Deduplication{Mode: "x", MinBytes: -1, Scope: rules.Scope{ProtectTools: []string{"[", "a", ""}, KeepLast: -1}}.Rule()
	var all rules.OptionErrors
	if !errors.As(err, &all) || len(all) != 5 {
		t.Errorf("%d of 5 errors: %v", len(all), err)
	}
	e, _ := rulelist.Named("deduplication")
	if _, err := e.New([]byte(`{"modus":"drop"}`)); err == nil || !strings.Contains(err.Error(), `rule deduplication: json: unknown field "modus"`) {
		t.Errorf("an unknown option gives %v", err)
	}
	if _, ok := rulelist.Named("nothing"); ok {
		t.Error("there is a rule of no name")
	}
}
