package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

func about(t *testing.T, st *store.Store, scope, question string, limit int) (ids []string) {
	t.Helper()
	hits, err := st.SearchRanked(ctx, scope, question, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		ids = append(ids, fmt.Sprintf("%s%d", h.Key.ID, h.Seq))
	}
	return ids
}

// TestSearchRankedOrder checks that any form of any word counts, rare words and more words count
// more, newer entries come first, and reverted entries are not found.
func TestSearchRankedOrder(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		now := time.UnixMicro(1e15)
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		a, b := create(t, st, "a"), create(t, st, "b")
		put(t, st, a, user("We decided that the tokens expire after nine minutes."), assistant("The deploy is blocked by the heron."), user("Please deploy."), assistant("Deploying, and deploying again."))
		now = now.Add(100 * 24 * time.Hour)
		put(t, st, b, user("Please deploy."), assistant("Nothing."))
		for _, c := range []struct{ question, first string }{
			{"when does a token expire?", "a1"},
			{"herons that block deployments of this", "a2"},
			{"deciding", "a1"},
			{"please", "b1"},
		} {
			if got := about(t, st, "", c.question, 5); len(got) == 0 || got[0] != c.first {
				t.Errorf("%q finds %v, want %s first", c.question, got, c.first)
			}
		}
		for _, question := range []string{"", "?!", "zebra", `") OR 1=1 --`, "NEAR(", "a AND NOT", strings.Repeat("zebra ", 1e5)} {
			if got := about(t, st, "", question, 5); len(got) > 0 && strings.Contains(question, "zebra") {
				t.Errorf("%.20q finds %v", question, got)
			}
		}
		if _, err := st.Revert(ctx, a, store.Anywhere, ""); err != nil {
			t.Fatal(err)
		}
		if got := about(t, st, "", "heron", 5); len(got) > 0 {
			t.Errorf("what was reverted is found: %v", got)
		}
		if err := st.Delete(ctx, b); err != nil {
			t.Fatal(err)
		}
		if got := about(t, st, "", "please deploy", 5); len(got) > 0 {
			t.Errorf("what was deleted is found: %v", got)
		}
	})
}

// TestSearchRankedSeparatesScopes checks that no question finds entries of another scope.
func TestSearchRankedSeparatesScopes(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		remember(t, st, newExchange(t, "alpha", "the password is heron", user("our plan"), assistant("heron"), user("go on")))
		remember(t, st, newExchange(t, "beta", "nothing", user("our plan")))
		remember(t, st, newExchange(t, "", "nothing", user("our plan")))
		fork, err := st.Sessions(ctx, "alpha", 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Fork(ctx, fork[0].Key, "", store.Key{Scope: "alpha", ID: "fork"}); err != nil {
			t.Fatal(err)
		}
		for _, scope := range []string{"beta", "", "*", "%", "alph_", "ALPHA", "alpha\x00", "alpha' OR '1'='1", "alpha:"} {
			for _, question := range []string{"heron", "password", "plan heron", `scope:alpha heron`, `heron" OR scope = "alpha`, fork[0].ID} {
				hits, err := st.SearchRanked(ctx, scope, question, 100)
				for _, h := range hits {
					if h.Key.Scope != scope || strings.Contains(h.Snippet, "heron") {
						t.Errorf("%q, asked for %q, sees %+v", scope, question, h)
					}
				}
				if err != nil && !strings.Contains(scope, "\x00") {
					t.Errorf("%q, %q: %v", scope, question, err)
				}
			}
		}
		// Deleting a parent does not reveal entries of the fork.
		if err := st.Delete(ctx, fork[0].Key); err != nil {
			t.Fatal(err)
		}
		if hits, err := st.SearchRanked(ctx, "beta", "heron", 100); err != nil || len(hits) > 0 {
			t.Errorf("%v %v", hits, err)
		}
		if hits, err := st.SearchRanked(ctx, "alpha", "heron", 100); err != nil || len(hits) == 0 || hits[0].Key.ID != "fork" {
			t.Errorf("the fork: %v %v", hits, err)
		}
	})
}

// A quiz is a list of entries, newest last, and questions about them.
type quiz struct {
	texts     map[string]string // by id of the entry
	lower     map[string]string // in lower case, made once
	order     []string          // ids, the oldest first
	questions []question
}

type question struct{ text, answer string }

// makeQuestion makes a question from words of a text, in another order and form.
func makeQuestion(rng *rand.Rand, text string) string {
	var words []string
	for w := range strings.FieldsSeq(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return ' '
	}, text)) {
		if len(w) >= 4 && len(w) <= 20 && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(words) < 12 {
		return ""
	}
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	words = words[:6]
	for i, w := range words[:2] { // like a rough recollection
		if strings.ToLower(w) == w && !strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "e") && !strings.ContainsAny(w, "0123456789") {
			words[i] = w + []string{"s", "ing"}[rng.IntN(2)]
		}
	}
	return strings.Join(words, " ")
}

// share returns how often the answer is among the first five hits.
func (q *quiz) share(find func(question string) []string) float64 {
	n := 0
	for _, x := range q.questions {
		found := find(x.text)
		if slices.ContainsFunc(found[:min(5, len(found))], func(id string) bool { return q.texts[id] == q.texts[x.answer] }) {
			n++
		}
	}
	return float64(n) / float64(len(q.questions))
}

// quizOf stores histories and makes questions about some of their messages.
func quizOf(t *testing.T, st *store.Store, histories []*wire.Request, questions int) *quiz {
	t.Helper()
	rng := rand.New(rand.NewPCG(33, 1))
	q := &quiz{texts: make(map[string]string), lower: make(map[string]string)}
	for _, r := range histories {
		if err := st.Remember(ctx, store.RecordedExchange{Request: r}); err != nil {
			continue // no session can hold it
		}
		last, err := st.Sessions(ctx, "", 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = st.Export(ctx, last[0].Key, store.Export{}, func(e store.Entry) error {
			one, err := wire.Parse(slices.Concat([]byte("["), e.Raw, []byte("]")), wire.Options{Dialect: r.Dialect})
			if err != nil {
				return nil
			}
			var text strings.Builder
			for b, blk := range one.Transcript().Blocks() {
				if blk.Kind != transcript.Thinking && blk.Kind != transcript.Media {
					text.WriteString(one.Text(transcript.BlockID(b)) + " ")
				}
			}
			if _, twice := q.texts[e.ID]; !twice {
				q.texts[e.ID] = text.String()
				q.lower[e.ID] = strings.ToLower(text.String())
				q.order = append(q.order, e.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for try := 0; len(q.questions) < questions && try < 100*questions; try++ {
		id := q.order[rng.IntN(len(q.order))]
		if text := makeQuestion(rng, q.texts[id]); text != "" {
			q.questions = append(q.questions, question{text, id})
		}
	}
	if len(q.questions) < questions {
		t.Fatalf("only %d questions", len(q.questions))
	}
	return q
}

// measure compares three kinds of search.
func (q *quiz) measure(t *testing.T, st *store.Store) (ranked, recency, substring float64) {
	newest := slices.Clone(q.order)
	slices.Reverse(newest)
	ranked = q.share(func(question string) (ids []string) {
		hits, err := st.SearchRanked(ctx, "", question, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		return ids
	})
	recency = q.share(func(string) []string { return newest })
	substring = q.share(func(question string) (ids []string) {
		words := strings.Fields(strings.ToLower(question))
		for _, id := range newest {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(q.lower[id], w) }) {
				ids = append(ids, id)
			}
		}
		return ids
	})
	return ranked, recency, substring
}

// TestSearchRankedBeatsBaselines compares ranked search with search by recency and by substring,
// for questions that are made from entries.
func TestSearchRankedBeatsBaselines(t *testing.T) {
	var madeUp []*wire.Request
	rng := rand.New(rand.NewPCG(7, 7))
	syllables := strings.Fields("ka lo mi ter van sol ed fin gar hun pil qua ros tem ul wex yor zan bri dop")
	vocabulary := make([]string, 3000)
	for i := range vocabulary {
		for range 2 + rng.IntN(2) {
			vocabulary[i] += syllables[rng.IntN(len(syllables))]
		}
	}
	for i := range 40 {
		var messages []string
		for k := range 7 {
			var words []string
			for range 20 + rng.IntN(60) { // common words are more common
				words = append(words, vocabulary[int(float64(len(vocabulary))*rng.Float64()*rng.Float64())])
			}
			messages = append(messages, fmt.Sprintf(`{"role":%q,"content":%q}`, []string{"user", "assistant"}[k%2], fmt.Sprint(i, " ", strings.Join(words, " "))))
		}
		r, err := wire.Parse([]byte(`{"model":"claude-sonnet-4-5","messages":[`+strings.Join(messages, ",")+`]}`), wire.Options{Dialect: wire.Anthropic})
		if err != nil {
			t.Fatal(err)
		}
		madeUp = append(madeUp, r)
	}
	both(t, func(t *testing.T, st *store.Store) {
		q := quizOf(t, st, madeUp, 40)
		ranked, recency, substring := q.measure(t, st)
		t.Logf("made up, %d entries: recall@5 ranked %.2f, recency %.2f, substring %.2f", len(q.order), ranked, recency, substring)
		if ranked <= recency || ranked <= substring {
			t.Errorf("ranked %.2f, recency %.2f, substring %.2f", ranked, recency, substring)
		}
	})
	t.Run("recorded", func(t *testing.T) {
		corpus.Dir(t)
		trial.Long(t, "it indexes many recorded sessions")
		var recorded []*wire.Request
		for i, b := range corpus.Sessions(t) {
			if i%trial.SparseStride(54) != 0 || len(b.Raw) >= 1<<20 {
				continue
			}
			if r, err := wire.Parse(b.Raw, wire.Options{}); err == nil {
				recorded = append(recorded, r)
			}
		}
		both(t, func(t *testing.T, st *store.Store) {
			q := quizOf(t, st, recorded, 100)
			ranked, recency, substring := q.measure(t, st)
			t.Logf("recorded, %d sessions, %d entries: recall@5 ranked %.2f, recency %.2f, substring %.2f", len(recorded), len(q.order), ranked, recency, substring)
			if ranked <= recency || ranked <= substring {
				t.Errorf("ranked %.2f, recency %.2f, substring %.2f", ranked, recency, substring)
			}
		})
	})
}
