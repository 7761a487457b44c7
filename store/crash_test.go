package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// child is what a process does that is killed: four writers append whole and open
// exchanges, and single messages, to three sessions, a fifth compacts and reverts. Each
// append that was acknowledged is printed.
func child(args []string) {
	ctx := context.Background()
	if args[0] == "work" {
		work(args[1], args[2], args[3])
		return
	}
	if args[0] == "full" {
		fill(args[1])
		return
	}
	if args[0] == "open" {
		st, err := store.Open(ctx, args[1])
		if err == nil {
			_, err = st.Append(ctx, store.ID("s0"), store.Anywhere, store.Message("", user("x")))
			if errors.Is(err, store.ErrNotFound) {
				err = nil
			}
			st.Close()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	st, err := store.Open(ctx, args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	run, batch := args[2], args[3]
	var out sync.Mutex
	ack := func(session, id string) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf("%s %s\n", session, id)
	}
	for w := range 4 {
		go func() {
			r := rand.New(rand.NewPCG(uint64(w), uint64(time.Now().UnixNano())))
			for i := 0; ; i++ {
				session := fmt.Sprintf("%s.%d", batch, r.IntN(3))
				id := fmt.Sprintf("%s-%d-%d", run, w, i)
				list := []store.Entry{store.Message(id+"u", user("go "+id)), store.Message(id+"c", call(id))}
				switch r.IntN(8) {
				case 0, 1: // the exchange stays open
				case 2, 3, 4: // entries that come alone go together with those to other sessions
					list = list[:1]
				default:
					list = append(list, store.Message(id+"r", result(id, strings.Repeat("out ", r.IntN(300)))))
				}
				if _, err := st.Append(ctx, store.ID(session), store.Anywhere, list...); err != nil {
					fmt.Fprintln(os.Stderr, "append:", err)
					os.Exit(1)
				}
				for _, e := range list {
					ack(session, e.ID)
				}
			}
		}()
	}
	c := &pare.Compactor{MinKeep: 6, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
		time.Sleep(time.Millisecond)
		return pare.Summary{Text: "what went before"}, nil
	}}
	for i := 0; ; i++ {
		_, err := st.Compact(ctx, store.ID(fmt.Sprintf("%s.%d", batch, i%3)), c)
		var failed *pare.CompactionError
		if err != nil && !errors.As(err, &failed) && !errors.Is(err, store.ErrBusy) && !strings.Contains(err.Error(), "while the summary was written") {
			fmt.Fprintln(os.Stderr, "compact:", err)
			os.Exit(1)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// A process is killed at random moments, again and again, on the same database: what it
// had acknowledged is there, nothing is torn, and every window can be sent.
func TestKilled(t *testing.T) {
	durableEngines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		acked := make(map[string][]string)
		r := rand.New(rand.NewPCG(1, 2))
		rounds := soaked(10, 1000)
		total := 0
		for round := range rounds {
			batch := fmt.Sprintf("b%d", round/50) // histories do not grow for ever
			if round%50 == 0 {
				clear(acked)
				for i := range 3 {
					create(t, st, fmt.Sprintf("%s.%d", batch, i))
				}
			}
			total += kill(t, dsn, round, batch, r, acked)
			if round%10 == 9 || round == rounds-1 {
				verify(t, st, acked)
			}
			if t.Failed() {
				return
			}
		}
		sound(t, st)
		if total < rounds {
			t.Errorf("only %d entries in %d rounds: nothing was tried", total, rounds)
		}
		t.Logf("%d kills, %d entries acknowledged", rounds, total)
	})
}

// kill runs a child until it has acknowledged some entries, and kills it a random time
// later.
func kill(t *testing.T, dsn string, round int, batch string, r *rand.Rand, acked map[string][]string) (n int) {
	t.Helper()
	c := exec.Command(os.Args[0], "child", "write", dsn, fmt.Sprint(round), batch)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	after := 1 + r.IntN(120)
	late := time.Duration(r.IntN(4000)) * time.Microsecond
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		session, id, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			break // cut off
		}
		acked[session] = append(acked[session], id)
		if n++; n == after {
			time.AfterFunc(late, func() { c.Process.Signal(syscall.SIGKILL) })
		}
	}
	err = c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("round %d: the child ended by itself: %v", round, err)
	}
	return n
}

func verify(t *testing.T, st *store.Store, acked map[string][]string) {
	t.Helper()
	var keys []store.Key
	for session, ids := range acked {
		key := store.ID(session)
		keys = append(keys, key)
		there := make(map[string]bool)
		last := int64(0)
		err := st.Export(ctx, key, store.Export{All: true}, func(e store.Entry) error {
			there[e.ID] = true
			if e.Seq <= last {
				t.Errorf("%s: entry %d behind %d", session, e.Seq, last)
			}
			last = e.Seq
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if !there[id] {
				t.Errorf("%s: entry %s was acknowledged and is lost", session, id)
			}
		}
	}
	for _, key := range keys {
		problems, err := st.FsckSession(ctx, key, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("fsck: %s", p)
		}
		w, err := st.Window(ctx, key, store.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		clean(t, w.Body)
	}
}

// Eight processes open a database that is empty, and bring its tables up to date.
func TestOpenedByEightAtOnce(t *testing.T) {
	trial.Long(t, "eight processes open each new database")
	t.Run("sqlite", func(t *testing.T) {
		openedByEight(t, soaked(2, 1000), func() string { return filepath.Join(t.TempDir(), "new.db") })
	})
	t.Run("postgres", func(t *testing.T) {
		openedByEight(t, soaked(1, 200), func() string { return pgtest.DSN(t) })
	})
}

// soaked is how many rounds there are, in a soak and otherwise.
func soaked(few, many int) int {
	if trial.Soak() {
		return many
	}
	return min(trial.Size(few), many)
}

func openedByEight(t *testing.T, rounds int, fresh func() string) {
	failed := 0
	for range rounds {
		dsn := fresh()
		var wait sync.WaitGroup
		var broken atomic.Int64
		for range 8 {
			wait.Go(func() {
				out, err := exec.Command(os.Args[0], "child", "open", dsn).CombinedOutput()
				if err != nil {
					broken.Add(1)
					t.Errorf("%v: %s", err, out)
				}
			})
		}
		wait.Wait()
		failed += int(broken.Load())
	}
	t.Logf("%d fresh databases, opened by 8 processes each: %d of %d failed", rounds, failed, 8*rounds)
}

// PostgreSQL ends in the middle of transactions and is started again.
func TestServerRestarted(t *testing.T) {
	trial.Long(t, "restarts a server")
	server := pgtest.DurableServer(t)
	dsn, err := server.NewDatabase("restarted")
	if err != nil {
		t.Fatal(err)
	}
	st := open(t, dsn)
	key := create(t, st, "a")
	var (
		mu    sync.Mutex
		acked = make(map[string][]string)
		stop  = make(chan struct{})
		wait  sync.WaitGroup
	)
	for w := range 4 {
		wait.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("%d-%d", w, i)
				// The same entries again until they are in: what was written without an answer
				// counts once.
				for {
					_, err := st.Append(ctx, key, store.Anywhere, store.Message(id, user(id)))
					if err == nil {
						break
					}
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
					}
				}
				mu.Lock()
				acked["a"] = append(acked["a"], id)
				mu.Unlock()
			}
		})
	}
	for range 3 {
		for before := -1; ; {
			mu.Lock()
			n := len(acked["a"])
			mu.Unlock()
			if before >= 0 && n > before+20 {
				break
			}
			if before < 0 {
				before = n
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := server.Halt(); err != nil {
			t.Fatal(err)
		}
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wait.Wait()
	verify(t, st, acked)
	page, err := st.Page(ctx, key, store.Page{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, e := range page.Entries {
		if seen[e.ID] {
			t.Errorf("entry %s is there twice", e.ID)
		}
		seen[e.ID] = true
	}
}

// The clock is set back, and a thousand entries come in one microsecond.
func TestClockSetBack(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		n := 0
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time {
			if n++; n > 500 {
				return now.Add(-time.Duration(n) * time.Hour)
			}
			return now
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		key := create(t, st, "a")
		var want []string
		for i := range 100 {
			var list []store.Entry
			for j := range 10 {
				raw := user(fmt.Sprintf("%d", 10*i+j))
				want = append(want, string(raw))
				list = append(list, store.Message("", raw))
			}
			if _, err := st.Append(ctx, key, store.Exactly(int64(10*i)), list...); err != nil {
				t.Fatal(err)
			}
		}
		if got := texts(t, st, key); strings.Join(got, ",") != strings.Join(want, ",") {
			t.Error("the order is not that of the appends")
		}
	})
}
