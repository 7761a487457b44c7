package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// A corruption damages the bytes of a file. other is another session of the same agent.
type corruption struct {
	name string
	hit  func(r *rand.Rand, raw, other string) string
}

func lineHit(f func(r *rand.Rand, lines []string) []string) func(*rand.Rand, string, string) string {
	return func(r *rand.Rand, raw, _ string) string {
		lines := strings.Split(strings.TrimSuffix(raw, "\n"), "\n")
		return joinLines(f(r, lines))
	}
}

var corruptions = []corruption{
	{"crlf", func(_ *rand.Rand, raw, _ string) string { return strings.ReplaceAll(raw, "\n", "\r\n") }},
	{"crlf in one line", lineHit(func(r *rand.Rand, l []string) []string { l[r.IntN(len(l))] += "\r"; return l })},
	{"mark", func(_ *rand.Rand, raw, _ string) string { return "\ufeff" + raw }},
	{"mark in the middle", lineHit(func(r *rand.Rand, l []string) []string { i := r.IntN(len(l)); l[i] = "\ufeff" + l[i]; return l })},
	{"no newline at the end", func(_ *rand.Rand, raw, _ string) string { return strings.TrimRight(raw, "\r\n") }},
	{"nulls at the end", func(r *rand.Rand, raw, _ string) string { return raw + strings.Repeat("\x00", 1+r.IntN(40)) }},
	{"nulls and more", func(r *rand.Rand, raw, _ string) string {
		at := strings.LastIndexByte(strings.TrimSuffix(raw, "\n"), '\n') + 1
		return raw[:at] + strings.Repeat("\x00", 1+r.IntN(40)) + raw[at:]
	}},
	{"nulls for a line", lineHit(func(r *rand.Rand, l []string) []string {
		i := r.IntN(len(l))
		l[i] = strings.Repeat("\x00", len(l[i]))
		return l
	})},
	{"a null in a line", lineHit(func(r *rand.Rand, l []string) []string {
		i := r.IntN(len(l))
		k := r.IntN(len(l[i]) + 1)
		l[i] = l[i][:k] + "\x00" + l[i][k:]
		return l
	})},
	{"swapped", lineHit(func(r *rand.Rand, l []string) []string {
		i, k := r.IntN(len(l)), r.IntN(len(l))
		l[i], l[k] = l[k], l[i]
		return l
	})},
	{"neighbours swapped", lineHit(func(r *rand.Rand, l []string) []string {
		if i := r.IntN(len(l)); i > 0 {
			l[i], l[i-1] = l[i-1], l[i]
		}
		return l
	})},
	{"copied", lineHit(func(r *rand.Rand, l []string) []string {
		i := r.IntN(len(l))
		return slices.Insert(l, i+r.IntN(len(l)-i+1), l[i])
	})},
	{"lost", lineHit(func(r *rand.Rand, l []string) []string { i := r.IntN(len(l)); return slices.Delete(l, i, i+1) })},
	{"torn", lineHit(func(r *rand.Rand, l []string) []string {
		i := r.IntN(len(l))
		l[i] = l[i][:r.IntN(len(l[i])+1)]
		return l
	})},
	{"torn at the end", func(r *rand.Rand, raw, _ string) string {
		at := strings.LastIndexByte(strings.TrimSuffix(raw, "\n"), '\n') + 1
		return raw[:at+r.IntN(len(raw)-at)]
	}},
	{"torn and joined", func(r *rand.Rand, raw, _ string) string {
		at := 0
		if i := r.IntN(len(raw)); i > 0 {
			at = strings.IndexByte(raw[i:], '\n') + i
		}
		if at <= 1 {
			return raw
		}
		return raw[:at-r.IntN(min(at, 60))] + raw[at+1:]
	}},
	{"written twice", func(_ *rand.Rand, raw, _ string) string { return raw + raw }},
	{"another session behind", func(_ *rand.Rand, raw, other string) string { return raw + other }},
	{"two sessions and a copy", func(_ *rand.Rand, raw, other string) string { return raw + other + raw }},
	{"two sessions interleaved", func(r *rand.Rand, raw, other string) string {
		a, b := strings.SplitAfter(raw, "\n"), strings.SplitAfter(other, "\n")
		var out strings.Builder
		for len(a)+len(b) > 0 {
			if len(b) == 0 || len(a) > 0 && r.IntN(2) == 0 {
				out.WriteString(a[0])
				a = a[1:]
			} else {
				out.WriteString(b[0])
				b = b[1:]
			}
		}
		return out.String()
	}},
	{"blank lines", lineHit(func(r *rand.Rand, l []string) []string { return slices.Insert(l, r.IntN(len(l)), "", "  ") })},
	{"marks of a merge", lineHit(func(r *rand.Rand, l []string) []string { return slices.Insert(l, r.IntN(len(l)), "<<<<<<< HEAD") })},
	{"huge line", lineHit(func(r *rand.Rand, l []string) []string {
		i := r.IntN(len(l))
		l[i] = strings.Replace(l[i], "output of", strings.Repeat("output ", 1<<14)+"of", 1)
		return l
	})},
	{"a new type", lineHit(func(r *rand.Rand, l []string) []string {
		return slices.Insert(l, r.IntN(len(l)), `{"type":"from-the-future","version":"99.0","payload":{"keep":1.0e2}}`)
	})},
	{"a new version", func(_ *rand.Rand, raw, _ string) string {
		return strings.NewReplacer(`"version":"2.1.325"`, `"version":"3.0.0"`, `"cli_version":"0.166.0"`, `"cli_version":"9.0.0"`, `"version":3`, `"version":4`).Replace(raw)
	}},
	{"bytes that are no text", lineHit(func(r *rand.Rand, l []string) []string {
		i := r.IntN(len(l))
		l[i] = strings.Replace(l[i], "please", "pl\xffease", 1)
		return l
	})},
}

var spoken = regexp.MustCompile(`user[ab]?[0-9]{4}`)

// userWords returns the numbers of the user's words in a text.
func userWords(raw string) map[string]bool {
	all := make(map[string]bool)
	for _, w := range spoken.FindAllString(raw, -1) {
		all[w] = true
	}
	return all
}

// A resumed is the sent part of a file: the words of the user, and the calls and results in order.
// It is derived from the description of the formats.
type resumed struct {
	words map[string]bool
	pairs []string // "call id" and "result id"
}

func goesOn(client string, raw string) resumed {
	out := resumed{words: make(map[string]bool)}
	say := func(v any) {
		text, _ := json.Marshal(v)
		maps.Copy(out.words, userWords(string(text)))
	}
	var lines []fields
	for line := range strings.Lines(raw) {
		var f fields
		if json.Unmarshal([]byte(strings.ToValidUTF8(line, "\uFFFD")), &f) == nil && f != nil {
			lines = append(lines, f)
		}
	}
	text := func(f fields, name string) string { t, _ := f[name].(string); return t }
	inner := func(f fields, name string) fields { m, _ := f[name].(map[string]any); return m }
	list := func(f fields, name string) (all []fields) {
		items, _ := f[name].([]any)
		for _, x := range items {
			if m, ok := x.(map[string]any); ok {
				all = append(all, m)
			}
		}
		return all
	}
	switch client {
	case "claude-code", "claude-code-1":
		byID, parents := make(map[string]fields), make(map[string]bool)
		var order []string
		for _, f := range lines {
			kind := text(f, "type")
			if id := text(f, "uuid"); id != "" && (kind == "user" || kind == "assistant" || kind == "system" || kind == "attachment") {
				if byID[id] == nil {
					order = append(order, id)
				}
				byID[id] = f
			}
		}
		speaks := func(f fields) bool { return text(f, "type") == "user" || text(f, "type") == "assistant" }
		for _, id := range order {
			if f := byID[id]; f["isSidechain"] != true && speaks(f) {
				for p, n := byID[text(f, "parentUuid")], 0; p != nil && n < len(order); p, n = byID[text(p, "parentUuid")], n+1 {
					if speaks(p) {
						if text(p, "uuid") != id {
							parents[text(p, "uuid")] = true
						}
						break
					}
				}
			}
		}
		var leaf fields
		for _, id := range order {
			if f := byID[id]; f["isSidechain"] != true && speaks(f) && !parents[id] && (leaf == nil || text(f, "timestamp") > text(leaf, "timestamp")) {
				leaf = f
			}
		}
		seen := make(map[string]bool)
		for f := leaf; f != nil && !seen[text(f, "uuid")]; f = byID[text(f, "parentUuid")] {
			seen[text(f, "uuid")] = true
			if text(f, "type") == "user" {
				say(inner(f, "message")["content"])
			}
		}
	case "pi":
		byID, last := make(map[string]fields), fields(nil)
		for _, f := range lines {
			if text(f, "type") != "session" {
				byID[text(f, "id")], last = f, f
			}
		}
		var path []fields
		for f := last; f != nil && len(path) <= len(lines); f = byID[text(f, "parentId")] {
			path = append(path, f)
			if text(f, "parentId") == "" {
				break
			}
		}
		slices.Reverse(path)
		from := 0
		for at, f := range path {
			if text(f, "type") == "compaction" {
				from = at
				for k := range path[:at] {
					if text(path[k], "id") == text(f, "firstKeptEntryId") {
						from = k
					}
				}
			}
		}
		for _, f := range path[from:] {
			m := inner(f, "message")
			switch text(m, "role") {
			case "user":
				say(m["content"])
			case "assistant":
				for _, b := range list(m, "content") {
					if text(b, "type") == "toolCall" {
						out.pairs = append(out.pairs, "call "+text(b, "id"))
					}
				}
			case "toolResult":
				out.pairs = append(out.pairs, "result "+text(m, "toolCallId"))
			}
		}
	case "codex":
		if len(lines) == 0 || text(lines[0], "type") != "session_meta" {
			return out // not opened
		}
		paged := text(inner(lines[0], "payload"), "history_mode") == "paginated"
		item := func(p fields) {
			switch text(p, "type") {
			case "message":
				if text(p, "role") == "user" {
					say(p["content"])
				}
			case "function_call":
				out.pairs = append(out.pairs, "call "+text(p, "call_id"))
			case "function_call_output":
				out.pairs = append(out.pairs, "result "+text(p, "call_id"))
			}
		}
		for _, f := range lines {
			p := inner(f, "payload")
			switch text(f, "type") {
			case "response_item":
				item(p)
			case "session_meta":
				if paged {
					out.words, out.pairs = make(map[string]bool), nil
				}
			case "compacted":
				out.words, out.pairs = make(map[string]bool), nil
				for _, x := range list(p, "replacement_history") {
					item(x)
				}
			}
		}
	case "gemini-cli":
		var order []string
		byID := make(map[string]fields)
		put := func(f fields) {
			if byID[text(f, "id")] == nil {
				order = append(order, text(f, "id"))
			}
			byID[text(f, "id")] = f
		}
		for _, f := range lines {
			set := inner(f, "$set")
			switch {
			case text(f, "id") != "":
				put(f)
			case set["messages"] != nil:
				order, byID = nil, make(map[string]fields)
				for _, m := range list(set, "messages") {
					put(m)
				}
			}
		}
		for _, id := range order {
			if text(byID[id], "type") == "user" {
				say(byID[id]["content"])
			}
		}
	}
	return out
}

// unpaired returns the first call without a result directly after it, or result without its call.
func unpaired(pairs []string) string {
	open := make(map[string]bool)
	for _, p := range pairs {
		if id, ok := strings.CutPrefix(p, "call "); ok {
			open[id] = true
		} else if id, _ := strings.CutPrefix(p, "result "); !open[id] {
			return p
		} else {
			delete(open, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		return "call " + id
	}
	return ""
}

// TestSessionsWithRandomDamage damages random sessions of all agents that keep lines. After a fix
// the agent sends all text of the user that it sent before and that is in intact lines, every call
// is answered, a second fix changes nothing, and the file still contains all text of the user.
func TestSessionsWithRandomDamage(t *testing.T) {
	for _, client := range slices.Sorted(maps.Keys(generators)) {
		t.Run(client, func(t *testing.T) {
			for n := range trial.Histories(100) {
				seed := trial.FirstSeed() + uint64(n)
				r := rand.New(rand.NewPCG(23, seed))
				a, b := &sessionGenerator{r: r}, &sessionGenerator{r: r, seed: "b"}
				generators[client].write(a)
				generators[client].write(b)
				whole := joinLines(a.lines)
				raw, name := whole, generators[client].file
				var done []string
				mixed, swapped, lost := false, false, false
				vague := false // the place of a line is ambiguous
				for range r.IntN(4) {
					m := corruptions[r.IntN(len(corruptions))]
					if len(raw) < 200 || mixed && strings.Contains(m.name, "session") {
						break
					}
					raw = m.hit(r, raw, joinLines(b.lines))
					mixed = mixed || strings.Contains(m.name, "session")
					swapped = swapped || strings.Contains(m.name, "swapped")
					lost = lost || strings.Contains(m.name, "lost") || strings.Contains(m.name, "torn") || strings.Contains(m.name, "null")
					done = append(done, m.name)
				}
				// Only the order of lines separates the parts before a compaction, on a branch, or
				// in an older version.
				switch client {
				case "claude-code", "claude-code-1":
					vague = swapped && lost
				case "gemini-cli":
					vague = swapped || lost && slices.Contains(done, "copied")
				default:
					vague = swapped
				}
				if faults := sessionRelations(client, name, whole, joinLines(b.lines), raw, mixed, vague, slices.Contains(done, "lost")); len(faults) > 0 {
					t.Errorf("seed %d: %s:\n  %s", seed, strings.Join(done, ", "), strings.Join(faults, "\n  "))
				}
			}
		})
	}
}

// sessionRelations returns the promises that a damaged file violates. The file may be mixed with
// another one.
func sessionRelations(client, name, whole, other, raw string, mixed, vague, lost bool) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	format := map[string]Format{"claude-code": ClaudeCode, "claude-code-1": ClaudeCode, "codex": Codex, "pi": Pi, "gemini-cli": GeminiCLI}[client]
	open := func(raw string) (*Log, *Fixed) {
		rest, marked := strings.CutPrefix(raw, "\ufeff")
		if f, ok := Detect(name, []byte(rest)); !ok || f != format {
			wrong("it is taken for %v", f)
			return nil, nil
		}
		l, err := Read(name, []byte(rest), Options{HasByteOrderMark: marked})
		if err != nil {
			wrong("read: %v", err)
			return nil, nil
		}
		fixed, err := l.Fix(Options{})
		if err != nil {
			wrong("fix: %v", err)
			return nil, nil
		}
		return l, fixed
	}
	l, fixed := open(raw)
	if l == nil {
		return faults
	}
	now := string(fixed.Raw)
	if len(fixed.Changes) == 0 && now != strings.TrimPrefix(raw, "\ufeff") {
		wrong("changed, and nobody says so")
	}
	for _, f := range fixed.Remaining {
		// A repair that would hide words of the user is not made, as with two rollouts in one file.
		if f.Effect == Refused && !(mixed && format == Codex) {
			wrong("left: %s in line %d", f.Rule, f.Line)
		}
	}
	again, second := open(now)
	if again == nil {
		return faults
	}
	if found := again.Check(wire.CheckOptions{}); len(fixed.Remaining) == 0 && Broken(found) {
		wrong("still broken: %s", found[0].Rule)
	}
	if string(second.Raw) != now || len(second.Changes) > 0 {
		wrong("a second fix: %+v", second.Changes)
	}
	before, after, meant, theirs := goesOn(client, strings.TrimPrefix(raw, "\ufeff")), goesOn(client, now), goesOn(client, whole), goesOn(client, other)
	for _, w := range slices.Sorted(maps.Keys(before.words)) {
		// A lost compaction hides nothing. A Claude Code file is named after its session.
		if !after.words[w] && (meant.words[w] || theirs.words[w] && format != ClaudeCode) {
			wrong("%s was sent, and is not any more", w)
		}
	}
	if !mixed && !vague {
		intact := make(map[string]bool)
		for line := range strings.Lines(strings.TrimPrefix(raw, "\ufeff")) {
			if strings.Contains(line, "event_msg") && lost {
				continue // the loss of the line cannot be detected
			}
			if line = strings.TrimSpace(line); strings.Contains(whole, line+"\n") {
				maps.Copy(intact, userWords(line))
			}
		}
		for _, w := range slices.Sorted(maps.Keys(meant.words)) {
			if intact[w] && !after.words[w] {
				wrong("%s is whole in the file, and is not sent", w)
			}
		}
	}
	for w := range userWords(raw) {
		if strings.Count(now, w) < 1 {
			wrong("%s is not in the file any more", w)
		}
	}
	if p := unpaired(after.pairs); p != "" && !Broken(fixed.Remaining) {
		wrong("alone: %s", p)
	}
	// Which may name the other session.
	if strings.HasPrefix(client, "claude") && !(mixed && strings.Contains(raw, "last-prompt")) {
		calls, results := resume([]byte(now))
		for id, n := range calls {
			if results[id] != n {
				wrong("call %s is sent %d times, and answered %d times", id, n, results[id])
			}
		}
		for id := range results {
			if calls[id] == 0 {
				wrong("result %s is sent without its call", id)
			}
		}
	}
	// Lines without a change are unchanged.
	if missing := missingLines(raw, now); missing > len(fixed.Changes) {
		wrong("%d lines are gone, and %d changes told", missing, len(fixed.Changes))
	}
	return faults
}

// missingLines returns the number of lines of raw that are not in now.
func missingLines(raw, now string) (n int) {
	have := make(map[string]int)
	for line := range bytes.Lines([]byte(now)) {
		have[string(bytes.TrimSpace(line))]++
	}
	for line := range strings.Lines(strings.TrimPrefix(raw, "\ufeff")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if have[line]--; have[line] < 0 {
			n++
		}
	}
	return n
}
