package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pressly/goose/v3/lock"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// runKilledProcess is the main function of a process that is killed. Four writers append complete and open
// exchanges and single messages to three sessions, and a fifth compacts and reverts. It prints
// every acknowledged append.
func runKilledProcess(args []string) {
	ctx := context.Background()
	if args[0] == "work" {
		work(args[1], args[2], args[3])
		return
	}
	if args[0] == "compacting" {
		runCompactor(args[1], args[2])
	}
	if args[0] == "full" {
		fill(args[1])
		return
	}
	if args[0] == "open" {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Printf("%q\n", openFresh(lines.Text()))
		}
		return
	}
	st, err := store.Open(ctx, args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	store.SettleAfter(st, 24)
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

// TestKilled kills a process at random moments, repeatedly on the same database. Acknowledged
// entries must exist, no append may be partial, and every window must be valid.
func TestKilled(t *testing.T) {
	durableEngines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		acked := make(map[string][]string)
		r := rand.New(rand.NewPCG(1, 2))
		rounds := roundCount(10, 1000)
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
		checkStore(t, st)
		if total < rounds {
			t.Errorf("only %d entries in %d rounds: nothing was tried", total, rounds)
		}
		t.Logf("%d kills, %d entries acknowledged", rounds, total)
	})
}

// kill runs a child until it has acknowledged some entries, and kills it a random time later.
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
		w, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		clean(t, w.Body)
	}
}

// openFresh opens a new database and returns the error text.
func openFresh(dsn string) string {
	st, err := store.Open(ctx, dsn)
	if err != nil {
		return err.Error()
	}
	defer st.Close()
	if _, err = st.Append(ctx, store.ID("s0"), store.Anywhere, store.Message("", user("x"))); !errors.Is(err, store.ErrNotFound) {
		return fmt.Sprint(err)
	}
	return ""
}

// TestConcurrentOpens lets eight processes open and upgrade an empty database.
func TestConcurrentOpens(t *testing.T) {
	trial.Long(t, "eight processes open each new database")
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		openByEight(t, roundCount(4, 1000), func(round int) (string, func()) {
			path := filepath.Join(dir, fmt.Sprint(round))
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(path, "new.db"), func() { os.RemoveAll(path) }
		})
	})
	t.Run("postgres", func(t *testing.T) {
		openByEight(t, roundCount(4, 1000), func(int) (string, func()) {
			dsn := pgtest.DSN(t)
			return dsn, func() { pgtest.Drop(t, dsn) }
		})
	})
}

// TestOpenWaitsForUpgradeLock checks that an opening process continues as soon as the upgrade of
// another one ends; goose alone would poll every five seconds.
func TestOpenWaitsForUpgradeLock(t *testing.T) {
	dsn := pgtest.DSN(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	upgrading, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer upgrading.Close()
	if _, err := upgrading.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, lock.DefaultLockID); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error)
	for range 3 {
		go func() {
			st, err := store.Open(ctx, dsn)
			if err == nil {
				err = st.Close()
			}
			opened <- err
		}()
	}
	for {
		var waiting int
		if err := db.QueryRow(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting == 3 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := upgrading.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, lock.DefaultLockID); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
}

// roundCount returns the number of rounds, in a soak and otherwise.
func roundCount(few, many int) int {
	if trial.Soak() {
		return many
	}
	return min(trial.Size(few), many)
}

// openByEight lets eight processes open new databases, one after the other. They wait for each
// address and open at the same moment. After some rounds, all processes are replaced.
func openByEight(t *testing.T, rounds int, fresh func(round int) (dsn string, done func())) {
	const generation = 20 // rounds
	type process struct {
		*exec.Cmd
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var all []process
	end := func() {
		for _, p := range all {
			p.in.Close()
			if err := p.Wait(); err != nil {
				t.Error(err)
			}
		}
		all = nil
	}
	defer end()
	failed := 0
	for round := range rounds {
		if round%generation == 0 {
			end()
			for range 8 {
				c := exec.Command(os.Args[0], "child", "open")
				c.Stderr = os.Stderr
				in, out := trial.OpenPipes(t, c)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				all = append(all, process{c, in, bufio.NewScanner(out)})
			}
		}
		dsn, done := fresh(round)
		for _, p := range all {
			fmt.Fprintln(p.in, dsn)
		}
		for _, p := range all {
			if !p.out.Scan() {
				t.Fatalf("round %d: a process ended: %v", round, p.out.Err())
			}
			if said := p.out.Text(); said != `""` {
				failed++
				t.Errorf("round %d: %s", round, said)
			}
		}
		st, err := store.Open(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		checkStore(t, st)
		st.Close()
		done()
	}
	t.Logf("%d fresh databases, opened by 8 processes each: %d of %d failed", rounds, failed, 8*rounds)
}

// TestServerRestarted restarts PostgreSQL in the middle of transactions.
func TestServerRestarted(t *testing.T) {
	trial.Long(t, "restarts a server")
	server := pgtest.DurableServer(t)
	dsn, err := server.NewDatabase("restarted")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Drop(dsn); err != nil {
			t.Error(err)
		}
	})
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

// TestClockSetBack sets the clock back, and appends a thousand entries in one microsecond.
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
