package agentlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// A lineDamage damages the lines of a file like a real incident.
type lineDamage struct {
	name string
	hit  func(r *rand.Rand, lines [][]byte) [][]byte
}

var lineDamages = []lineDamage{
	{"drop", func(r *rand.Rand, lines [][]byte) [][]byte {
		i := r.IntN(len(lines))
		return append(append([][]byte{}, lines[:i]...), lines[i+1:]...)
	}},
	{"drop run", func(r *rand.Rand, lines [][]byte) [][]byte {
		i := r.IntN(len(lines))
		k := min(len(lines), i+1+r.IntN(5))
		return append(append([][]byte{}, lines[:i]...), lines[k:]...)
	}},
	{"duplicate", func(r *rand.Rand, lines [][]byte) [][]byte {
		i := r.IntN(len(lines))
		return append(append([][]byte{}, lines[:i+1]...), lines[i:]...)
	}},
	{"duplicate far", func(r *rand.Rand, lines [][]byte) [][]byte {
		return append(append([][]byte{}, lines...), lines[r.IntN(len(lines))])
	}},
	{"swap", func(r *rand.Rand, lines [][]byte) [][]byte {
		out := append([][]byte{}, lines...)
		if len(out) > 1 {
			i := r.IntN(len(out) - 1)
			out[i], out[i+1] = out[i+1], out[i]
		}
		return out
	}},
	{"join", func(r *rand.Rand, lines [][]byte) [][]byte {
		if len(lines) < 2 {
			return lines
		}
		i := r.IntN(len(lines) - 1)
		out := append([][]byte{}, lines[:i]...)
		out = append(out, append(bytes.Clone(lines[i]), lines[i+1]...))
		return append(out, lines[i+2:]...)
	}},
	{"break", func(r *rand.Rand, lines [][]byte) [][]byte {
		out := append([][]byte{}, lines...)
		i := r.IntN(len(out))
		if len(out[i]) > 2 {
			out[i] = out[i][:1+r.IntN(len(out[i])-1)]
		}
		return out
	}},
	{"break and join", func(r *rand.Rand, lines [][]byte) [][]byte {
		if len(lines) < 2 {
			return lines
		}
		i := r.IntN(len(lines) - 1)
		if len(lines[i]) < 2 {
			return lines
		}
		out := append([][]byte{}, lines[:i]...)
		out = append(out, append(bytes.Clone(lines[i][:1+r.IntN(len(lines[i])-1)]), lines[i+1]...))
		return append(out, lines[i+2:]...)
	}},
	{"truncate", func(r *rand.Rand, lines [][]byte) [][]byte {
		out := append([][]byte{}, lines[:1+r.IntN(len(lines))]...)
		if n := len(out) - 1; len(out[n]) > 2 {
			out[n] = out[n][:1+r.IntN(len(out[n])-1)]
		}
		return out
	}},
	{"comment", func(r *rand.Rand, lines [][]byte) [][]byte {
		i := r.IntN(len(lines))
		out := append([][]byte{}, lines[:i]...)
		return append(append(out, []byte("// edited by hand")), lines[i:]...)
	}},
	{"behead", func(r *rand.Rand, lines [][]byte) [][]byte { return lines[r.IntN(len(lines)):] }},
}

// lineFiles returns the corpus files with lines, truncated so that they can be damaged many times.
func lineFiles(t testing.TB) []sample {
	var all []sample
	for _, s := range samples(t, agentFolders...) {
		if !strings.Contains(s.name, ".jsonl") || strings.Contains(s.name, "claude-small") {
			continue // fifty of its lines have the same uuid after sanitizing
		}
		lines := bytes.SplitAfter(s.raw, []byte("\n"))
		size, n := 0, 0
		for n < len(lines) && size < 150_000 {
			size += len(lines[n])
			n++
		}
		all = append(all, sample{name: s.name, raw: bytes.Join(lines[:n], nil)})
		if n < len(lines) { // take the beginning and the end of the session, which differ
			size, n = 0, len(lines)
			for n > 0 && size < 150_000 {
				n--
				size += len(lines[n])
			}
			all = append(all, sample{name: s.name, raw: bytes.Join(lines[n:], nil)})
		}
	}
	return all
}

// TestDamage damages real files at random and checks that the result is clean and stable and that
// unnamed lines are unchanged.
func TestDamage(t *testing.T) {
	rounds := trial.Histories(3)
	for k, s := range lineFiles(t) {
		for n := range rounds {
			r := rand.New(rand.NewPCG(uint64(k), uint64(n)))
			lines := bytes.Split(bytes.TrimRight(s.raw, "\n"), []byte("\n"))
			var done []string
			for range 1 + r.IntN(6) {
				b := lineDamages[r.IntN(len(lineDamages))]
				if lines = b.hit(r, lines); len(lines) == 0 {
					break
				}
				done = append(done, b.name)
			}
			raw := bytes.Join(lines, []byte("\n"))
			if f, ok := Detect(s.name, raw); !ok || f != mustFormat(s.name) {
				continue // too damaged to be detected
			}
			ok := t.Run(fmt.Sprintf("%d/%d", k, n), func(t *testing.T) {
				l := mustRead(t, s.name, raw)
				fixed, err := l.Fix(Options{})
				if err != nil {
					t.Fatal(err)
				}
				verify(t, s.name, raw, fixed)
				untouched(t, raw, fixed)
				if l.Format == ClaudeCode {
					resumable(t, s.name, fixed.Raw)
					more, err := l.Fix(Options{AppendOnly: true})
					if err != nil || !bytes.HasPrefix(more.Raw, raw) {
						t.Errorf("append only: %v", err)
					}
					resumable(t, s.name, more.Raw)
					twice, err := mustRead(t, s.name, more.Raw).Fix(Options{AppendOnly: true})
					if err != nil || !bytes.Equal(twice.Raw, more.Raw) {
						t.Errorf("append only, a second time: %v, %d bytes more", err, len(twice.Raw)-len(more.Raw))
					}
					for _, f := range more.Remaining {
						if f.Thread == "main" {
							t.Errorf("append only: left: line %d: %s", f.Line, f.Rule)
						}
					}
				}
			})
			if !ok {
				t.Fatalf("%s, round %d: %v", s.name, n, done)
			}
		}
	}
}

// TestDamagedLists removes, copies and swaps elements of files that are lists.
func TestDamagedLists(t *testing.T) {
	rounds := trial.Size(10)
	for k, s := range samples(t, "gemini_cli", "cline", "goose", "adk_session", "openhands_events") {
		l := mustRead(t, s.name, s.raw)
		for n := range rounds {
			r := rand.New(rand.NewPCG(uint64(k), uint64(n)))
			out := s.raw
			for i := len(l.lists) - 1; i >= 0; i-- {
				li := l.lists[i]
				var elems [][]byte
				for _, u := range l.units[li.first:li.end] {
					elems = append(elems, l.raw[u.span.Start:u.span.End])
				}
				for range 1 + r.IntN(4) {
					if len(elems) > 0 {
						elems = lineDamages[r.IntN(5)].hit(r, elems)
					}
				}
				raw := append([]byte{}, out[:li.span.Start]...)
				raw = append(append(append(raw, '['), bytes.Join(elems, []byte(", "))...), ']')
				out = append(raw, out[li.span.End:]...)
			}
			for _, p := range []wire.Repair{{}, {OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}} {
				o := Options{Format: l.Format, Repair: p}
				damaged, err := Read(s.name, out, o)
				if err != nil {
					t.Fatal(err)
				}
				fixed, err := damaged.Fix(o)
				if err != nil {
					t.Fatal(err)
				}
				if len(fixed.Remaining) > 0 {
					t.Fatalf("%s, round %d, %v: left: %+v", s.name, n, p, fixed.Remaining[0])
				}
			}
		}
	}
}

// TestDamagedTree adds ids and parents to a linear pi session, damages it, and follows the links of
// the result.
func TestDamagedTree(t *testing.T) {
	lines := bytes.Split(bytes.TrimRight(find(t, "large-session").raw, "\n"), []byte("\n"))[:160]
	lines[0] = setMembers(lines[0], "version", []byte("3"))
	for i, l := range lines[1:] {
		parent := uuidOrNull(fmt.Sprintf("%08x", i-1))
		if i == 0 {
			parent = uuidOrNull("")
		}
		lines[i+1] = setMembers(l, "id", fmt.Sprintf("%08x", i), "parentId", parent)
	}
	for n := range trial.Size(40) {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		bad := lines
		for range r.IntN(5) {
			b := lineDamages[r.IntN(len(lineDamages)-1)] // the head keeps it a session
			bad = b.hit(r, bad)
		}
		raw := bytes.Join(bad, []byte("\n"))
		l, err := Read("x", raw, Options{Format: Pi})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("x", fixed.Raw, Options{Format: Pi})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(fixed.Remaining, again.Check(wire.CheckOptions{})...) {
			if f.Rule != "broken-line" && f.Effect != Cosmetic {
				t.Fatalf("round %d: left: line %d: %s %s", n, f.Line, f.Thread, f.Rule)
			}
		}
		if a, b := l.Threads[0].Messages(), again.Threads[0].Messages(); b < a-8 {
			t.Errorf("round %d: %d messages were linked, now %d", n, a, b)
		}
	}
}

func mustFormat(name string) Format {
	folder, _, _ := strings.Cut(name, "/")
	return map[string]Format{
		"claude_code": ClaudeCode, "codex_rollout": Codex, "pi_session": Pi, "gemini_cli": GeminiCLI, "cline": Cline, "goose": Goose,
		"openhands_events": OpenHands, "adk_session": ADK,
	}[folder]
}

// untouched checks that lines are missing only as changes report, and that the remaining lines keep
// their order unless something was moved.
func untouched(t testing.TB, raw []byte, fixed *Fixed) {
	t.Helper()
	split := func(b []byte) []string {
		var all []string
		for l := range bytes.Lines(b) {
			if l = bytes.TrimRight(l, "\r\n"); len(bytes.TrimSpace(l)) > 0 {
				all = append(all, string(l))
			}
		}
		return all
	}
	before, after := split(raw), split(fixed.Raw)
	have := make(map[string]int)
	for _, l := range after {
		have[l]++
	}
	missing := 0
	var stay []string // lines that differ from all others
	times := make(map[string]int)
	for _, l := range before {
		times[l]++
	}
	for _, l := range before {
		if have[l] == 0 {
			missing++
			continue
		}
		have[l]--
		if times[l] == 1 {
			stay = append(stay, l)
		}
	}
	moved := false
	changes := 0
	for _, c := range fixed.Changes {
		// A removed copy may be the only one that was alone on its line.
		moved = moved || c.Action == "move" || strings.HasPrefix(c.Rule, "duplicate")
		changes++
	}
	if missing > changes {
		t.Errorf("%d lines are gone, but there are %d changes", missing, changes)
	}
	if moved {
		return
	}
	i := 0
	for _, l := range after {
		if i < len(stay) && stay[i] == l {
			i++
		}
	}
	if i < len(stay) {
		t.Errorf("line %q lost its place", stay[i][:min(80, len(stay[i]))])
	}
}
