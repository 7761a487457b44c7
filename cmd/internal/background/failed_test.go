package background

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

// TestFailedCompactionIsTriedAgainLater: a session whose summary fails is tried again later, and later still, and not at every
// look. It goes on meanwhile.
func TestFailedCompactionIsTriedAgainLater(t *testing.T) {
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	key := store.ID("a")
	if _, err := st.Create(ctx, key, store.Create{Dialect: "anthropic", Model: "claude-sonnet-4-5"}); err != nil {
		t.Fatal(err)
	}
	add := func() {
		for i := range 20 {
			who := [2]string{"user", "assistant"}[i%2]
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", fmt.Appendf(nil, `{"role":%q,"content":%q}`, who, strings.Repeat("words ", 40)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	add()
	asked, down := 0, true
	c := &pare.Compactor{MinKeep: 4, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
		if asked++; down {
			return pare.Summary{}, errors.New("down")
		}
		return pare.Summary{Text: "they talked"}, nil
	}}
	w := &compactor{store: st, options: Options{Above: 100, Compactor: c, Every: time.Hour, Workers: 1, Log: slog.New(slog.DiscardHandler)}, trials: make(map[store.Key]attempt)}
	for range 10 {
		w.compactDue(ctx)
		add()
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	first := w.trials[key].next
	w.trials[key] = attempt{failures: 1, next: time.Now()}
	w.compactDue(ctx)
	if asked != 2 || !w.trials[key].next.After(first.Add(-time.Minute)) || w.trials[key].failures != 2 {
		t.Errorf("asked %d times, %+v", asked, w.trials[key])
	}
	down = false
	w.trials[key] = attempt{failures: 2, next: time.Now()}
	w.compactDue(ctx)
	if _, there := w.trials[key]; asked != 3 || there {
		t.Errorf("asked %d times, %+v", asked, w.trials[key])
	}
	if page, err := st.Window(ctx, key, store.WindowOptions{}); err != nil || !strings.Contains(string(page.Body), "they talked") {
		t.Error(err)
	}
}
