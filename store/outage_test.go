//go:build unix

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

// fill is the main function of a process with limited file sizes, like on a full disk. It appends
// until that fails, continues when there is space, and prints acknowledged entries.
func fill(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	st, err := store.Open(ctx, path)
	if err != nil {
		fail(err)
	}
	defer st.Close()
	key := store.ID("a")
	if _, err := st.Create(ctx, key, anthropic); err != nil {
		fail(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		fail(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(r.IntN(26))
		}
		return string(b)
	}
	n := 0
	for round := range 3 {
		limit := was
		limit.Cur = uint64(1+round) << 20
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			fail(err)
		}
		full := false
		for range 400 {
			id := fmt.Sprintf("e%d", n)
			n++
			_, err := st.Append(ctx, key, store.Anywhere, store.Message(id+"c", call(id)), store.Message(id+"r", result(id, noise(20_000))))
			if err == nil {
				fmt.Printf("a %sc\na %sr\n", id, id)
				continue
			}
			if full = errors.Is(err, store.ErrFull); !full {
				fail(fmt.Errorf("not the error for a full disk: %w", err))
			}
			// Stored entries can be read and sent.
			if _, err := st.Window(ctx, key, store.WindowOptions{}); err != nil {
				fail(err)
			}
			break
		}
		if !full {
			fail(errors.New("the disk was never full"))
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			fail(err)
		}
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message(fmt.Sprintf("room%d", round), user("there is room again"))); err != nil {
			fail(err)
		}
		fmt.Printf("a room%d\n", round)
	}
}

// TestDiskFull fills the disk during appends. The error must wrap ErrFull, no append may be
// partial, and the store must continue when there is space.
func TestDiskFull(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pare.db")
		c := exec.Command(os.Args[0], "child", "full", path)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		acked := make(map[string][]string)
		for line := range strings.Lines(string(out)) {
			acked["a"] = append(acked["a"], strings.TrimSpace(strings.TrimPrefix(line, "a ")))
		}
		st := open(t, path)
		verify(t, st, acked)
		if n := len(texts(t, st, store.ID("a"))); n != len(acked["a"]) {
			t.Errorf("%d entries, %d were acknowledged", n, len(acked["a"]))
		}
	})
	t.Run("postgres", func(t *testing.T) {
		server := pgtest.DurableServer(t)
		room, err := os.MkdirTemp(server.Dir, "small")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", room).CombinedOutput(); err != nil {
			t.Skipf("a small file system cannot be mounted here: %v %s", err, strings.TrimSpace(string(out)))
		}
		t.Cleanup(func() { exec.Command("umount", "-l", room).Run() })
		dsn, err := server.NewDatabaseIn("small", room)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // before the space is removed: a restarted server needs it
			if err := server.Drop(dsn); err != nil {
				t.Error(err)
			}
		})
		st := open(t, dsn)
		key := create(t, st, "a")
		acked := make(map[string][]string)
		r := rand.New(rand.NewPCG(5, 5))
		for i := 0; ; i++ {
			b := make([]byte, 200_000)
			for i := range b {
				b[i] = 'a' + byte(r.IntN(26))
			}
			id := fmt.Sprintf("e%d", i)
			_, err := st.Append(ctx, key, store.Anywhere, store.Message(id+"c", call(id)), store.Message(id+"r", result(id, string(b))))
			if err != nil {
				if !errors.Is(err, store.ErrFull) {
					t.Fatalf("not the error for a full disk: %v", err)
				}
				break
			}
			acked["a"] = append(acked["a"], id+"c", id+"r")
			if i > 1000 {
				t.Fatal("the disk was never full")
			}
		}
		verify(t, st, acked)
		if n := len(texts(t, st, key)); n != len(acked["a"]) {
			t.Errorf("%d entries, %d were acknowledged", n, len(acked["a"]))
		}
		if err := st.Delete(ctx, key); err != nil { // room is there again after the server's next vacuum
			t.Error(err)
		}
	})
}

// A wireTo is a TCP connection to PostgreSQL that can be cut.
type wireTo struct {
	net.Listener
	socket string
	cut    func() (after int64) // bytes from the client until it is cut; 0: never
	cuts   atomic.Int64
	seen   func() func([]byte) // returns the receiver of the bytes of each connection; nil: none
}

func newWire(t *testing.T, dsn string, cut func() int64, seen func() func([]byte)) (*wireTo, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	w := &wireTo{Listener: l, socket: filepath.Join(q.Get("host"), ".s.PGSQL.5432"), cut: cut, seen: seen}
	host, port, _ := net.SplitHostPort(l.Addr().String())
	q.Set("host", host)
	q.Set("port", port)
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	go w.accept()
	t.Cleanup(func() { l.Close() })
	return w, u.String()
}

func (w *wireTo) accept() {
	for {
		client, err := w.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", w.socket)
		if err != nil {
			client.Close()
			continue
		}
		end := func() { client.Close(); server.Close() }
		go func() { io.Copy(client, server); end() }()
		var from io.Reader = client
		if w.seen != nil {
			from = io.TeeReader(client, writer(w.seen()))
		}
		go func() {
			if after := w.cut(); after > 0 {
				io.CopyN(server, from, after)
				w.cuts.Add(1)
			} else {
				io.Copy(server, from)
			}
			end()
		}()
	}
}

// A writer is a function that receives bytes.
type writer func([]byte)

func (w writer) Write(data []byte) (int, error) { w(data); return len(data), nil }

// TestConnectionCut cuts the connection at any byte. Repeated entries must count once.
func TestConnectionCut(t *testing.T) {
	direct := pgtest.DSN(t)
	st := open(t, direct)
	key := create(t, st, "a")
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(9, 9))
	w, dsn := newWire(t, direct, func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return 300 + r.Int64N(20_000)
	}, nil)
	var through *store.Store
	for through == nil { // opening may be cut as well
		if s, err := store.Open(ctx, dsn); err == nil {
			through = s
		}
	}
	defer through.Close()
	acked := make(map[string][]string)
	want := int64(trial.Size(100))
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			for i := 0; w.cuts.Load() < want; i++ {
				id := fmt.Sprintf("%d-%d", n, i)
				list := []store.Entry{store.Message(id+"u", user(id)), store.Message(id+"c", call(id)), store.Message(id+"r", result(id, strings.Repeat("out ", 200)))}
				for {
					_, err := through.Append(ctx, key, store.Anywhere, list...)
					if err == nil {
						break
					}
					var dup *store.DuplicateError
					if errors.As(err, &dup) {
						t.Error(err)
						return
					}
				}
				mu.Lock()
				acked["a"] = append(acked["a"], id+"u", id+"c", id+"r")
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("%d cuts, %d entries", w.cuts.Load(), len(acked["a"]))
	verify(t, st, acked)
	if n := len(texts(t, st, key)); n != len(acked["a"]) {
		t.Errorf("%d entries, %d were acknowledged", n, len(acked["a"]))
	}
}

// TestLocksOfVanishedMachineExpire checks that locks of a machine that vanishes during a
// transaction expire.
func TestLocksOfVanishedMachineExpire(t *testing.T) {
	direct := pgtest.DSN(t)
	st := open(t, direct)
	key := create(t, st, "a")
	vanished := open(t, direct)
	held := make(chan error, 1)
	go func() {
		// The timeout is set when the lock is held: on a busy machine opening a store, or
		// locking, takes longer.
		held <- store.HoldLockSet(vanished, key, `idle_in_transaction_session_timeout = 200`, func() {
			held <- nil
			<-t.Context().Done() // it never comes back
		})
	}()
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	// Without the time-out of the server this waits until the run is over.
	if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", user("go on"))); err != nil {
		t.Error(err)
	}
}

// down calls all routes while the database is down. Each must return 503 with a hint, and an error
// that programs can recognize.
func down(t *testing.T, st *store.Store, c *client, routes [][2]string) {
	t.Helper()
	if err := st.Ping(ctx); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a ping says %v", err)
	}
	for _, r := range routes {
		q, err := http.NewRequest(r[0], c.url+strings.NewReplacer("{id}", "a", "{handle}", "pare-00000000000000000000000000000000").Replace(r[1]), strings.NewReader(bodies[r[0]+" "+r[1]]))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(r[1], "/search") {
			q.URL.RawQuery = "q=word"
		}
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		var out any
		err = json.NewDecoder(resp.Body).Decode(&out)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != storehttp.RetryAfter {
			t.Errorf("%s %s: status %d, Retry-After %q, %v %v", r[0], r[1], resp.StatusCode, resp.Header.Get("Retry-After"), out, err)
			continue
		}
		c.validate(r[0], r[1], 503, out)
		if e := out.(map[string]any)["error"].(map[string]any); e["type"] != "unavailable" || !strings.Contains(e["message"].(string), "again") {
			t.Errorf("%s %s: %v", r[0], r[1], e)
		}
	}
}

// bodies are valid bodies for calls that would otherwise fail before they use the database.
var bodies = map[string]string{
	"POST /pare/v1/sessions":              `{"id":"new"}`,
	"PATCH /pare/v1/sessions/{id}":        `{"title":"t"}`,
	"POST /pare/v1/sessions/{id}/entries": `{"entries":[{"id":"e9","raw":{"role":"user","content":"on"}}]}`,
	"POST /pare/v1/sessions/{id}/swap":    `{"upto":"e1","messages":[{"role":"user","content":"on"}]}`,
	"POST /pare/v1/sessions/{id}/revert":  `{"turns":1}`,
	"POST /pare/v1/sessions/{id}/fork":    `{"id":"f"}`,
	"POST /pare/v1/sessions/{id}/merge":   `{"from":"f"}`,
}

// TestPostgresStopped stops and restarts a server. The first call afterwards must succeed, over new
// connections.
func TestPostgresStopped(t *testing.T) {
	dsn, server := pgtest.Durable(t), pgtest.DurableServer(t)
	st := open(t, dsn)
	key := create(t, st, "a")
	c := newClient(t, st, storehttp.Options{})
	for round := range 3 {
		// Several connections are open, and idle.
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				err := store.HoldLock(st, create(t, st, fmt.Sprintf("%d-%d", round, i)), func() {})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if err := server.Halt(); err != nil {
			t.Fatal(err)
		}
		if round > 0 { // in the first round, the first call after the restart must succeed
			down(t, st, c, c.routes())
			if _, err := store.Open(ctx, dsn); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("opening says %v", err)
			}
		}
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
		const p = "/pare/v1/sessions"
		c.do("GET", p+"/{id}", "a", "", nil, 200)
		c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"entries": []any{entry(fmt.Sprint(round), user("go on"))}}, 200)
		if n := len(texts(t, st, key)); n != round+1 {
			t.Errorf("%d entries after %d restarts", n, round+1)
		}
	}
}

// TestSQLiteFileGone moves the file away, so that new connections cannot open it.
func TestSQLiteFileGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pare.db")
	st := open(t, path)
	key := create(t, st, "a")
	c := newClient(t, st, storehttp.Options{})
	const p = "/pare/v1/sessions"
	err := store.HoldRead(st, func() { // by the connection that has the file open
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		down(t, st, c, [][2]string{{"GET", p}, {"GET", p + "/{id}"}, {"GET", p + "/{id}/entries"}, {"GET", "/pare/v1/search"}})
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		c.do("GET", p+"/{id}", "a", "", nil, 200)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", user("go on"))); err != nil {
		t.Error(err)
	}
}

// TestSQLiteLocked locks the file from another program. Writers must get an error, and readers must
// continue.
func TestSQLiteLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pare.db")
	st := open(t, path)
	key := create(t, st, "a")
	c := newClient(t, st, storehttp.Options{})
	if err := st.Exec(`PRAGMA busy_timeout = 1`); err != nil {
		t.Fatal(err)
	}
	other := open(t, path)
	const p = "/pare/v1/sessions"
	err := store.HoldLock(other, key, func() {
		out := c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"entries": []any{entry("e1", user("go on"))}}, 503)
		if e := out["error"].(map[string]any); e["type"] != "unavailable" {
			t.Errorf("%v", e)
		}
		c.do("GET", p+"/{id}", "a", "", nil, 200)
	})
	if err != nil {
		t.Fatal(err)
	}
	c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"entries": []any{entry("e1", user("go on"))}}, 200)
}

// TestCanceledReadIsNoDamage checks that a canceled read does not report damage.
func TestCanceledReadIsNoDamage(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		shot := fmt.Sprintf(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`, picture(30_000, 1))
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message("e1", []byte(shot))); err != nil {
			t.Fatal(err)
		}
		for _, err := range store.OpenGivenUp(st, key) {
			var corrupt *store.CorruptError
			if err == nil || errors.As(err, &corrupt) {
				t.Errorf("the entry is said to be damaged: %v", err)
			}
		}
	})
}
