package proxy

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A reading is what a ledger has booked.
type reading struct {
	used    int64
	waiting int
	clients map[string]int64
}

func (l *memoryBudget) now() reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := reading{l.used, len(l.waiting), make(map[string]int64)}
	for client, a := range l.accounts {
		r.clients[client] = a.bytes
	}
	return r
}

// trickle is the body of a client that sends so many bytes at once, and then one now and then,
// until it is cut off.
type trickle struct {
	first int
	every time.Duration
	ended chan struct{}
	once  sync.Once
}

func newTrickle(first int, every time.Duration) *trickle {
	return &trickle{first: first, every: every, ended: make(chan struct{})}
}

func (t *trickle) Read(p []byte) (int, error) {
	if t.first > 0 {
		n := min(t.first, len(p))
		t.first -= n
		return n, nil
	}
	select {
	case <-time.After(t.every):
		return 1, nil
	case <-t.ended:
		return 0, os.ErrDeadlineExceeded
	}
}

func (t *trickle) Close() error { return nil }
func (t *trickle) cut()         { t.once.Do(func() { close(t.ended) }) }

// trickledBody notes what is read of a body, as [timed] does.
type trickledBody struct {
	io.ReadCloser
	*arrivingBody
}

func (b trickledBody) Read(p []byte) (int, error) {
	b.startRead(time.Now())
	n, err := b.ReadCloser.Read(p)
	b.endRead(n)
	return n, err
}

// TestAnnouncedLengthClaimsNoMemory: sixty-four clients that announce as much as there is
// and send a byte now and then hold next to nothing, and nobody waits for them.
func TestAnnouncedLengthClaimsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryBudget(1<<30, 0)
		var all []*trickle
		for range 64 {
			s := newTrickle(1, 20*time.Second)
			all = append(all, s)
			go readBody(t.Context(), trickledBody{s, l.trackBody(s.cut)}, 64<<20, 64<<20, memoryClaim{budget: l, client: "slow"})
		}
		synctest.Wait()
		if used := l.now().used; used > 64*freeClaim {
			t.Errorf("%d bytes are claimed", used)
		}
		for range 3 { // of the same client, even
			b, _, err := readBody(t.Context(), io.NopCloser(strings.NewReader(strings.Repeat("x", 8<<20))), 8<<20, 64<<20, memoryClaim{budget: l, client: "slow"})
			if err != nil {
				t.Fatal(err)
			}
			b.discard()
		}
		if l.now().waiting > 0 {
			t.Error("somebody waits")
		}
		for _, s := range all {
			s.cut()
		}
	})
}

// TestSlowBodiesEndWhileOthersWait: clients that have sent much and then trickle do not hold
// all of the memory, and are cut off in a bounded time when somebody waits; small requests do
// not wait at all.
func TestSlowBodiesEndWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryBudget(256<<20, 0)
		var readers sync.WaitGroup
		var all []*trickle
		for range 20 {
			s := newTrickle(5<<20, 20*time.Second)
			all = append(all, s)
			readers.Go(func() {
				a := l.trackBody(s.cut)
				defer a.end()
				if _, _, err := readBody(t.Context(), trickledBody{s, a}, 64<<20, 64<<20, memoryClaim{budget: l, client: "slow"}); err != os.ErrDeadlineExceeded {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if now := l.now(); now.used != now.clients["slow"] || now.used > l.limit*4/5 {
			t.Errorf("one client holds %d of %d", now.used, l.limit)
		}
		if l.now().waiting == 0 {
			t.Fatal("nobody waits: the test shows nothing")
		}
		began := time.Now()
		for _, client := range []string{"slow", "other"} {
			small := memoryClaim{budget: l, client: client}
			if err := small.acquire(t.Context(), smallClaim); err != nil {
				t.Fatal(err)
			}
			small.releaseAll()
		}
		large := memoryClaim{budget: l, client: "other"}
		if err := large.acquire(t.Context(), 8<<20); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("others waited for %v", waited)
		}
		large.releaseAll()
		for l.now().waiting > 0 {
			time.Sleep(slowCheckInterval)
			synctest.Wait()
		}
		// A body is looked at twice before it is cut off, and a third of them fit at once at least.
		if took := time.Since(began); took > 3*(2*bodyGrace+slowCheckInterval) {
			t.Errorf("those who wait waited for %v", took)
		}
		for _, s := range all { // those for whom nobody waits may go on
			s.cut()
		}
		readers.Wait()
		if used := l.now().used; used != 0 {
			t.Error(used, "bytes are still claimed")
		}
	})
}

// TestWaitingRequestsDoNotDeadlock: bodies that all need more than there is, and hold
// some already, get it one after the other.
func TestWaitingRequestsDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryBudget(8<<20, 0)
		var all sync.WaitGroup
		var mu sync.Mutex
		most := int64(0)
		for range 20 {
			all.Go(func() {
				body := bytes.Repeat([]byte("x"), 6<<20)
				b, _, err := readBody(t.Context(), io.NopCloser(bytes.NewReader(body)), -1, 64<<20, memoryClaim{budget: l, client: "one"})
				if err != nil || !bytes.Equal(b.buf, body) {
					t.Error("it was not read", err)
					return
				}
				mu.Lock()
				most = max(most, l.now().used)
				mu.Unlock()
				time.Sleep(time.Second) // for its reply
				b.discard()
			})
		}
		all.Wait()
		if most > l.limit+3*(16<<20) { // one beyond, which holds two buffers while it grows
			t.Errorf("%d bytes of %d were claimed", most, l.limit)
		}
		if l.used != 0 || l.overdraw != nil || len(l.accounts) != 0 {
			t.Error(l.used, l.overdraw, l.accounts)
		}
	})
}

// TestClientsShareTheMemoryBudget: clients that want all there is share it, and leave some.
func TestClientsShareTheMemoryBudget(t *testing.T) {
	l := newMemoryBudget(1<<30, 100)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	l.overdraw = new(memoryClaim) // nobody else may go beyond
	names := []string{"a", "b", "c"}
	for _, client := range names {
		for {
			c := memoryClaim{budget: l, client: client}
			if c.acquire(gone, 8<<20) != nil {
				break
			}
		}
		if got := l.account(client).bytes; got > l.limit/2 {
			t.Errorf("%s has %d of %d", client, got, l.limit)
		}
	}
	if l.limit-l.used < l.limit/8 {
		t.Errorf("%d of %d are left", l.limit-l.used, l.limit)
	}
	for _, client := range names {
		if l.account(client).bytes < l.limit/16 {
			t.Errorf("%s has only %d", client, l.account(client).bytes)
		}
	}
	places := 0
	for {
		if _, err := l.acquirePlace(gone, "a"); err != nil {
			break
		}
		places++
	}
	if _, err := l.acquirePlace(gone, "b"); err != nil || places != 50 {
		t.Errorf("one client has %d of 100 places; another gets %v", places, err)
	}
}

// TestSlowBodiesReleaseTheirPlaces: whoever takes all places with bodies that never end is
// cut off when somebody else wants one.
func TestSlowBodiesReleaseTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryBudget(1<<30, 4)
		for i := range 4 {
			leave, err := l.acquirePlace(t.Context(), string(rune('a'+i)))
			if err != nil {
				t.Fatal(err)
			}
			s := newTrickle(1, 20*time.Second)
			go func() {
				defer leave()
				a := l.trackBody(s.cut)
				defer a.end()
				readBody(t.Context(), trickledBody{s, a}, 1000, 64<<20, memoryClaim{budget: l, client: "slow"})
			}()
		}
		began := time.Now()
		leave, err := l.acquirePlace(t.Context(), "z")
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > bodyGrace+2*slowCheckInterval {
			t.Errorf("it took %v", took)
		}
		leave()
	})
}
