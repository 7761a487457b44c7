package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// The model: a session is a list that grows at its end. Every operation takes effect at
// one moment between its call and its return. So
//
//   - the numbers that acknowledged appends report are 1, 2, 3, … without gap or double,
//     and each has the id that was appended;
//   - an append that returned before another one was called has the lower numbers;
//   - an exact append directly follows the head that it named;
//   - only results separate a call that was appended disjointly from its result;
//   - two compactions of a session do not overlap in time.
type operation struct {
	Session  string   `json:"session"`
	Kind     string   `json:"kind"` // exact, disjoint, compact
	Call     int64    `json:"call"` // the clock of the machine, which all processes share
	Return   int64    `json:"return"`
	Expected int64    `json:"expected"`
	IDs      []string `json:"ids"`
	Seqs     []int64  `json:"seqs"`
}

// clock returns a time that is comparable between processes.
func clock() int64 { return time.Now().UnixNano() }

// work is the main function of a writer process. Its writers append exchanges, some with Exactly
// and some with Disjoint, and sometimes compact. It prints its operations.
func work(dsn, name, plan string) {
	var sessions, writers, times int
	fmt.Sscanf(plan, "%d,%d,%d", &sessions, &writers, &times)
	ctx := context.Background()
	st, err := store.Open(ctx, dsn)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer st.Close()
	store.SettleAfter(st, 24)
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	say := func(o operation) {
		mu.Lock()
		defer mu.Unlock()
		out.Encode(o)
	}
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			seen := make(map[string]int64) // by session: a head at which nothing was open
			for i := range times {
				session := "s" + strconv.Itoa((w+i*writers)%sessions)
				id := fmt.Sprintf("%s-%d-%d", name, w, i)
				if w%2 == 0 {
					appendExactly(st, session, id, say)
				} else {
					seen[session] = appendDisjoint(st, session, id, seen[session], say)
				}
				if i%8 == 7 && w%4 == 0 {
					compactOnce(st, session, say)
				}
			}
		})
	}
	wait.Wait()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func record(o operation, result store.Appended, say func(operation)) {
	o.Return = clock()
	for _, e := range result.Entries {
		o.IDs, o.Seqs = append(o.IDs, e.ID), append(o.Seqs, e.Seq)
	}
	say(o)
}

// appendExactly appends two entries at the head, and repeats that until it succeeds.
func appendExactly(st *store.Store, session, id string, say func(operation)) {
	head := int64(0)
	for {
		o := operation{Session: session, Kind: "exact", Expected: head, Call: clock()}
		result, err := st.Append(ctx, store.ID(session), store.Exactly(head), store.Entry{ID: id + "s", Kind: "state", Raw: []byte(`{"a":1}`)}, store.Entry{ID: id + "t", Kind: "state", Raw: []byte(`2`)})
		var c *store.ConflictError
		switch {
		case err == nil:
			record(o, result, say)
			return
		case !errors.As(err, &c):
			fail(err)
		}
		head = c.Head
	}
}

// appendDisjoint appends a call and later its result, like a runner whose exchange must not be
// interrupted. It has seen the session as of its last result.
func appendDisjoint(st *store.Store, session, id string, head int64, say func(operation)) int64 {
	add := func(list ...store.Entry) {
		for pause := time.Millisecond; ; pause = min(2*pause, 32*time.Millisecond) {
			o := operation{Session: session, Kind: "disjoint", Expected: head, Call: clock()}
			result, err := st.Append(ctx, store.ID(session), store.Disjoint(head), list...)
			var c *store.ConflictError
			switch {
			case err == nil:
				record(o, result, say)
				head = result.Head
				return
			case !errors.As(err, &c):
				fail(err)
			case c.Head-head > int64(len(c.Missed)): // too many to list
				head = max(head, lastIdleSeq(st, session))
			}
			time.Sleep(pause) // until the other's exchange is answered
		}
	}
	add(store.Message(id+"u", user(id)), store.Message(id+"c", call(id)))
	add(store.Message(id+"r", result(id, "out")))
	return head
}

// lastIdleSeq returns the last number at which no call of the session is open. Only one call is open at
// a time, so the last call or result determines it.
func lastIdleSeq(st *store.Store, session string) int64 {
	for ask := (store.Page{Last: true}); ; {
		page, err := st.Page(ctx, store.ID(session), ask)
		if err != nil {
			fail(err)
		}
		for _, e := range slices.Backward(page.Entries) {
			switch last := e.ID[len(e.ID)-1]; {
			case e.Kind != store.KindMessage:
			case last == 'c':
				return e.Seq - 2 // the user message was appended with it
			case last == 'r':
				return e.Seq
			}
		}
		if page.Prev == "" {
			return 0
		}
		ask = store.Page{Before: page.Prev}
	}
}

func compactOnce(st *store.Store, session string, say func(operation)) {
	o := operation{Session: session, Kind: "compact"}
	_, err := st.Compact(ctx, store.ID(session), &pare.Compactor{MinKeep: 4, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
		o.Call = clock()
		time.Sleep(3 * time.Millisecond)
		o.Return = clock()
		return pare.Summary{Text: "before"}, nil
	}})
	var failed *pare.CompactionError
	if err != nil && !errors.Is(err, store.ErrBusy) && !errors.As(err, &failed) && !strings.Contains(err.Error(), "while the summary was written") {
		fail(err)
	}
	if o.Call > 0 {
		say(o)
	}
}

// processes runs several processes and returns their operations. If one fails, it kills the others,
// which would wait forever for its results.
func processes(t *testing.T, dsn string, n int, plan string) (all []operation) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		mu   sync.Mutex
		wait sync.WaitGroup
	)
	for i := range n {
		wait.Go(func() {
			did, err := process(ctx, dsn, "p"+strconv.Itoa(i), plan)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, did...)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				cancel()
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// process runs one process and returns its operations. If it fails, the error has its output.
func process(ctx context.Context, dsn, name, plan string) (all []operation, err error) {
	c := exec.CommandContext(ctx, os.Args[0], "child", "work", dsn, name, plan)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	for read := json.NewDecoder(out); ; {
		var o operation
		if err = read.Decode(&o); err != nil {
			break
		}
		all = append(all, o)
	}
	if err == io.EOF {
		err = nil
	}
	if died := c.Wait(); died != nil {
		err = died
	}
	if err != nil {
		return all, fmt.Errorf("process %s: %w: %s", name, err, errs.String())
	}
	return all, nil
}

// verifyOperations compares operations with the model.
func verifyOperations(t *testing.T, st *store.Store, all []operation) {
	t.Helper()
	bySession := make(map[string][]operation)
	for _, o := range all {
		bySession[o.Session] = append(bySession[o.Session], o)
	}
	for session, ops := range bySession {
		stored := make(map[int64]store.Entry)
		err := st.Export(ctx, store.ID(session), store.Export{All: true}, func(e store.Entry) error {
			stored[e.Seq] = e
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		judgeAppends(t, session, ops, stored)
		judgeCompactions(t, session, ops)
		judgeExchanges(t, session, stored)
	}
}

func judgeAppends(t *testing.T, session string, ops []operation, stored map[int64]store.Entry) {
	owner := make(map[int64]int) // by number: the operation
	for i, o := range ops {
		for k, seq := range o.Seqs {
			if _, twice := owner[seq]; twice {
				t.Errorf("%s: two appends were given number %d", session, seq)
			}
			owner[seq] = i
			if stored[seq].ID != o.IDs[k] {
				t.Errorf("%s: number %d is %q, but %q was acknowledged", session, seq, stored[seq].ID, o.IDs[k])
			}
			if k > 0 && seq != o.Seqs[k-1]+1 {
				t.Errorf("%s: the entries of one append are parted: %v", session, o.Seqs)
			}
		}
		if o.Kind == "exact" && o.Seqs[0] != o.Expected+1 {
			t.Errorf("%s: an exact append behind %d has number %d", session, o.Expected, o.Seqs[0])
		}
	}
	if len(owner) != len(stored) {
		t.Errorf("%s: %d entries are stored, %d were acknowledged", session, len(stored), len(owner))
	}
	// By return: no later call may have a lower number than what had returned before it.
	order := slices.DeleteFunc(slices.Clone(ops), func(o operation) bool { return len(o.Seqs) == 0 })
	slices.SortFunc(order, func(a, b operation) int { return int(a.Call - b.Call) })
	byReturn := slices.Clone(order)
	slices.SortFunc(byReturn, func(a, b operation) int { return int(a.Return - b.Return) })
	highest, at := int64(0), 0
	for _, o := range order {
		for at < len(byReturn) && byReturn[at].Return < o.Call {
			highest = max(highest, byReturn[at].Seqs[len(byReturn[at].Seqs)-1])
			at++
		}
		if o.Seqs[0] < highest {
			t.Errorf("%s: number %d was given to an append that was called after number %d had been acknowledged", session, o.Seqs[0], highest)
		}
	}
}

func judgeCompactions(t *testing.T, session string, ops []operation) {
	var runs []operation
	for _, o := range ops {
		if o.Kind == "compact" {
			runs = append(runs, o)
		}
	}
	slices.SortFunc(runs, func(a, b operation) int { return int(a.Call - b.Call) })
	for i := 1; i < len(runs); i++ {
		if runs[i].Call < runs[i-1].Return {
			t.Errorf("%s: two summaries were written at the same time", session)
		}
	}
}

func judgeExchanges(t *testing.T, session string, stored map[int64]store.Entry) {
	seqs := make([]int64, 0, len(stored))
	for seq := range stored {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	open := ""
	for _, seq := range seqs {
		id := stored[seq].ID
		kind, base := id[len(id)-1], id[:len(id)-1]
		switch {
		case kind == 'c':
			if open != "" {
				t.Errorf("%s: call %s stands inside the exchange of %s", session, base, open)
			}
			open = base
		case kind == 'r':
			if open != base {
				t.Errorf("%s: the answer of %s does not follow its call", session, base)
			}
			open = ""
		case kind == 'u' && open != "":
			t.Errorf("%s: %s parts the exchange of %s", session, id, open)
		}
	}
}

// TestManyWritersOneSession lets 32 writers in several processes append to one session.
func TestManyWritersOneSession(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		create(t, st, "s0")
		times := max(trial.Size(10)/10, 1) * 4
		all := processes(t, dsn, processCount(st), fmt.Sprintf("1,%d,%d", 32/processCount(st), times))
		verifyOperations(t, st, all)
		checkStore(t, st, store.ID("s0"))
		if want := 32 / processCount(st) * processCount(st) * times; len(all) < want {
			t.Errorf("%d operations, %d expected at least", len(all), want)
		}
	})
}

// TestManySessions lets many writers append to a thousand sessions.
func TestManySessions(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		n := roundCount(96, 1000)
		for i := range n {
			create(t, st, fmt.Sprintf("s%d", i))
		}
		all := processes(t, dsn, processCount(st), fmt.Sprintf("%d,16,%d", n, (n+15)/16))
		verifyOperations(t, st, all)
		touched := make(map[string]bool)
		for _, o := range all {
			touched[o.Session] = true
		}
		if len(touched) != n {
			t.Errorf("%d sessions of %d were written to", len(touched), n)
		}
		checkStore(t, st)
	})
}

// processCount returns the number of processes that share a database.
func processCount(st *store.Store) int {
	if st.Engine() == "sqlite" {
		return 2
	}
	return 3
}
