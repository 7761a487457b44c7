package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestAppendDoesNotReadBuffersAfterReturning overwrites the caller's buffers after appends that
// succeed, fail or are canceled, and checks that the stored bytes are the original ones.
func TestAppendDoesNotReadBuffersAfterReturning(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		const writers = 24
		rounds := trial.Size(60)
		keys := make([]store.Key, writers)
		for i := range keys {
			keys[i] = create(t, st, fmt.Sprintf("s%d", i))
			put(t, st, keys[i], user("go"))
		}
		var wait sync.WaitGroup
		sent := make([]map[string][]byte, writers)
		for w, key := range keys {
			sent[w] = make(map[string][]byte)
			wait.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(w)))
				buf := make([]byte, 0, 8<<10)
				for i := range rounds {
					// Short ones are kept as they are, long ones are packed, and noise cannot be.
					text := make([]byte, []int{20, 150, 1500}[r.IntN(3)])
					for j := range text {
						text[j] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."[r.IntN(64)]
					}
					id := fmt.Sprint(i)
					buf = append(buf[:0], user(string(text))...)
					sent[w][id] = bytes.Clone(buf)
					ctx, cancel := context.WithCancel(context.Background())
					yields := r.IntN(400)
					go func() {
						for range yields {
							runtime.Gosched()
						}
						cancel()
					}()
					st.Append(ctx, key, store.Anywhere, store.Message(id, buf))
					for j := range buf {
						buf[j] = 'X'
					}
					cancel()
				}
			})
		}
		wait.Wait()
		for w, key := range keys {
			err := st.Export(ctx, key, store.Export{}, func(e store.Entry) error {
				if e.Seq > 1 && !bytes.Equal(e.Raw, sent[w][e.ID]) {
					t.Errorf("%s, entry %s: %.60s, and %.60s was appended", key, e.ID, e.Raw, sent[w][e.ID])
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		checkStore(t, st, keys[0])
	})
}

// TestCanceledAppendLeavesTheGroup checks that an append that is canceled while it is queued is not
// written.
func TestCanceledAppendLeavesTheGroup(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		put(t, st, key, user("go"))
		release := store.HoldLanes(st)
		ctx, cancel := context.WithCancel(context.Background())
		raw := user("never mind")
		failed := make(chan error)
		go func() {
			_, err := st.Append(ctx, key, store.Anywhere, store.Message("m", raw))
			failed <- err
		}()
		store.AwaitMember(st)
		cancel()
		if err := <-failed; err != context.Canceled {
			t.Errorf("a cancelled append: %v", err)
		}
		copy(raw, bytes.Repeat([]byte("X"), len(raw)))
		release()
		if head := put(t, st, key, user("and on")); head != 2 {
			t.Errorf("the head is %d", head)
		}
		checkStore(t, st, key)
	})
}
