package store_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/store"
)

// TestSearchFolds checks that both databases find words in any spelling.
func TestSearchFolds(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		said := map[string]string{
			"cafe":  "Das Café öffnet um zehn",
			"apart": "cafe\u0301 in two parts", // a combining accent
			"tieng": "Tiếng Việt",
			"path":  "see internal/serve/Gate.go:73 and https://example.org/a-b?x=1",
			"korea": "한국어 문장",
			"omega": "ΩΜΕΓΑ Ёлка",
			"long":  strings.Repeat("x", 3000),
			"signs": "-- ?! ''",
		}
		for _, id := range slices.Sorted(maps.Keys(said)) {
			put(t, st, key, user(said[id]))
		}
		for query, want := range map[string][]string{
			"CAFE": {"cafe", "apart"}, "café": {"cafe", "apart"}, "cafe\u0301": {"cafe", "apart"}, "OFFNET": {"cafe"}, `"cafe offnet"`: {"cafe"}, `"offnet cafe"`: nil,
			"tieng viet": {"tieng"}, "TIẾNG": {"tieng"},
			"gate.go": {"path"}, "gate": {"path"}, "serve/gate": {"path"}, "example.org": {"path"}, "org": {"path"}, "a-b": {"path"}, "73": {"path"}, "7": nil,
			"한국어": {"korea"}, "한국": nil, "ωμεγα": {"omega"}, "елка": {"omega"},
			strings.Repeat("X", 3000): {"long"},
			"--":                      nil, "cafe --": {"cafe", "apart"}, "'' OR": nil, `caf"e`: nil,
		} {
			hits, err := st.Search(ctx, key, query, 0)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			var got []string
			for _, h := range hits {
				for id, text := range said {
					if strings.Contains(text, strings.Trim(h.Snippet, " ")) {
						got = append(got, id)
					}
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%.20q finds %v, not %v: %+v", query, got, want, hits)
			}
		}
	})
}

// TestSearchOfOldIndex checks that entries indexed by old versions are found.
func TestSearchOfOldIndex(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("Das Café in Gate.go"))
		body := `?`
		if st.Engine() == "postgres" {
			body = `to_tsvector('simple', ?)`
		}
		for _, err := range []error{
			st.Exec(`INSERT INTO words (body, sid, seq) SELECT `+body+`, sid, 1 FROM sessions`, "Das Café in Gate.go"),
			st.Exec(`UPDATE sessions SET indexed = 1`),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, query := range []string{"café", "das", "gate.go", `"das café"`} {
			if hits, err := st.Search(ctx, key, query, 0); err != nil || len(hits) != 1 {
				t.Errorf("%s: %v %v", query, hits, err)
			}
		}
	})
}
