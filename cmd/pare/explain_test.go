package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/corpus"
)

func TestExplainKnowsEveryDamage(t *testing.T) {
	for rule := range agentlog.Damages() {
		if damageRepairs[rule] == "" {
			t.Errorf("explain does not say how %s is repaired", rule)
		}
		if status, out, errs := program(nil, "explain", rule); status != statusClean || out == "" {
			t.Errorf("%s: status %d: %s", rule, status, errs)
		}
	}
}

// TestExplainKnowsEveryRuleConstant collects the words of receipts, findings and events from the
// source.
func TestExplainKnowsEveryRuleConstant(t *testing.T) {
	known := wordNames()
	found := 0
	for word, where := range wordsInSource(t) {
		found++
		if !slices.Contains(known, word) {
			t.Errorf("%s: pare explain does not know %q", where, word)
		}
	}
	if found < 20 {
		t.Errorf("only %d words found in the source", found)
	}
}

var slug = regexp.MustCompile(`^[a-z]+([-_][a-z]+)*$`)

func wordsInSource(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{".", "wire", "internal/agentlog", "internal/planner", "internal/excerpt", "archive", "proxy", "replay"} {
		names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := gotoken.NewFileSet()
			f, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				for _, e := range wordsOfNode(n) {
					if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
						if s, err := strconv.Unquote(lit.Value); err == nil && slug.MatchString(s) {
							found[s] = fset.Position(lit.Pos()).String()
						}
					}
				}
				return true
			})
		}
	}
	return found
}

var namedWord = regexp.MustCompile(`^(event|reason|skip|[aA]ction)[A-Z]`)

func wordsOfNode(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.ValueSpec:
		typ, _ := n.Type.(*ast.Ident)
		if typ != nil && typ.Name == "Effect" || namedWord.MatchString(n.Names[0].Name) {
			return n.Values
		}
	case *ast.KeyValueExpr:
		key, _ := n.Key.(*ast.Ident)
		if row, ok := n.Value.(*ast.CompositeLit); ok && key != nil && strings.HasPrefix(key.Name, "rung") {
			return row.Elts[:1]
		}
		if key != nil && key.Name == "Rule" {
			return []ast.Expr{n.Value}
		}
	case *ast.CallExpr:
		if sel, _ := n.Fun.(*ast.SelectorExpr); sel != nil && len(n.Args) >= 3 && sel.Sel.Name == "log" {
			return n.Args[2:3]
		}
	case *ast.CompositeLit:
		typ, _ := n.Type.(*ast.Ident)
		if typ != nil && (typ.Name == "Event" || typ.Name == "Reason" || typ.Name == "CompactionError") && len(n.Elts) > 0 {
			return n.Elts[:1]
		}
	}
	return nil
}

func TestExplainKnowsTheWordsOfRuns(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	inputs(t, in)
	receipt := filepath.Join(dir, "receipt.jsonl")
	known := wordNames()
	seen := map[string]bool{}
	look := func(what string, lines []byte) {
		for line := range bytes.Lines(lines) {
			var r struct {
				Action, Rule string
				Findings     []struct{ Rule string }
			}
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("%s: %v: %s", what, err, line)
			}
			all := []string{r.Action, r.Rule}
			for _, f := range r.Findings {
				all = append(all, f.Rule)
			}
			for _, word := range all {
				if word != "" && !seen[word] && !slices.Contains(known, word) {
					t.Errorf("%s: pare explain does not know %q", what, word)
				}
				seen[word] = true
			}
		}
	}
	_, out, _ := program(nil, "check", "--json", "--strict", "--advice", in)
	look("check", []byte(out))
	files, err := filepath.Glob(filepath.Join(in, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"fix", "--strict"}, {"fix", "--orphan-call", "drop", "--orphan-result", "drop"}, {"prune"}, {"trim", "--max-messages", "3", "--allow-tiny"},
		{"trim", "--max-tokens", "3600", "--allow-tiny"}, {"trim", "--max-tokens", "1200", "--allow-tiny"}, {"compact", "--inside", "--min-keep", "2"},
	} {
		for _, name := range files {
			os.Remove(receipt)
			program(nil, append(args, "--receipt", receipt, "-o", filepath.Join(dir, "out"), name)...)
			lines, _ := os.ReadFile(receipt) // no receipt is written if the input cannot be read
			look(strings.Join(args, " ")+" "+filepath.Base(name), lines)
		}
	}
	for _, word := range []string{"edit", "archive", "drop", "insert", "move", "rename", "relink", "compaction", "clear-results", "drop-exchanges", "deduplication"} {
		if !seen[word] {
			t.Errorf("no run had %s in it: the inputs are too few", word)
		}
	}
}

func inputs(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var requests bytes.Buffer
	add := func(raw json.RawMessage) {
		if len(raw) > 0 && json.Compact(&requests, raw) == nil {
			requests.WriteByte('\n')
		}
	}
	for _, z := range corpus.Zoo(t) {
		add(z.Request)
	}
	put("zoo.jsonl", requests.Bytes())
	for _, name := range []string{"prune-me.json", "seed-incident.json", "batch.jsonl"} {
		put(name, read("../../examples/"+name))
	}
	put("session.jsonl", read("../../tools/doctest/testdata/home/.claude/projects/-home-ada-shop/6f1d0c9a.jsonl"))
}

// TestDocsListEveryFault compares the word list with docs/rules.md.
func TestDocsListEveryFault(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	inDocs := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### ([a-z-]+)$`).FindAllSubmatch(page, -1) {
		inDocs[string(m[1])] = true
	}
	for _, w := range listWords() {
		if w.Fault && !inDocs[w.Word] { // no provider has a rule about the length
			t.Errorf("docs/rules.md does not have %s", w.Word)
		}
		delete(inDocs, w.Word)
	}
	for word := range inDocs {
		t.Errorf("docs/rules.md has %s, and pare explain does not list it", word)
	}
	want := wordsPage()
	name := "../../docs/words.md"
	if *update {
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/words.md is not what it would be made now (%v); run go test ./cmd/pare -run TestDocsListEveryFault -update", err)
	}
}

func wordsPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Words in reports and receipts\n\nThe words that findings, receipts and events use. `pare explain WORD` explains each of them, and for a fault also\n" +
		"says which provider refuses it, in which words, and how it is repaired ([rules.md](rules.md)). This page is made from\nthe program.\n")
	for _, k := range wordKinds {
		title, about, _ := strings.Cut(k.Title, ": ")
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n| word | means |\n| --- | --- |\n", title, strings.ToUpper(about[:1])+about[1:])
		for _, w := range listWords() {
			if w.Kind != k.Kind {
				continue
			}
			meaning := w.Meaning
			if w.More != "" && w.Kind != kindRule {
				meaning += "; " + w.More
			}
			word := "`" + w.Word + "`"
			if w.Fault {
				word = fmt.Sprintf("[`%s`](rules.md#%s)", w.Word, w.Word)
			}
			fmt.Fprintf(&b, "| %s | %s |\n", word, strings.ReplaceAll(meaning, "|", "\\|"))
		}
	}
	return b.Bytes()
}

func TestExplainKnowsTheWordsOfReports(t *testing.T) {
	printed := []string{
		"over-window", "server-state", "unknown-shape", "still-refused", "turn", "exchange", "marks", "room", "thread", "cosmetic", "stub",
		"message overhead", "other fields", "Healed", "refused by some",
	}
	for o := agentlog.Resumes; o <= agentlog.Unusable; o++ { // the outlooks in doctor --json
		printed = append(printed, o.String())
	}
	for _, e := range []agentlog.Effect{agentlog.Refused, agentlog.Cosmetic, agentlog.Unfixable} {
		printed = append(printed, e.String())
	}
	source, err := os.ReadFile("../../proxy/record.go")
	if err != nil {
		t.Fatal(err)
	}
	headers := regexp.MustCompile(`"Pare-[A-Z][A-Za-z-]+"`).FindAllString(string(source), -1)
	if len(headers) < 7 {
		t.Errorf("only %d headers found", len(headers))
	}
	for _, h := range headers {
		printed = append(printed, strings.Trim(h, `"`))
	}
	table := (&replay.Result{Runs: []replay.Run{{Policy: "everything"}, {Policy: "sliding"}}}).Markdown()
	for _, column := range []string{"vs. sending all", "did not fit", "rewrites", "blind edits", "names unseen", "missed", "losing", "net", "refused", "everything", "sliding"} {
		if !strings.Contains(table, column) {
			t.Errorf("the table of replays has no %s", column)
		}
		printed = append(printed, column)
	}
	for _, word := range printed {
		for _, w := range []string{word, strings.ToUpper(word)} {
			if status, out, errs := program(nil, append([]string{"explain"}, strings.Fields(w)...)...); status != statusClean || out == "" {
				t.Errorf("%s: status %d: %s", w, status, errs)
			}
		}
	}
}
