package replay_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/tokens"
)

var update = flag.Bool("update", false, "replay the whole corpus and write the figures into docs/replay.md; takes ten minutes and more")

const (
	page  = "../../../docs/replay.md"
	begin = "<!-- figures: made by go test ./cmd/internal/replay -run TestCorpus -update -timeout 2h -->\n"
	end   = "<!-- end of figures -->\n"
)

// joined is the group of sessions that are there a second time.
const joined = "Claude Code, never compacted"

// policies are those of the tables; the naive ones and the plain window first.
func policies(t testing.TB, names ...string) []replay.Policy {
	var all []replay.Policy
	for _, name := range names {
		p, err := replay.ParsePolicy(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

var compared = []string{"everything", "sliding", "trim:cache", careful, "trim:low", "trim", "prune"}

const careful = "trim:cache,recent=16"

// TestCorpus: on real histories pare's policies send nothing that would be refused,
// and the books are in order. Without -update only short histories are replayed.
func TestCorpus(t *testing.T) {
	all := corpus(t)
	if !*update {
		most := 40_000
		if testing.Short() || trial.Race {
			most = 10_000
		}
		all = slices.DeleteFunc(all, func(h history) bool { return len(h.r.Raw()) > most })
	}
	var out strings.Builder
	repaired := 0
	for _, h := range all {
		if h.repaired > 0 {
			repaired++
		}
	}
	fmt.Fprintf(&out, "\n%d histories, %d of which had to be repaired before they could be replayed.\n", len(all), repaired)
	for _, limit := range []replay.Amount{{}, {Percent: 50}, {Percent: 25}} {
		if limit.Percent == 25 && !*update {
			break
		}
		results := run(t, all, replay.Options{Limit: limit, Policies: policies(t, compared...)})
		check(t, results)
		report(&out, limit, results)
	}
	if !*update {
		return
	}
	study(t, &out, all)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the figures", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+out.String()+end+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A played history is one with its result.
type played struct {
	history
	*replay.Result
}

func run(t testing.TB, all []history, o replay.Options) []played {
	var results []played
	for _, h := range all {
		res, err := replay.Replay(h.r, o)
		if err != nil {
			t.Fatalf("%s %s: %v", h.group, h.name, err)
		}
		results = append(results, played{h, res})
	}
	return results
}

func check(t testing.TB, all []played) {
	for _, p := range all {
		for i, run := range p.Runs {
			own := i >= 2
			for k, s := range run.Steps {
				if s.Read+s.Written+s.Input != s.Sent || s.Cached > s.Bytes {
					t.Errorf("%s %s, %s, request %d: %+v", p.group, p.name, run.Policy, k, s)
				}
				if own && s.Changed && len(s.Refused) > 0 && !slices.Equal(s.Refused, []string{replay.OverWindow}) {
					t.Errorf("%s %s, %s, request %d is refused: %v", p.group, p.name, run.Policy, k, s.Refused)
				}
				isDelta := dialect.Delta(p.r) != "" // its size is unknown, so no limit applies
				if own && run.Policy != "prune" && s.Sent > p.Limit && !s.Unfit && !isDelta {
					t.Errorf("%s %s, %s, request %d: %d tokens, the limit is %d", p.group, p.name, run.Policy, k, s.Sent, p.Limit)
				}
			}
		}
	}
}

// of sums up the results of one group, or of all but those that are there twice.
func of(all []played, group string) *replay.Result {
	var some []*replay.Result
	for _, p := range all {
		if p.group == group || group == "" && p.group != joined {
			some = append(some, p.Result)
		}
	}
	return replay.Sum("", some)
}

func groups(all []played) []string {
	var names []string
	for _, p := range all {
		if !slices.Contains(names, p.group) {
			names = append(names, p.group)
		}
	}
	return names
}

func report(out *strings.Builder, limit replay.Amount, all []played) {
	title := "The limit is the model's own window"
	if limit.Percent > 0 {
		title = fmt.Sprintf("The limit is %v of the history", limit)
	}
	fmt.Fprintf(out, "\n### %s\n\nAll groups but the joined sessions: %s\n", title, of(all, "").Markdown())
	fmt.Fprintf(out, "By group; shares of tokens and money are those of `everything`.\n\n")
	fmt.Fprint(out, "| group | histories | requests | `everything` sends | refused | `sliding` money | refused | `trim:cache` tokens | money | refused | blind edits | missed | left alone | `"+careful+"` tokens | money | refused | blind edits | missed | left alone |\n| --- |"+strings.Repeat(" --: |", 18)+"\n")
	for _, g := range append(groups(all), "") {
		s := of(all, g)
		name := g
		if g == "" {
			name = "**all but the joined sessions**"
		}
		e, sl := &s.Runs[0], &s.Runs[1]
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %s | %d |", name, s.Histories, s.Requests, e.Sent, e.Refused, cost(s, sl), sl.Refused)
		for _, i := range []int{2, 3} {
			r := &s.Runs[i]
			fmt.Fprintf(out, " %s | %s | %d | %d/%d | %d/%d | %d |", share(r.Sent, e.Sent), cost(s, r), r.Refused, r.Blind, s.Edits, r.Missed, s.Calls, r.Untouched)
		}
		out.WriteByte('\n')
	}
	cuts(out, all)
	if limit.Percent == 50 {
		sessions(out, all)
	}
}

func share(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// cost compares by money, or by weight where there is no price.
func cost(s *replay.Result, r *replay.Run) string {
	if s.Priced == 0 {
		return fmt.Sprintf("%.1f%%", 100*r.Weight/s.Runs[0].Weight)
	}
	return fmt.Sprintf("%.1f%%", 100*r.Money/s.Runs[0].Money)
}

// cuts counts, for each policy, how often what had been cached was rewritten, and in
// how many of these cases the history went on for long enough that it paid.
func cuts(out *strings.Builder, all []played) {
	fmt.Fprint(out, "\nCuts, and those after which the history went on for long enough to pay:\n\n| policy | cuts | paid | tokens removed, median | kept behind, median | requests to pay, median | requests left, median |\n| --- | --: | --: | --: | --: | --: | --: |\n")
	for i := 2; i < len(compared); i++ {
		var removed, kept, needed, left []int
		paid := 0
		for _, p := range all {
			if p.group == joined {
				continue
			}
			terms := tokens.CacheOf(p.Model)
			steps, whole := p.Runs[i].Steps, p.Runs[0].Steps
			for k := range steps {
				if !steps[k].Rewrote {
					continue
				}
				added := whole[k].Sent - whole[k-1].Sent
				r := max(steps[k-1].Sent+added-steps[k].Sent, 0)
				b := max(steps[k].Written+steps[k].Input-added, 0)
				n := terms.PaysAfter(r, b)
				if r == 0 {
					n = 1 << 30 // never
				}
				removed, kept, needed, left = append(removed, r), append(kept, b), append(needed, n), append(left, len(steps)-k-1)
				if n <= len(steps)-k-1 {
					paid++
				}
			}
		}
		if len(left) == 0 {
			fmt.Fprintf(out, "| `%s` | 0 | – | – | – | – | – |\n", compared[i])
			continue
		}
		fmt.Fprintf(out, "| `%s` | %d | %s | %d | %d | %d | %d |\n", compared[i], len(left), share(paid, len(left)), median(removed), median(kept), median(needed), median(left))
	}
}

func median(all []int) int {
	slices.Sort(all)
	return all[len(all)/2]
}

// sessions lists how much of what is sent stays cached, for each long session.
func sessions(out *strings.Builder, all []played) {
	fmt.Fprint(out, "\nShare of the bytes sent that are read from the cache, for each session of 40 requests and more:\n\n| session | requests | tokens | `everything` | `sliding` | `trim:cache` | `"+careful+"` | `trim:low` | `trim` | `prune` |\n| --- |"+strings.Repeat(" --: |", 9)+"\n")
	for _, p := range all {
		if p.group == joined || p.Requests < 40 {
			continue
		}
		name := p.name
		if _, rest, ok := strings.Cut(name, "__"); ok {
			_, name, _ = strings.Cut(rest, "__")
		}
		group, _, _ := strings.Cut(p.group, " (")
		fmt.Fprintf(out, "| %s %s | %d | %d |", group, strings.NewReplacer(".jsonl", "", ".json", "", ".gz", "").Replace(name), p.Requests, p.Tokens)
		for _, r := range p.Runs {
			fmt.Fprintf(out, " %s |", share(r.Cached, r.Bytes))
		}
		out.WriteByte('\n')
	}
}

// study tries the low mark and the recent exchanges, on the sessions of agents.
func study(t testing.TB, out *strings.Builder, all []history) {
	agents := slices.DeleteFunc(slices.Clone(all), func(h history) bool {
		return !strings.HasPrefix(h.group, "Claude Code") && !strings.HasPrefix(h.group, "pi") && !strings.HasPrefix(h.group, "Codex") && !strings.HasPrefix(h.group, "Cline") || h.group == joined
	})
	names := []string{"everything"}
	for _, low := range []string{"30%", "50%", "70%"} {
		for _, recent := range []int{2, 4, 8, 16} {
			names = append(names, fmt.Sprintf("trim:low=%s,recent=%d", low, recent))
		}
	}
	fmt.Fprintf(out, "\n### The low mark and the recent exchanges\n\nSessions of agents, the limit is 50%% of the history, trimmed only when they must be: %s\n", strings.TrimSuffix(of(run(t, agents, replay.Options{Limit: replay.Amount{Percent: 50}, Policies: policies(t, names...)}), "").Markdown(), "\n"))
	names = []string{"everything"}
	for _, recent := range []int{2, 4, 8, 16} {
		names = append(names, fmt.Sprintf("trim:cache,recent=%d", recent))
	}
	fmt.Fprintf(out, "\n### Trimming early\n\nSessions of agents, the limit is the model's own window, so that all trimming is done because it should pay: %s\n", of(run(t, agents, replay.Options{Policies: policies(t, names...)}), "").Markdown())
}
