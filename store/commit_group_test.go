package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pare-llm/pare/store"
)

// TestGroupedAppendsFailSeparately checks that appends in one transaction succeed or fail
// separately, with deleted sessions and taken ids among them.
func TestGroupedAppendsFailSeparately(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st, elsewhere := open(t, dsn), open(t, dsn)
		const sessions, before = 32, 70
		keys := make([]store.Key, sessions)
		for i := range keys {
			keys[i] = create(t, st, fmt.Sprint(i))
			var list []store.Entry
			for j := range before {
				list = append(list, store.Message(fmt.Sprintf("e%d", j), user(fmt.Sprint(j))))
			}
			if _, err := st.Append(ctx, keys[i], store.Exactly(0), list...); err != nil {
				t.Fatal(err)
			}
			put(t, st, keys[i], user("from here on it is known"))
		}
		for i := 0; i < sessions; i += 4 {
			if err := elsewhere.Delete(ctx, keys[i]); err != nil {
				t.Fatal(err)
			}
		}
		var wait sync.WaitGroup
		for i, key := range keys {
			wait.Go(func() {
				e := []store.Entry{
					store.Message("new", user("to a session that is gone")),
					store.Message("e3", user("3")),
					store.Message("e3", user("something else")),
					store.Message("new", user("new")),
				}[i%4]
				result, err := st.Append(ctx, key, store.Anywhere, e)
				var twice *store.DuplicateError
				var right bool
				switch i % 4 {
				case 0:
					right = errors.Is(err, store.ErrDeleted)
				case 1:
					right = err == nil && result.Replayed == 1 && result.Head == before+1
				case 2:
					right = errors.As(err, &twice)
				case 3:
					right = err == nil && result.Replayed == 0 && result.Head == before+2
				}
				if !right {
					t.Errorf("session %d: %+v, %v", i, result, err)
				}
			})
		}
		wait.Wait()
		checkStore(t, elsewhere)
		for i, key := range keys {
			session, err := elsewhere.Session(ctx, key)
			switch {
			case i%4 == 0:
				if !errors.Is(err, store.ErrDeleted) {
					t.Errorf("session %d: %v", i, err)
				}
			case err != nil:
				t.Error(err)
			case i%4 == 3 && session.Head != before+2, i%4 != 3 && session.Head != before+1:
				t.Errorf("session %d ends at %d", i, session.Head)
			}
		}
	})
}
