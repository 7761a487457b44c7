package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// TestAcceptedMessagesCanBeSent checks that every accepted message gives a valid window, alone and
// with later messages. It appends random histories of every dialect with damaged messages, one
// message at a time.
func TestAcceptedMessagesCanBeSent(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	for _, d := range wire.Dialects() {
		taken, refused := 0, 0
		for seed := range max(trial.Size(20), 8) {
			r := rand.New(rand.NewPCG(4, uint64(seed)))
			body, _ := histories.Mixed(uint64(seed), d, histories.MixOptions{Breaks: r.IntN(3), Turns: 1 + r.IntN(2)})
			for range 1 + r.IntN(3) {
				if damaged, _ := histories.Corrupt(r, body); json.Valid(damaged) {
					body = damaged
				}
			}
			var whole map[string]json.RawMessage
			var list []json.RawMessage
			if json.Unmarshal(body, &whole) != nil || json.Unmarshal(whole[d.List()], &list) != nil {
				continue
			}
			key := store.ID(fmt.Sprintf("%s-%d", d, seed))
			var model string
			json.Unmarshal(whole["model"], &model)
			if _, err := st.Create(ctx, key, store.Create{Dialect: d.String(), Model: model}); err != nil {
				t.Fatal(err)
			}
			for i, raw := range list {
				if r.IntN(4) == 0 {
					raw = damageValue(r, raw)
				}
				_, err := st.Append(ctx, key, store.Anywhere, store.Message("", raw))
				var bad *store.EntryError
				switch {
				case errors.As(err, &bad):
					refused++
					continue
				case err != nil:
					t.Fatal(err)
				}
				taken++
				if _, err := st.Window(ctx, key, store.WindowOptions{}); err != nil {
					t.Errorf("seed %d, message %d: %v: %s", seed, i, err, raw)
					break
				}
			}
		}
		t.Logf("%s: %d taken, %d refused", d, taken, refused)
		if taken < max(trial.Size(20), 8) || refused == 0 {
			t.Errorf("%s: %d taken, %d refused: not enough was tried", d, taken, refused)
		}
	}
}

// damageValue doubles a member of a message, or makes its value one of another type.
func damageValue(r *rand.Rand, raw []byte) []byte {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	var keys []int64 // ends of keys
	var stack []bool // objects, and whether a key comes next
	for {
		tok, err := d.Token()
		if err != nil {
			break
		}
		if _, ok := tok.(string); ok && len(stack) > 0 && d.More() && strings.HasPrefix(strings.TrimSpace(string(raw[d.InputOffset():])), ":") {
			keys = append(keys, d.InputOffset())
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			stack = append(stack, true)
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
	if len(keys) == 0 {
		return raw
	}
	at := keys[r.IntN(len(keys))]
	colon := at + int64(strings.IndexByte(string(raw[at:]), ':')) + 1
	key := raw[strings.LastIndexByte(string(raw[:at-1]), '"'):at]
	other := []string{`5`, `{"a":1}`, `["x"]`, `null`, `true`, `"words"`, `{}`, `[]`, `""`}[r.IntN(9)]
	out := string(raw[:colon]) + other + "," + string(key) + ":" + string(raw[colon:])
	if r.IntN(2) == 0 { // replace the value
		value := json.NewDecoder(strings.NewReader(string(raw[colon:])))
		var skip json.RawMessage
		if value.Decode(&skip) == nil {
			out = string(raw[:colon]) + other + string(raw[colon+value.InputOffset():])
		}
	}
	if !json.Valid([]byte(out)) {
		return raw
	}
	return []byte(out)
}
