package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/internal/oracle"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A zooCase is an incident of the zoo.
type zooCase struct{ corpus.Incident }

func (z *zooCase) body() string { return string(z.Body()) }

// broken reports whether the provider refuses the case for something that the request
// shows.
func (z *zooCase) broken() bool {
	return len(z.Expect.Violations) > 0 && z.Expect.Static && z.Status != "legacy"
}

func zoo(t testing.TB) (all []zooCase) {
	t.Helper()
	for _, z := range corpus.Zoo(t) {
		all = append(all, zooCase{z})
	}
	return all
}

// pathFor is where a client sends a body of a dialect.
func pathFor(t testing.TB, dialect string, body []byte) string {
	t.Helper()
	var named struct{ Model, ModelID string }
	json.Unmarshal(body, &named)
	model := named.Model + named.ModelID
	if model == "" {
		d, err := wire.ParseDialect(dialect)
		if err != nil {
			t.Fatal(err)
		}
		model = histories.DefaultModel(d)
	}
	switch dialect {
	case "anthropic":
		return "/v1/messages"
	case "openai-chat":
		return "/v1/chat/completions"
	case "openai-responses":
		return "/v1/responses"
	case "gemini":
		return "/v1beta/models/" + model + ":generateContent"
	case "gemini-interactions":
		return "/v1beta/interactions"
	case "bedrock":
		return "/model/" + model + "/converse"
	}
	t.Fatalf("no path for %s", dialect)
	return ""
}

// standIn is an upstream that is the strict stand-in.
func standIn(t testing.TB, m *paretest.Mock) *upstream {
	return newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, _ int) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.ServeHTTP(w, r)
	})
}

// second is an upstream that judges pairs without any rule of package wire.
func second(t testing.TB) *upstream {
	return newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, _ int) {
		d, _ := wire.ParseURL(r.URL.Path)
		faults, err := oracle.Judge(d.String(), body)
		if err != nil || len(faults) > 0 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q}}`, fmt.Sprint("refused by the second opinion: ", err, faults))
			return
		}
		io.WriteString(w, `{"ok":true}`)
	})
}

// direct is what the stand-in answers without a proxy.
func direct(m *paretest.Mock, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

// TestZooThroughProxy: what can be repaired is answered, by the strict stand-in and by a
// second opinion; what cannot arrives untouched, and the provider's answer comes back;
// what is not broken arrives byte for byte.
func TestZooThroughProxy(t *testing.T) {
	m := &paretest.Mock{}
	strict, other := standIn(t, m), second(t)
	throughStrict, throughOther := front(t, strict), front(t, other)
	repaired, untouched, clean := 0, 0, 0
	for _, z := range zoo(t) {
		t.Run(z.ID, func(t *testing.T) {
			path, body := pathFor(t, z.Dialect, []byte(z.body())), z.body()
			resp, answer := post(t, throughStrict.URL+path, body)
			arrived := string(strict.last(t).body)
			if !z.broken() {
				clean++
				if resp.StatusCode != 200 || arrived != body {
					t.Errorf("status %d; arrived\n%s\nwas\n%s", resp.StatusCode, arrived, body)
				}
				return
			}
			if resp.StatusCode == 200 {
				repaired++
				if resp.Header.Get("Pare-Changes") == "" || resp.Header.Get("Pare-Changes") == "0" {
					t.Errorf("repaired without saying so: %v", resp.Header)
				}
				if resp, answer := post(t, throughOther.URL+path, body); resp.StatusCode != 200 {
					t.Errorf("second opinion: status %d: %s for %s", resp.StatusCode, answer, other.last(t).body)
				}
				if want := direct(m, path, arrived); want.Body.String() != answer {
					t.Errorf("the answer is not the provider's:\n%s\n%s", answer, want.Body)
				}
				return
			}
			untouched++
			want := direct(m, path, body)
			if arrived != body || resp.StatusCode != want.Code || answer != want.Body.String() || resp.Header.Get("Pare-Skipped") != "still-refused" {
				t.Errorf("status %d, skipped %q: %s\narrived %s\nwas     %s", resp.StatusCode, resp.Header.Get("Pare-Skipped"), answer, arrived, body)
			}
			t.Logf("cannot be repaired: %s", answer)
		})
	}
	t.Logf("%d repaired, %d cannot be, %d are not broken", repaired, untouched, clean)
	if repaired < 130 {
		t.Errorf("only %d were repaired", repaired)
	}
}

// TestLegacyZooThroughProxy: what was refused once, and is still refused by some, is
// repaired by a policy that wants what is valid everywhere.
func TestLegacyZooThroughProxy(t *testing.T) {
	up := standIn(t, &paretest.Mock{Strict: true})
	through := front(t, up, func(c *proxy.Config) { c.Policy = &pare.Policy{Check: wire.CheckOptions{Strict: true}} })
	for _, z := range zoo(t) {
		if !z.Expect.Static || len(z.Expect.Violations) == 0 {
			continue
		}
		t.Run(z.ID, func(t *testing.T) {
			resp, answer := post(t, through.URL+pathFor(t, z.Dialect, []byte(z.body())), z.body())
			if resp.StatusCode != 200 && (resp.Header.Get("Pare-Skipped") != "still-refused" || string(up.last(t).body) != z.body()) {
				t.Errorf("status %d, %v: %s", resp.StatusCode, resp.Header, answer)
			}
		})
	}
}

// TestCleanThroughProxy: valid histories of every dialect, in every spelling, arrive byte
// for byte with the same headers, and the answer comes back byte for byte.
func TestCleanThroughProxy(t *testing.T) {
	m := &paretest.Mock{}
	up := standIn(t, m)
	through := front(t, up)
	for seed := range uint64(trial.Size(60)) {
		script := histories.Random(seed, histories.GenOptions{})
		for _, d := range wire.Dialects() {
			o := histories.RenderOptions{Spelling: jsontree.Spelling{Indent: []string{"", " ", "\t"}[seed%3], Keys: jsontree.KeyOrder(seed % 3), Escapes: jsontree.Escapes(seed / 3 % 3)}}
			body := string(script.Render(d, o))
			path := pathFor(t, d.String(), []byte(body))
			want := direct(m, path, body)
			if want.Code != 200 {
				t.Fatalf("%s %d: not valid: %s", d, seed, want.Body)
			}
			resp, answer := post(t, through.URL+path, body, "X-Own", "1", "User-Agent", "agent/1", "Accept-Encoding", "identity")
			got := up.last(t)
			if resp.StatusCode != 200 || answer != want.Body.String() || string(got.body) != body {
				t.Fatalf("%s %d: status %d, %v", d, seed, resp.StatusCode, resp.Header)
			}
			names := []string{}
			for name := range got.header {
				names = append(names, name)
			}
			slices.Sort(names)
			if h := strings.Join(names, " "); h != "Accept-Encoding Content-Length Content-Type User-Agent X-Own" {
				t.Errorf("%s: headers %s", d, h)
			}
		}
	}
}

// TestBrokenThroughProxy: valid histories that real incidents have happened to are
// answered, and the second opinion has nothing against what arrives.
func TestBrokenThroughProxy(t *testing.T) {
	m := &paretest.Mock{}
	up, other := standIn(t, m), second(t)
	through, throughOther := front(t, up), front(t, other)
	broken := 0
	for seed := range uint64(trial.Size(60)) {
		script, _ := histories.Break(rand.New(rand.NewPCG(seed, 7)), histories.Random(seed, histories.GenOptions{}))
		for _, d := range wire.Dialects() {
			body := string(script.Render(d, histories.RenderOptions{}))
			path := pathFor(t, d.String(), []byte(body))
			if direct(m, path, body).Code == 200 {
				continue
			}
			broken++
			if resp, answer := post(t, through.URL+path, body); resp.StatusCode != 200 {
				t.Errorf("%s %d: status %d, skipped %q: %s", d, seed, resp.StatusCode, resp.Header.Get("Pare-Skipped"), answer)
			}
			if resp, answer := post(t, throughOther.URL+path, body); resp.StatusCode != 200 {
				t.Errorf("%s %d: second opinion: status %d: %s", d, seed, resp.StatusCode, answer)
			}
		}
	}
	if broken < trial.Size(60) {
		t.Errorf("only %d were broken", broken)
	}
}

// many is a history of many exchanges.
func many(exchanges int) histories.Script {
	var b strings.Builder
	b.WriteString("system \"be brief\"\nuser \"fix the build\"\n")
	for i := range exchanges {
		fmt.Fprintf(&b, "say \"I look at part %d.\" | call r%d Read part%d.go\nresult r%d %s\n", i, i, i, i, strings.Repeat(fmt.Sprintf("line of part %d; ", i), 60))
	}
	b.WriteString("say \"Done.\"\nuser \"and now?\"")
	return histories.MustParse(b.String())
}

// TestOverflowThroughProxy: a history that the provider finds too long is cut to what its
// error says, or without figures to less, and answered.
func TestOverflowThroughProxy(t *testing.T) {
	script := many(40)
	for _, d := range wire.Dialects() {
		t.Run(d.String(), func(t *testing.T) {
			body := string(script.Render(d, histories.RenderOptions{}))
			path := pathFor(t, d.String(), []byte(body))
			if w := direct(&paretest.Mock{}, path, body); w.Code != 200 {
				t.Fatalf("not valid: %s", w.Body)
			}
			whole := tokensOf(t, d, body)
			m := &paretest.Mock{MaxTokens: whole * 9 / 10}
			up := standIn(t, m)
			resp, answer := post(t, front(t, up).URL+path, body)
			if resp.StatusCode != 200 || resp.Header.Get("Pare-Healed") != "overflow" {
				t.Fatalf("status %d, %v: %s", resp.StatusCode, resp.Header, answer)
			}
			all := up.all()
			if len(all) != 2 || string(all[0].body) != body {
				t.Fatalf("%d requests", len(all))
			}
			if got := tokensOf(t, d, string(all[1].body)); got > m.MaxTokens || got < whole/3 {
				t.Errorf("%d tokens of %d were sent, %d are allowed", got, whole, m.MaxTokens)
			}
			if !strings.Contains(string(all[1].body), "and now?") || !strings.Contains(string(all[1].body), "fix the build") {
				t.Errorf("what the user said is gone: %.300s", all[1].body)
			}
		})
	}
}

func tokensOf(t testing.TB, d wire.Dialect, body string) int {
	t.Helper()
	path := pathFor(t, d.String(), []byte(body))
	_, model := wire.ParseURL(path)
	r, err := wire.Parse([]byte(body), wire.Options{Dialect: d, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return r.Tokens(tokens.For(r.Model()))
}

// TestStreamsThroughProxy: streamed answers come back byte for byte, those of a repaired
// request, too.
func TestStreamsThroughProxy(t *testing.T) {
	m := &paretest.Mock{Reply: func(*wire.Request) paretest.Reply {
		return paretest.Reply{Text: "Let me look at it now.", Calls: []paretest.ToolCall{{Tool: "Read", Arguments: `{"path":"a.go"}`}}}
	}}
	up := standIn(t, m)
	through := front(t, up)
	for _, script := range []string{`user "fix it" | call r1 Read a.go | result r1 x | user "go on"`, `user "fix it" | call r1 Read a.go | user "go on"`} {
		for _, d := range wire.Dialects() {
			body := string(histories.MustParse(script).Render(d, histories.RenderOptions{}))
			path := pathFor(t, d.String(), []byte(body))
			switch {
			case strings.HasSuffix(path, ":generateContent"):
				path = strings.Replace(path, ":generateContent", ":streamGenerateContent", 1) + "?alt=sse"
			case strings.HasSuffix(path, "/converse"):
				path += "-stream"
			default:
				body = `{"stream":true,` + body[1:]
			}
			resp, answer := post(t, through.URL+path, body)
			want := direct(m, path, string(up.last(t).body))
			if resp.StatusCode != 200 || answer != want.Body.String() || resp.Header.Get("Content-Type") != want.Header().Get("Content-Type") {
				t.Errorf("%s: status %d\n%s\nwant\n%s", d, resp.StatusCode, answer, want.Body)
			}
		}
	}
}

// TestSignedThroughProxy: a body that is signed is not changed, and not sent twice.
func TestSignedThroughProxy(t *testing.T) {
	m := &paretest.Mock{}
	up := standIn(t, m)
	through := front(t, up)
	body := string(histories.MustParse(`user "fix it" | call r1 Read a.go | user "go on"`).Render(wire.Bedrock, histories.RenderOptions{}))
	path := pathFor(t, "bedrock", []byte(body))
	resp, answer := post(t, through.URL+path, body, "Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=00")
	want := direct(m, path, body)
	if resp.StatusCode != 400 || answer != want.Body.String() || resp.Header.Get("Pare-Skipped") != "signed" || len(up.all()) != 1 || string(up.last(t).body) != body {
		t.Errorf("status %d, %v, %d requests: %s", resp.StatusCode, resp.Header, len(up.all()), answer)
	}
	resp, answer = post(t, through.URL+path, body, "Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=00", "X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	if resp.StatusCode != 200 {
		t.Errorf("status %d: %s", resp.StatusCode, answer)
	}
}
