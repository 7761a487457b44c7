package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/fault"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// A faultRun is what some writers do to a store whose disk or connection fails, and what they
// were told.
type faultRun struct {
	t    *testing.T
	s    *fault.Source
	st   *store.Store
	keys []store.Key

	mu      sync.Mutex
	lists   []faultList
	ops     int
	cancels []context.CancelFunc // of the calls that are going on, by writer; nil: it is not given up on
}

// A faultList is what was to be appended by one call.
type faultList struct {
	key   store.Key
	ids   []string
	raws  []string
	acked bool
}

// entries makes entries of buffers that are overwritten as soon as the call is over.
func (l *faultList) entries() (list []store.Entry, reuse func()) {
	var buffers [][]byte
	for i, id := range l.ids {
		raw := []byte(l.raws[i])
		buffers = append(buffers, raw)
		list = append(list, store.Message(id, raw))
	}
	return list, func() {
		for _, b := range buffers {
			for i := range b {
				b[i] = '#'
			}
		}
	}
}

// append appends a list. The call may be given up on at any point.
func (r *faultRun) append(ctx context.Context, l *faultList) error {
	list, reuse := l.entries()
	_, err := r.st.Append(ctx, l.key, store.Anywhere, list...)
	reuse()
	if err == nil {
		l.acked = true
	}
	var twice *store.DuplicateError
	var corrupt *store.CorruptError
	if errors.As(err, &twice) || errors.As(err, &corrupt) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDeleted) {
		r.t.Errorf("append %v: %v", l.ids, err)
	}
	return err
}

// write is one writer: it appends, tries again what failed, and reads.
func (r *faultRun) write(w, n int) {
	chance := r.s.Rand(fmt.Sprint("writer ", w))
	for i := range n {
		l := faultList{key: r.keys[chance.IntN(len(r.keys))]}
		id := fmt.Sprintf("%s-%d-%d", l.key.ID, w, i)
		add := func(name string, raw []byte) {
			l.ids, l.raws = append(l.ids, id+name), append(l.raws, string(raw))
		}
		add("u", user(id+noise(chance, []int{20, 150, 1500}[chance.IntN(3)])))
		if chance.IntN(2) == 0 {
			add("c", call(id))
			add("r", result(id, strings.Repeat("out ", chance.IntN(1000))))
		}
		ctx, cancel := context.WithCancel(context.Background())
		if chance.IntN(2) == 0 {
			r.mayGiveUp(w, cancel)
		}
		for try := range 3 {
			if try > 0 {
				ctx = context.Background()
			}
			if err := r.append(ctx, &l); err == nil || chance.IntN(3) == 0 {
				break
			}
		}
		r.mayGiveUp(w, nil)
		cancel()
		if chance.IntN(4) == 0 {
			r.read(l.key)
		}
		r.mu.Lock()
		r.lists = append(r.lists, l)
		r.ops++
		r.mu.Unlock()
	}
}

// read reads what would be sent: it is an error, or valid.
func (r *faultRun) read(key store.Key) {
	w, err := r.st.Window(context.Background(), key, store.Ask{})
	var corrupt *store.CorruptError
	switch {
	case errors.As(err, &corrupt):
		r.t.Errorf("window of %s: %v", key, err)
	case err == nil:
		clean(r.t, w.Body)
	}
	r.mu.Lock()
	r.ops++
	r.mu.Unlock()
}

// run lets the writers work.
func (r *faultRun) run() {
	chance := r.s.Rand("cancel")
	at, every := chance.IntN(100), 1+chance.IntN(40)
	r.cancels = make([]context.CancelFunc, 4)
	r.s.Each(func(passed int) {
		if passed >= at && (passed-at)%every == 0 {
			r.giveUp(passed)
		}
	})
	var wait sync.WaitGroup
	for w := range r.cancels {
		wait.Go(func() { r.write(w, 2) })
	}
	wait.Wait()
}

// mayGiveUp says how a writer gives up on the call that it is about to make; nil: not at all.
func (r *faultRun) mayGiveUp(w int, cancel context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancels[w] = cancel
}

// giveUp lets the next writer who may give up on its call do so.
func (r *faultRun) giveUp(from int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.cancels {
		w := (from + i) % len(r.cancels)
		if cancel := r.cancels[w]; cancel != nil {
			r.cancels[w] = nil
			cancel()
			r.s.Note("cancelled")
			return
		}
	}
}

// noise is a text that cannot be packed.
func noise(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."[r.IntN(64)]
	}
	return string(b)
}

// judge looks at a store that works: what was acknowledged is there, byte for byte, what was not
// is there as a whole or not at all, and everything can be appended now, once.
func (r *faultRun) judge(st *store.Store) {
	t := r.t
	t.Helper()
	r.compare(st)
	r.st = st
	for i := range r.lists {
		if l := &r.lists[i]; !l.acked {
			if err := r.append(context.Background(), l); err != nil {
				t.Errorf("the store does not go on: %v", err)
				return
			}
		} else if i%4 == 0 { // again, which changes nothing
			if err := r.append(context.Background(), l); err != nil {
				t.Errorf("append again: %v", err)
			}
		}
	}
	if n := r.compare(st); n != 0 {
		t.Errorf("%d entries are missing", n)
	}
	for _, key := range r.keys {
		if st.Engine() == "postgres" { // of SQLite all is looked at, where there is nothing else
			problems, err := st.FsckSession(ctx, key, false)
			if err != nil || len(problems) > 0 {
				t.Errorf("fsck: %v %v", problems, err)
			}
		}
		if !slices.ContainsFunc(r.lists, func(l faultList) bool { return l.key == key }) {
			continue // of nothing there is no window
		}
		w, err := st.Window(ctx, key, store.Ask{})
		if err != nil {
			t.Errorf("window of %s: %v", key, err)
			continue
		}
		clean(t, w.Body)
	}
}

// compare compares the store with what the writers were told, and counts the entries that are not
// there and need not be.
func (r *faultRun) compare(st *store.Store) (absent int) {
	t := r.t
	t.Helper()
	there, order := make(map[string]string), make(map[string]int)
	for _, key := range r.keys {
		n := 0
		err := st.Export(ctx, key, store.Export{All: true}, func(e store.Entry) error {
			if _, twice := there[e.ID]; twice {
				t.Errorf("entry %s is there twice", e.ID)
			}
			n++
			there[e.ID], order[e.ID] = string(e.Raw), n
			if e.Seq != int64(n) {
				t.Errorf("%s: entry %d has the number %d", key, n, e.Seq)
			}
			return nil
		})
		if err != nil {
			t.Errorf("export: %v", err)
		}
	}
	for _, l := range r.lists {
		has := 0
		for i, id := range l.ids {
			raw, ok := there[id]
			delete(there, id)
			if ok {
				has++
			}
			if ok && raw != l.raws[i] {
				t.Errorf("entry %s is torn: %.200s", id, raw)
			}
			if ok && i > 0 && order[id] != order[l.ids[i-1]]+1 {
				t.Errorf("entry %s does not follow %s", id, l.ids[i-1])
			}
		}
		if l.acked && has < len(l.ids) {
			t.Errorf("%v was acknowledged and is lost", l.ids)
		}
		if has != 0 && has != len(l.ids) {
			t.Errorf("of %v only %d entries are there", l.ids, has)
		}
		absent += len(l.ids) - has
	}
	for id := range there {
		t.Errorf("nobody has written entry %s", id)
	}
	return absent
}

// TestFaultsSQLite: every call of SQLite to the disk may fail, and the power may go off at any of
// them; calls are given up on at any point, and their buffers are used again at once.
func TestFaultsSQLite(t *testing.T) {
	base := filepath.Join(t.TempDir(), "pare.db")
	st, err := store.Open(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	keys := []store.Key{create(t, st, "a"), create(t, st, "b"), create(t, st, "c")}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	dir := faultFolder(t)
	var tally fault.Tally
	fault.Run(t, 100, func(t *testing.T, s *fault.Source) {
		path := filepath.Join(dir, "pare.db")
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			os.Remove(path + end)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		d := newDisk(t, dir, s)
		defer d.close()
		r := &faultRun{t: t, s: s, keys: slices.Clone(keys)}
		chance := s.Rand("power")
		cut := chance.IntN(2) == 0
		if cut {
			last := 1 + chance.IntN(300)
			s.Cut(last, func() { d.powerOff(); s.Note("power cut") })
		}
		for try := 0; r.st == nil; try++ {
			if r.st, err = store.Open(ctx, path); err != nil && (d.off() || try == 20) {
				s.Stop()
				d.revive(t, chance, &tally)
				if r.st, err = store.Open(ctx, path); err != nil {
					t.Errorf("the store cannot be opened any more: %v", err)
					return
				}
			}
		}
		r.run()
		s.Stop()
		if d.off() {
			r.st.Close()
			d.revive(t, chance, &tally)
			if r.st, err = store.Open(ctx, path); err != nil {
				t.Errorf("the store cannot be opened any more: %v", err)
				return
			}
		}
		r.judge(r.st)
		if problems, err := r.st.Fsck(ctx, false); err != nil || len(problems) > 0 {
			t.Errorf("fsck: %v %v", problems, err)
		}
		if err := r.st.Close(); err != nil {
			t.Error(err)
		}
		tally.Add(s, r.ops)
	})
	t.Log(&tally)
}

// faultFolder is a folder in memory where there is one: a file that only this process reads need
// not wait for a disk.
func faultFolder(t *testing.T) string {
	t.Helper()
	if dir, err := os.MkdirTemp("/dev/shm", "pare-faults-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// revive is powerOn for a disk that may not have lost its power at all.
func (d *disk) revive(t *testing.T, chance *rand.Rand, tally *fault.Tally) {
	t.Helper()
	if d.off() {
		tally.Count("unsynced writes lost", d.powerOn(t, chance))
	}
	d.mu.Lock()
	d.dead, d.pending = false, make(map[string][]piece)
	d.mu.Unlock()
}

// A faultyWire is a way to PostgreSQL whose connections fail as the source of the day says.
type faultyWire struct {
	source atomic.Pointer[fault.Source]
}

func (w *faultyWire) serve(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	q := u.Query()
	socket := filepath.Join(q.Get("host"), ".s.PGSQL.5432")
	host, port, _ := net.SplitHostPort(l.Addr().String())
	q.Set("host", host)
	q.Set("port", port)
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(c, socket)
		}
	}()
	return u.String()
}

// pass passes bytes on. Each direction may be cut in the middle of a message.
func (w *faultyWire) pass(c net.Conn, socket string) {
	server, err := net.Dial("unix", socket)
	if err != nil {
		c.Close()
		return
	}
	end := func() {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		c.Close()
		server.Close()
	}
	copyTo := func(to io.Writer, from io.Reader, point string) {
		defer end()
		buf := make([]byte, 2048)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			s := w.source.Load()
			if s.Chance(point+" late", 0.3) {
				time.Sleep(time.Millisecond)
			}
			if s.At(point + " cut") {
				if s.Rand(point).IntN(2) == 0 {
					to.Write(buf[:n/2])
				} else {
					to.Write(buf[:n]) // the other end gets it all, and nobody hears of it
				}
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go copyTo(c, server, "postgres answer")
	copyTo(server, c, "postgres query")
}

// TestFaultsPostgres: every connection may be cut at any byte, in both directions, or be slow;
// calls are given up on at any point, and their buffers are used again at once.
func TestFaultsPostgres(t *testing.T) {
	trial.Long(t, "needs PostgreSQL")
	direct := pgtest.Copy(t, ready(t))
	sure := open(t, direct)
	var w faultyWire
	quiet := fault.New(0)
	quiet.Stop()
	w.source.Store(quiet)
	st := open(t, w.serve(t, direct))
	var tally fault.Tally
	n := 0
	fault.Run(t, 60, func(t *testing.T, s *fault.Source) {
		n++
		r := &faultRun{t: t, s: s, st: st}
		for _, name := range []string{"a", "b", "c"} {
			r.keys = append(r.keys, create(t, sure, fmt.Sprintf("%s%d", name, n)))
		}
		w.source.Store(s)
		r.run()
		s.Stop()
		w.source.Store(quiet)
		r.judge(sure)
		r.read(r.keys[0]) // the handle that has met the faults goes on
		if _, err := st.Append(ctx, r.keys[1], store.Anywhere, store.Message("", user("go on"))); err != nil {
			t.Errorf("the store does not go on: %v", err)
		}
		tally.Add(s, r.ops)
	})
	sound(t, sure)
	t.Log(&tally)
}
