package store_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
)

// compactionCount returns the number of compactions of a session.
func compactionCount() int {
	switch {
	case trial.Soak():
		return 200
	case testing.Short():
		return 12
	}
	return 20
}

// verboseSummarizer is a summarizer that exceeds its limit, like some models.
func verboseSummarizer(_ context.Context, h pare.Removed) (pare.Summary, error) {
	text := ""
	for _, b := range h.Blocks {
		for _, l := range strings.Split(h.Text(b), "\n") {
			text += "- " + l + "\n"
		}
		if len(text) > 12*h.MaxTokens {
			break
		}
	}
	return pare.Summary{Text: text + "- and so on"}, nil
}

var overSummary = regexp.MustCompile(`\[pare: (?:level \d+: )?(?:(\d+) turns?, )?\d+ blocks? of \d+ bytes, here in \d+, archived as (pare-[0-9a-z]+)\]`)

// factTurn returns a turn with a fact and a decision.
func factTurn(turn int) [][]byte {
	id := fmt.Sprintf("toolu_%d", turn)
	return [][]byte{user("Please note that " + trial.Fact(turn)), call(id), result(id, strings.Repeat("lines of it ", 20)),
		assistant(fmt.Sprintf("We decided to keep %s the tests need it. %s", trial.Decision(turn), strings.Repeat("More words. ", 10)))}
}

// checkFacts checks that the facts of all turns are in the window of a session or recallable, and that
// every turn is in the window or named.
func checkFacts(t *testing.T, st *store.Store, key store.Key, at string, turns int) {
	t.Helper()
	w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{}})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, w.Body)
	all, gone := bytes.NewBuffer(bytes.Clone(w.Body)), 0
	for _, m := range overSummary.FindAllStringSubmatch(string(w.Body), -1) {
		n, _ := strconv.Atoi(m[1])
		gone += n
		raw, err := st.Recall(ctx, key.Scope, m[2])
		if err != nil || !json.Valid(raw) {
			t.Fatalf("%s: recall %s: %v", at, m[2], err)
		}
		all.Write(raw)
	}
	if i := trial.FirstMissingTurn(all.String(), turns); i < turns {
		t.Fatalf("%s: turn %d is out of reach\n%.3000s", at, i, w.Body)
	}
	// All turns but the task and those at the end are named.
	summary, _, _ := strings.Cut(string(w.Body), wording.SummaryEnd)
	_, summary, _ = strings.Cut(summary, wording.SummaryBegin)
	if left := strings.Count(string(w.Body), "Please note that item-") - strings.Count(summary, "Please note that item-"); gone+left != turns {
		t.Fatalf("%s: %d turns, %d are there and summaries stand for %d\n%s", at, turns, left, gone, summary)
	}
}

// runCompactor is the main function of a process that is killed. It appends turns, compacts, and
// prints both.
func runCompactor(dsn, from string) {
	st, err := store.Open(ctx, dsn)
	c := &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MinKeep: 8, MaxTokens: 800}
	for turn, _ := strconv.Atoi(from); err == nil; turn += 25 {
		var list []store.Entry
		for i := turn; i < turn+25; i++ {
			for k, m := range factTurn(i) {
				list = append(list, store.Message(fmt.Sprintf("m%d-%d", i, k), m))
			}
		}
		if _, err = st.Append(ctx, store.ID("endless"), store.Anywhere, list...); err != nil {
			break
		}
		fmt.Println("turns", turn+25)
		var compaction *store.Compaction
		if compaction, err = st.Compact(ctx, store.ID("endless"), c); errors.Is(err, store.ErrBusy) {
			err = nil // the server may finish the request of a killed process late
		} else if err == nil && compaction != nil {
			fmt.Println("tokens", tokens.For("claude-sonnet-4-5").Count([]byte(compaction.Summary)))
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilledCompactions kills a process that appends and compacts. Acknowledged entries must exist
// once, summaries must be within their limit, and every fact must be in the window or recallable.
func TestKilledCompactions(t *testing.T) {
	durableEngines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		key := create(t, st, "endless")
		r := rand.New(rand.NewPCG(3, 4))
		turns, made, kills := 0, 0, 0
		for ; made < compactionCount(); kills++ {
			child := exec.Command(os.Args[0], "child", "compacting", dsn, strconv.Itoa(turns))
			child.Stderr = os.Stderr
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			after, late := 1+r.IntN(6), time.Duration(r.IntN(20_000))*time.Microsecond
			lines, said := bufio.NewScanner(out), 0
			for lines.Scan() {
				what, number, ok := strings.Cut(lines.Text(), " ")
				n, err := strconv.Atoi(number)
				switch {
				case !ok || err != nil: // cut off
				case what == "turns":
					turns = n
				default:
					if made++; n > 800 {
						t.Errorf("after %d kills: a summary of %d tokens", kills, n)
					}
				}
				if said++; said == after {
					time.AfterFunc(late, func() { child.Process.Kill() })
				}
			}
			if err := child.Wait(); child.ProcessState.ExitCode() != -1 {
				t.Fatalf("after %d kills: the child ended by itself: %v", kills, err)
			}
			// The killed process holds the lease for another minute.
			if err := st.Exec(`DELETE FROM leases`); err != nil {
				t.Fatal(err)
			}
			if kills%10 == 9 {
				// The last append may be there without having been acknowledged.
				head := 0
				if err := st.Export(ctx, key, store.Export{All: true}, func(e store.Entry) error {
					if e.Kind == store.KindMessage {
						head++
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if there := head / 4; head%4 != 0 || there < turns || there > turns+25 {
					t.Fatalf("after %d kills: %d messages, %d turns were acknowledged", kills, head, turns)
				}
				checkFacts(t, st, key, fmt.Sprintf("after %d kills", kills), head/4)
			}
		}
		checkStore(t, st)
		t.Logf("%d kills, %d compactions, %d turns", kills, made, turns)
	})
}

// TestEndlessSession compacts a session of thousands of turns hundreds of times on both databases.
// Summaries must be within their limit, and every fact in the window or recallable.
func TestEndlessSession(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for name, s := range map[string]pare.Summarizer{"extract": summary.Extract(summary.ExtractOptions{}), "model": verboseSummarizer, "archive": nil} {
			key := create(t, st, "endless-"+name)
			c := &pare.Compactor{Summarize: s, MinKeep: 8, MaxTokens: 800, Memory: st.Memory()}
			turns, condensed := 0, false
			for round := range compactionCount() {
				var list [][]byte
				for range 25 {
					list = append(list, factTurn(turns)...)
					turns++
				}
				put(t, st, key, list...)
				compaction, err := st.Compact(ctx, key, c)
				if err != nil || compaction == nil {
					t.Fatalf("%s, round %d: %v, %v", name, round, compaction, err)
				}
				if n := tokens.For("claude-sonnet-4-5").Count([]byte(compaction.Summary)); n > 800 {
					t.Fatalf("%s, round %d: %d tokens\n%s", name, round, n, compaction.Summary)
				}
				condensed = condensed || strings.Contains(compaction.Summary, "[pare: level 2: ")
				if round%10 != 9 && round != compactionCount()-1 {
					continue
				}
				checkFacts(t, st, key, fmt.Sprintf("%s, round %d", name, round), turns)
			}
			if !condensed {
				t.Errorf("%s: nothing was ever condensed", name)
			}
		}
		if problems, err := st.Fsck(ctx, false); err != nil || len(problems) > 0 {
			t.Error(problems, err)
		}
	})
}
