package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/store"
)

// TestNotes lets many writers change one note, and lists and deletes notes by time.
func TestNotes(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := range 5 {
					word := fmt.Sprintf("%d-%d", w, i)
					err := st.Note(ctx, "a", func(old string) string {
						words := append(strings.Fields(old), word)
						slices.Sort(words)
						return strings.Join(slices.Compact(words), " ")
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		all, err := st.Notes(ctx, time.Time{}, 10)
		if err != nil || len(all) != 1 || len(strings.Fields(all[0].Text)) != 20 {
			t.Fatal(err, all)
		}
		if err := st.Note(ctx, "b", func(string) string { return "later" }); err != nil {
			t.Fatal(err)
		}
		since, err := st.Notes(ctx, all[0].At.Add(time.Microsecond), 10)
		if err != nil || len(since) != 1 || since[0].Key != "b" || since[0].Text != "later" {
			t.Error(err, since)
		}
		if n, err := st.ForgetNotes(ctx, since[0].At); err != nil || n != 1 {
			t.Error(n, err)
		}
	})
}
