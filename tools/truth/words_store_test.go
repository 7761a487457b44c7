package truth

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// TestStoreKeepsWords checks that an export returns every imported message, and that a window
// returns its repaired form, with receipts.
func TestStoreKeepsWords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "words.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	sum := newLedger()
	var all []*shape
	for _, s := range shapes() {
		if !s.lines {
			all = append(all, s)
		}
	}
	n := 0
	// imported puts a request into the store, without its envelope, as the program does.
	imported := func(raw []byte) (store.Key, wire.Envelope, error) {
		in := wire.Unwrap(raw)
		r, err := wire.Parse(in.Body, wire.Options{Model: in.Model})
		if err != nil {
			return store.Key{}, in, err
		}
		n++
		key := store.ID(fmt.Sprintf("s%d", n))
		_, err = st.Import(ctx, key, "words", r)
		return key, in, err
	}
	export := door{name: "import, export", let: nobody, pass: func(d *document, raw []byte) result {
		key, in, err := imported(raw)
		if err != nil {
			return result{out: raw, note: err.Error()}
		}
		session, err := st.Session(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		out := bytes.Clone(in.Holding(raw, append(session.Base, ' ')))
		if err := st.Export(ctx, key, store.Export{}, func(e store.Entry) error {
			out = append(append(out, '\n'), e.Raw...)
			return nil
		}); err != nil {
			return result{out: nil, note: err.Error()}
		}
		return result{out: out, state: clean, note: session.Dialect}
	}}
	window := door{name: "import, window", let: nobody, pass: func(d *document, raw []byte) result {
		key, in, err := imported(raw)
		if err != nil {
			return result{out: raw, note: err.Error()}
		}
		w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{}})
		if err != nil {
			return result{out: raw, note: err.Error()} // an error, and nothing was sent
		}
		root, prefix := openEnvelope(in, d.root)
		return result{out: in.Holding(raw, w.Body), state: repaired, note: "window", changes: convertChanges(w.Plan.Changes(), root, prefix)}
	}}
	for i := range trial.Size(240) {
		d := makeDocument(all, trial.FirstSeed()+uint64(i))
		sum.judge(d, &export)
		sum.judge(d, &window)
	}
	sum.tell(t)
}
