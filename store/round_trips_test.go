//go:build unix

package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store"
)

// A tally counts the messages of a client to PostgreSQL. A Sync or a simple query is a round trip,
// an Execute is a statement.
type tally struct {
	mu                sync.Mutex
	trips, statements int
}

// reader parses the messages of one connection.
func (c *tally) reader() func([]byte) {
	var kind byte
	var head []byte
	left := 0
	first := true // the first message has no kind
	return func(data []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for len(data) > 0 {
			if left > 0 {
				n := min(left, len(data))
				left, data = left-n, data[n:]
				continue
			}
			head, data = append(head, data[0]), data[1:]
			want := 5
			if first {
				want = 4
			}
			if len(head) < want {
				continue
			}
			size := head[want-4:]
			left = int(size[0])<<24 | int(size[1])<<16 | int(size[2])<<8 | int(size[3]) - 4
			if !first {
				kind = head[0]
			}
			switch first = false; kind {
			case 'S', 'Q':
				c.trips++
			case 'E':
				c.statements++
			}
			head = head[:0]
		}
	}
}

func (c *tally) since(trips, statements int) (int, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trips - trips, c.statements - statements
}

// TestFastAppendIsOneRoundTrip checks that an append to a cached session takes one round trip with
// one statement, or two if marks are written, and that an append in a transaction takes more.
func TestFastAppendIsOneRoundTrip(t *testing.T) {
	var c tally
	_, dsn := newWire(t, pgtest.DSN(t), func() int64 { return 0 }, c.reader)
	st := open(t, dsn)
	for _, entries := range []int{1, 3, 40} {
		key := create(t, st, fmt.Sprintf("s%d", entries))
		k := &talk{r: rand.New(rand.NewPCG(1, 1))}
		const times = 9
		lists := make([][]store.Entry, times+3)
		for i := range lists {
			for range entries {
				lists[i] = append(lists[i], store.Message("", k.next()))
			}
		}
		add := func(lists [][]store.Entry) {
			for _, list := range lists {
				if _, err := st.Append(ctx, key, store.Anywhere, list...); err != nil {
					t.Fatal(err)
				}
			}
		}
		add(lists[:3]) // statements are prepared once on each connection
		trips, statements := c.since(0, 0)
		add(lists[3:])
		trips, statements = c.since(trips, statements)
		if marks := statements - times; trips != times || marks < 0 || marks > times*entries/64 {
			t.Errorf("%d appends of %d entries: %d round trips, %d statements", times, entries, trips, statements)
		}
	}
}

// TestAppendsShareTransactions checks that more appends than connections share transactions, fail
// separately, and do not wait for the lock of another session.
func TestAppendsShareTransactions(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		const writers, times = 40, 6
		keys := make([]store.Key, writers)
		for i := range keys {
			keys[i] = create(t, st, fmt.Sprintf("s%d", i))
			put(t, st, keys[i], user("go"))
		}
		locked := keys[0]
		var wait, others sync.WaitGroup
		var release, free = make(chan struct{}), make(chan struct{})
		if st.Engine() == "postgres" { // SQLite has one writer
			wait.Go(func() {
				if err := store.HoldLock(st, locked, func() { close(free); <-release }); err != nil {
					t.Error(err)
				}
			})
			<-free
		}
		for i, key := range keys {
			group := &others
			if key == locked {
				group = &wait
			}
			group.Go(func() {
				for n := range times {
					id := fmt.Sprintf("c%d", n)
					if _, err := st.Append(ctx, key, store.Exactly(int64(1+2*n)), store.Message(id, call(id)), store.Message(id+"r", result(id, "out"))); err != nil {
						t.Errorf("writer %d: %v", i, err)
						return
					}
					// One that is wrong spoils nothing for those it travels with.
					if _, err := st.Append(ctx, key, store.Anywhere, store.Message(id, user("another"))); err == nil {
						t.Errorf("writer %d: an id was taken twice", i)
					}
				}
			})
		}
		others.Wait()
		close(release)
		wait.Wait()
		for _, key := range keys {
			session, err := st.Session(ctx, key)
			if err != nil || session.Head != 1+2*times {
				t.Errorf("%s: %v, %v", key, session, err)
			}
		}
		checkStore(t, st, slices.Clone(keys[:3])...)
	})
}
