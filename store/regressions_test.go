package store_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// These tests cover complaints of users of other stores.

// TestPagesSplitNoExchange checks that pages in both directions split no exchange and contain every
// entry once, during appends.
func TestPagesSplitNoExchange(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		r := rand.New(rand.NewPCG(7, 7))
		for round := range 4 {
			key := create(t, st, fmt.Sprintf("p%d", round))
			var pending []string
			grow := func(n int) {
				for i := range n {
					id := fmt.Sprintf("%d.%d.%d", round, i, r.IntN(1<<30))
					switch k := r.IntN(6); {
					case k < 2:
						put(t, st, key, user("u"+id))
					case k < 4:
						put(t, st, key, call(id))
						pending = append(pending, id)
					case len(pending) > 0:
						at := r.IntN(len(pending))
						put(t, st, key, result(pending[at], "x"))
						pending = append(pending[:at], pending[at+1:]...)
					default:
						put(t, st, key, assistant("a"+id))
					}
				}
			}
			grow(80)
			forward := walk(t, st, key, r, false, func() { grow(1) })
			backward := walk(t, st, key, r, true, nil)
			if len(backward) < 80 || len(forward) < len(backward) {
				t.Errorf("%d entries forwards, %d backwards", len(forward), len(backward))
			}
			checkStore(t, st, key)
		}
	})
}

// walk pages through a session and checks every page.
func walk(t *testing.T, st *store.Store, key store.Key, r *rand.Rand, backwards bool, between func()) map[string]bool {
	t.Helper()
	seen := make(map[string]bool)
	heads := make(map[int64]int64) // by entry: the head when its page was read
	p := store.Page{Last: backwards}
	for {
		p.Limit = 1 + r.IntN(9)
		page, err := st.Page(ctx, key, p)
		if err != nil {
			t.Fatal(err)
		}
		there := make(map[int64]bool)
		for _, e := range page.Entries {
			there[e.Seq] = true
			heads[e.Seq] = page.Head
			if seen[e.ID] {
				t.Errorf("%s is on two pages", e.ID)
			}
			seen[e.ID] = true
		}
		for _, e := range page.Entries {
			for _, a := range e.Answers {
				// The call had no result when its page was read.
				if read, ok := heads[a.Seq]; a.Seq > 0 && !there[a.Seq] && !(ok && read < e.Seq) {
					t.Errorf("entry %d answers entry %d, which is on another page", e.Seq, a.Seq)
				}
			}
		}
		next := page.Next
		if backwards {
			next = page.Prev
		}
		if next == "" {
			return seen
		}
		if between != nil && r.IntN(4) == 0 && len(seen) < 120 {
			between()
		}
		p = store.Page{After: next}
		if backwards {
			p = store.Page{Before: next}
		}
	}
}

// TestResultWithoutItsCall checks that a result without a call is stored, listed, and quoted in
// windows.
func TestResultWithoutItsCall(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("go"), result("lost", "the build is green"), user("and?"))
		w, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		clean(t, w.Body)
		if !strings.Contains(string(w.Body), "the build is green") {
			t.Error("what the result says is lost")
		}
		if n := len(texts(t, st, key)); n != 3 {
			t.Errorf("%d entries: a window writes nothing", n)
		}
		problems, err := st.Fsck(ctx, true)
		if err != nil || len(problems) != 1 || !problems[0].Harmless || problems[0].Seq != 2 || !strings.Contains(problems[0].What, `"lost"`) {
			t.Errorf("fsck does not name it: %v, %v", problems, err)
		}
		checkStore(t, st, key)
	})
}

// TestOpenCallDoesNotPreventCompaction checks that an unanswered call does not prevent compaction.
func TestOpenCallDoesNotPreventCompaction(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("go"), call("never"))
		for i := range 20 {
			put(t, st, key, user(fmt.Sprintf("turn %d %s", i, strings.Repeat("and so on ", 30))), assistant("fine"))
		}
		compaction, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 6, Summarize: says("they talked")})
		if err != nil || compaction == nil {
			t.Fatal(compaction, err)
		}
		checkStore(t, st, key)
	})
}

func says(text string) pare.Summarizer {
	return func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{Text: text}, nil }
}

// TestStubIsNeverStored checks that stubs are in windows only, and that a late result is sent.
func TestStubIsNeverStored(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("may I?"), call("ask"))
		before := texts(t, st, key)
		w, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		clean(t, w.Body)
		if !strings.Contains(string(w.Body), "unknown") {
			t.Errorf("the open call is closed when sending: %s", w.Body)
		}
		if after := texts(t, st, key); strings.Join(after, "") != strings.Join(before, "") {
			t.Error("a window wrote something")
		}
		put(t, st, key, user("meanwhile"), assistant("ok"))
		put(t, st, key, result("ask", "the person says yes"))
		put(t, st, key, user("go on"))
		w, err = st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		clean(t, w.Body)
		if s := string(w.Body); !strings.Contains(s, "the person says yes") || strings.Contains(s, "unknown") {
			t.Errorf("the late answer is not sent: %s", s)
		}
		checkStore(t, st, key)
	})
}

// TestOlderWriteNeverWins checks that a write based on an old head conflicts after a newer write or
// a deletion.
func TestOlderWriteNeverWins(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("one"))
		stale, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := st.Append(stale, key, store.Exactly(1), store.Message("late", user("late"))); err == nil {
			t.Error("a cancelled append was acknowledged")
		}
		put(t, st, key, assistant("two"))
		var c *store.ConflictError
		if _, err := st.Append(ctx, key, store.Exactly(1), store.Message("late", user("late"))); !errors.As(err, &c) {
			t.Errorf("got %v", err)
		}
		if err := st.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"append": second(st.Append(ctx, key, store.Anywhere, store.Message("x", user("x")))),
			"window": second(st.Window(ctx, key, store.WindowOptions{})),
			"fork":   second(st.Fork(ctx, key, "", store.ID("z"))),
			"undo":   second(st.Undo(ctx, key)),
		} {
			if !errors.Is(err, store.ErrDeleted) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// picture returns a PNG with n bytes after its header.
func picture(n int, seed byte) string {
	head := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00\x00\x00\x01\x00\x08\x06\x00\x00\x00")
	data := append(head, make([]byte, n)...)
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	for i := len(head); i < len(data); i++ {
		data[i] = byte(r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(data)
}

// TestHugeMessagesAndImages stores a result of 50 MB and 200 images, each image once, and checks
// that windows read only images that they send, even if others are damaged.
func TestHugeMessagesAndImages(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		var raws []string
		add := func(raw string) {
			raws = append(raws, raw)
			put(t, st, key, []byte(raw))
		}
		add(string(user("the task")))
		pictures, lines := 40, 150_000 // 5 MB
		if trial.Soak() {
			pictures, lines = 200, 1_500_000
		}
		for i := range pictures {
			shot := picture(60_000, byte(i%4)) // four different ones
			add(fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"s%d","name":"run","input":{}}]}`, i))
			add(fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"s%d","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]}`, i, shot))
		}
		big := strings.Repeat("a line of a log that nobody reads\n", lines)
		add(string(call("big")))
		add(string(result("big", big)))
		for i := range 20 {
			add(string(assistant(fmt.Sprintf("done %d %s", i, strings.Repeat("word ", 100)))))
			add(string(user(fmt.Sprintf("next %d %s", i, strings.Repeat("word ", 100)))))
		}
		if got := texts(t, st, key); strings.Join(got, "\n") != strings.Join(raws, "\n") {
			t.Error("what comes back is not what was put in")
		}
		small := &pare.Policy{Window: &pare.Window{Tokens: 6000}}
		w, err := st.Window(ctx, key, store.WindowOptions{Policy: small})
		if err != nil {
			t.Fatal(err)
		}
		first := w
		clean(t, w.Body)
		if len(w.Body) > 100_000 || w.From < int64(2*pictures) {
			t.Errorf("the window has %d bytes and reads from entry %d on", len(w.Body), w.From)
		}
		if n := st.Count(`SELECT count(*) FROM blobs`); n != 4 {
			t.Errorf("%d pictures are stored", n)
		}
		// With enough space, the window has all images.
		w, err = st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Off: true}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(w.Body), strings.Join(raws[1:80], ",")) {
			t.Error("pictures are not sent as they came")
		}
		checkStore(t, st)
		for _, damage := range []string{`UPDATE blobs SET data = data || data`, `UPDATE entries SET raw = sum WHERE size > 1000000`} {
			if err := st.Exec(damage); err != nil {
				t.Fatal(err)
			}
		}
		again, err := st.Window(ctx, key, store.WindowOptions{Policy: small})
		if err != nil || string(again.Body) != string(first.Body) {
			t.Errorf("a window read what it does not send: %v", err)
		}
		if problems, err := st.Fsck(ctx, false); err != nil || len(problems) != pictures+1 {
			t.Errorf("fsck finds %d of %d: %v", len(problems), pictures+1, err)
		}
	})
}

// TestForgedMarkerFetchesNothing checks that text that looks like a media marker fetches nothing.
func TestForgedMarkerFetchesNothing(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		text := strings.Repeat("A", 9000) + "pareBlob" + strings.Repeat("0", 64) + strings.Repeat("0", 32)
		raw := user(text)
		put(t, st, key, raw)
		w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{}})
		if err != nil || !strings.Contains(string(w.Body), string(raw)) {
			t.Errorf("%v: %.100s", err, w.Body)
		}
	})
}

// TestBytesOnDisk limits the bytes on disk per byte of messages.
func TestBytesOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pare.db")
	st := open(t, path)
	key := create(t, st, "a")
	r := rand.New(rand.NewPCG(3, 3))
	words := strings.Fields("the build of module failed because line has an error in function test where value is not expected and file was written to path again")
	total := 0
	for i := range 400 {
		var text strings.Builder
		for range 50 + r.IntN(300) {
			text.WriteString(words[r.IntN(len(words))] + " ")
		}
		id := fmt.Sprintf("toolu_%d", i)
		raws := [][]byte{user(text.String()), call(id), result(id, text.String())}
		for _, raw := range raws {
			total += len(raw)
		}
		put(t, st, key, raws...)
	}
	st.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	ratio := float64(info.Size()) / float64(total)
	t.Logf("%d bytes of bodies, %d on disk: %.2f", total, info.Size(), ratio)
	if ratio > 1.3 {
		t.Errorf("%.2f bytes on disk for a byte of body", ratio)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}
