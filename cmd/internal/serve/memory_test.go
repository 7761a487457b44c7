package serve_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "pare.db")) })
	t.Run("postgres", func(t *testing.T) { f(t, pgtest.DSN(t)) })
}

// replicas are servers on one database that remember, before an upstream for all vendors.
type replicas struct {
	t    *testing.T
	dsn  string
	at   []string
	all  []*serve.Server
	ends []func() error
}

// A learnedSync shares what the proxy learns with other replicas, and with later processes. It
// works in the background: a slow or failed store loses values, but delays no request.
func learnedSync(t *testing.T, dsn string, n int, o serve.Options, upstream http.HandlerFunc) *replicas {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.Remember = true
	o.Upstreams = make(map[string]proxy.Upstream)
	for _, name := range []string{"anthropic", "openai", "gemini", "bedrock"} {
		o.Upstreams[name] = proxy.Upstream{URL: u, Private: true}
	}
	r := &replicas{t: t, dsn: dsn}
	for range n {
		st, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		o.Store = st
		at, s, end := start(t, o)
		r.at, r.all, r.ends = append(r.at, at), append(r.all, s), append(r.ends, end)
	}
	return r
}

// catchUp waits until nothing waits to be written any more.
func (r *replicas) catchUp() {
	for _, s := range r.all {
		for s.Unwritten() > 0 && r.t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
}

// end ends the servers, which write what they have, and opens the store.
func (r *replicas) end() *store.Store {
	r.t.Helper()
	for _, end := range r.ends {
		if err := end(); err != nil {
			r.t.Fatal(err)
		}
	}
	st, err := store.Open(r.t.Context(), r.dsn)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { st.Close() })
	return st
}

// kept are the messages of all sessions of a scope, by session; replies are marked.
func kept(t *testing.T, st *store.Store, scope string) (all []string) {
	t.Helper()
	list, err := st.Sessions(t.Context(), scope, 1e6, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		parts := []string{x.Dialect}
		err := st.Export(t.Context(), x.Key, store.Export{}, func(e store.Entry) error {
			mark := ""
			if e.Kind == store.KindReply {
				mark = "reply:"
			}
			parts = append(parts, mark+string(e.Raw))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Join(parts, "\n"))
	}
	slices.Sort(all)
	return all
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %d sessions:\n%s\n\nwant %d:\n%s", len(got), strings.Join(got, "\n--\n"), len(want), strings.Join(want, "\n--\n"))
	}
}

// wireTalk is a reply in one dialect: whole, as a stream, and as the message that it is.
type wireTalk struct {
	name, path, body        string
	dialect                 string
	history                 []string
	whole, stream, streamed string
	message                 string
	streamPath              string
}

var wireTalks = []wireTalk{
	{
		name: "anthropic", path: "/v1/messages", dialect: "anthropic",
		body: `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[%s]}`, history: []string{`{ "role":"user", "content":"which bird?" }`},
		whole:   `{"type":"message","role":"assistant","content":[{"type":"text","text":"a heron"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}`,
		message: `{"role":"assistant","content":[{"type":"text","text":"a heron"}]}`,
		stream: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a he\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ron\"}}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	},
	{
		name: "chat", path: "/v1/chat/completions", dialect: "openai-chat",
		body: `{"model":"gpt-4o","messages":[%s]}`, history: []string{`{"role":"user","content":"which bird?"}`},
		whole:   `{"choices":[{"index":0,"message":{"role":"assistant","content":"a heron","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
		message: `{"role":"assistant","content":"a heron"}`,
		stream: "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a \"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"heron\"}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
	},
	{
		name: "responses", path: "/v1/responses", dialect: "openai-responses",
		body: `{"model":"gpt-5","input":[%s]}`, history: []string{`{"role":"user","content":"which bird?"}`},
		whole:   `{"object":"response","status":"completed","output":[{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a heron"}]}],"usage":{"input_tokens":7,"output_tokens":2}}`,
		message: `{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a heron"}]}`,
		stream: "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\"}}\n\n" +
			"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m1\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"a heron\"}]}}\n\n" +
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":2},\"output\":[]}}\n\n",
	},
	{
		name: "gemini", path: "/v1beta/models/gemini-2.5-pro:generateContent", streamPath: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", dialect: "gemini",
		body: `{"contents":[%s]}`, history: []string{`{"role":"user","parts":[{"text":"which bird?"}]}`},
		whole:   `{"candidates":[{"content":{"role":"model","parts":[{"text":"a heron"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2}}`,
		message: `{"role":"model","parts":[{"text":"a heron"}]}`,
		stream:  "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"a heron\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":2}}\n\n",
	},
}

// TestRememberReplies: the reply of a model is part of the conversation, in every dialect, whole,
// streamed and packed; usage is what the provider counted; no key and no header is kept.
func TestRememberReplies(t *testing.T) {
	for _, talk := range wireTalks {
		for _, way := range []string{"whole", "stream", "packed"} {
			t.Run(talk.name+"/"+way, func(t *testing.T) {
				dsn := filepath.Join(t.TempDir(), "pare.db")
				r := learnedSync(t, dsn, 1, serve.Options{}, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					switch way {
					case "whole":
						w.Header().Set("Content-Type", "application/json")
						io.WriteString(w, talk.whole)
					case "packed":
						w.Header().Set("Content-Type", "application/json")
						w.Header().Set("Content-Encoding", "gzip")
						z := gzip.NewWriter(w)
						io.WriteString(z, talk.whole)
						z.Close()
					default:
						w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
						for i := 0; i < len(talk.stream); i += 50 {
							io.WriteString(w, talk.stream[i:min(i+50, len(talk.stream))])
							http.NewResponseController(w).Flush()
						}
					}
				})
				path := talk.path
				if way == "stream" && talk.streamPath != "" {
					path = talk.streamPath
				}
				const key = "sk-very-secret-0123456789"
				body := fmt.Sprintf(talk.body, strings.Join(talk.history, ","))
				resp, _ := send(t, "POST", r.at[0]+path, body, "x-api-key", key, "Authorization", "Bearer "+key, "User-Agent", "claude-cli/2.0.1 (external, cli)", "Accept-Encoding", "gzip", "X-Note", "header-never")
				if resp.StatusCode != 200 {
					t.Fatal(resp.Status)
				}
				st := r.end()
				same(t, kept(t, st, ""), []string{strings.Join(append(append([]string{talk.dialect}, talk.history...), "reply:"+talk.message), "\n")})
				list, err := st.Sessions(t.Context(), "", 10, nil)
				if err != nil || len(list) != 1 {
					t.Fatal(list, err)
				}
				x := list[0]
				if x.Title != "which bird?" || x.Remembered.Agent != "claude-cli/2.0.1" || x.Remembered.Usage.Input != 7 || x.Remembered.Usage.Output != 2 || x.Remembered.Requests != 1 {
					t.Errorf("%+v %+v", x, x.Remembered)
				}
				req, _, err := st.Request(t.Context(), x.Key)
				if err != nil || len(req.Transcript().Messages()) != 2 {
					t.Errorf("as a request: %v", err)
				}
				st.Close()
				raw := readAll(t, filepath.Dir(dsn))
				for _, never := range []string{key, "header-never"} {
					if bytes.Contains(raw, []byte(never)) {
						t.Errorf("the store has %q in it", never)
					}
				}
			})
		}
	}
}

// readAll is the bytes of all files of a folder.
func readAll(t *testing.T, dir string) (all []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		all = append(all, fileBytes(t, f)...)
	}
	return all
}

// TestRememberOnlyHistories: what is refused, only counted, a part of what the server holds or no
// history is no conversation, and without being asked for nothing is kept.
func TestRememberOnlyHistories(t *testing.T) {
	dsn := filepath.Join(t.TempDir(), "pare.db")
	r := learnedSync(t, dsn, 1, serve.Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Header.Get("X-Status") != "" {
			w.WriteHeader(429)
		}
		io.WriteString(w, `{}`)
	})
	const body = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	send(t, "POST", r.at[0]+"/v1/messages", body, "X-Status", "429", "x-api-key", "k")
	send(t, "POST", r.at[0]+"/v1/messages/count_tokens", body, "x-api-key", "k")
	send(t, "POST", r.at[0]+"/v1/messages", `not JSON`, "x-api-key", "k")
	send(t, "POST", r.at[0]+"/v1/responses", `{"model":"gpt-5","previous_response_id":"resp_1","input":[{"role":"user","content":"go on"}]}`, "Authorization", "Bearer k")
	same(t, kept(t, r.end(), ""), nil)

	o := to(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{}`) })
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	o.Store = st
	at, s, end := start(t, o)
	send(t, "POST", at+"/v1/messages", body)
	end()
	if len(kept(t, st, "")) > 0 || s.Remembers() {
		t.Error("kept without being asked to")
	}
}

// TestRememberScopes: a token sees the conversations of its own scope and no others, over HTTP, by
// id, by search, and by sending the beginning of another's conversation.
func TestRememberScopes(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		const alpha, beta, admin = "alpha:0123456789abcdef", "beta:0123456789abcdef", "*:0123456789abcdef"
		r := learnedSync(t, dsn, 1, serve.Options{Tokens: []string{alpha, beta, admin}}, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"the password is heron"}]}`)
		})
		const body = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"our plan"}]}`
		if resp, out := send(t, "POST", r.at[0]+"/v1/messages", body, "Pare-Token", alpha); resp.StatusCode != 200 {
			t.Fatal(resp.Status, out)
		}
		st, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		var mine []*store.Session
		for len(mine) == 0 { // it is written behind the request
			if mine, err = st.Sessions(t.Context(), "alpha", 10, nil); err != nil {
				t.Fatal(err)
			}
		}
		id := mine[0].ID
		api := r.at[0] + "/pare/v1"
		if status, out := ask(t, "GET", api+"/sessions/"+id, alpha, ""); status != 200 || !strings.Contains(out, `"requests"`) {
			t.Errorf("%d %s", status, out)
		}
		if status, out := ask(t, "GET", api+"/recall?q=passwords", alpha, ""); status != 200 || !strings.Contains(out, id) {
			t.Errorf("%d %s", status, out)
		}
		for _, token := range []string{beta, admin} {
			for _, path := range []string{"/sessions/" + id, "/sessions/" + id + "/entries", "/sessions/alpha:" + id, "/sessions/..%2Falpha%2F" + id} {
				if status, out := ask(t, "GET", api+path, token, ""); status == 200 || strings.Contains(out, "plan") {
					t.Errorf("%s %s: %d %s", token, path, status, out)
				}
			}
			for _, path := range []string{"/sessions", "/search?q=heron", "/search?q=heron&scope=alpha", "/recall?q=heron", "/recall?q=the+passwords+of+herons&scope=alpha"} {
				if _, out := ask(t, "GET", api+path, token, ""); strings.Contains(out, id) || strings.Contains(out, "heron") {
					t.Errorf("%s %s: %s", token, path, out)
				}
			}
		}
		// Who sends the beginning of another's conversation gets one of its own.
		send(t, "POST", r.at[0]+"/v1/messages", body, "Pare-Token", beta)
		r.end()
		for _, scope := range []string{"alpha", "beta"} {
			list, err := st.Sessions(t.Context(), scope, 10, nil)
			if err != nil || len(list) != 1 || list[0].Parent != nil || list[0].Remembered.Requests != 1 {
				t.Errorf("%s: %+v %v", scope, list, err)
			}
		}
	})
}

// TestRememberIsShown: on the live page, in the figures and where the server says how it is.
func TestRememberIsShown(t *testing.T) {
	r := learnedSync(t, filepath.Join(t.TempDir(), "pare.db"), 1, serve.Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{}`)
	})
	at := r.at[0]
	send(t, "POST", at+"/v1/messages", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, "x-api-key", "k")
	var out string
	for !strings.Contains(out, `"remember":{"kept":1,"dropped":0}`) { // it is written behind the request
		if _, out = send(t, "GET", at+"/pare/traffic.json", ""); t.Context().Err() != nil {
			t.Fatal(out)
		}
	}
	if _, out := send(t, "GET", at+"/pare/healthz", ""); !strings.Contains(out, `"remember":"on"`) {
		t.Error(out)
	}
	_, out = send(t, "GET", at+"/pare/metrics", "")
	for _, want := range []string{"pare_conversation_requests_total 1\n", "pare_conversation_drops_total 0\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// A sent history, as its messages.
type sentHistory struct {
	dialect  wire.Dialect
	messages []string // without markers of the cache, for comparing
	raw      string   // as they were sent
}

// markers are what clients move about in their histories.
var markers = regexp.MustCompile(`,\s*"cache_control"\s*:\s*\{[^{}]*\}|"cache_control"\s*:\s*\{[^{}]*\}\s*,|,\s*\{\s*"cachePoint"\s*:\s*\{[^{}]*\}\s*\}`)

func historyOf(t *testing.T, raw []byte, d wire.Dialect, model string) (sentHistory, bool) {
	t.Helper()
	r, err := wire.Parse(raw, wire.Options{Dialect: d, Model: model})
	if err != nil || dialect.Delta(r) != "" || len(r.Transcript().Messages()) == 0 {
		return sentHistory{}, false
	}
	h := sentHistory{dialect: d}
	all := []string{d.String()}
	for _, m := range r.Transcript().Messages() {
		one := r.Transcript().Bytes(m.Span)
		h.messages = append(h.messages, markers.ReplaceAllString(string(one), ""))
		all = append(all, string(one))
	}
	h.raw = strings.Join(all, "\n")
	return h, true
}

// longest are the histories that no other one goes on with, by what they say.
func longest(all []sentHistory) map[string][]string {
	key := func(h sentHistory, n int) string {
		return h.dialect.String() + "\n" + strings.Join(h.messages[:n], "\n")
	}
	inner := make(map[string]bool)
	for _, h := range all {
		for n := 1; n < len(h.messages); n++ {
			inner[key(h, n)] = true
		}
	}
	out := make(map[string][]string)
	for _, h := range all {
		if k := key(h, len(h.messages)); !inner[k] {
			out[k] = append(out[k], h.raw)
		}
	}
	return out
}

// throughReplicas sends histories, each of a list to the next replica, twice over, and compares
// the sessions: exactly those that no other one goes on with, as they were sent.
func throughReplicas(t *testing.T, dsn string, lists [][]call) {
	r := learnedSync(t, dsn, 2, serve.Options{MaxBody: 64 << 20}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{}`)
	})
	var (
		mu   sync.Mutex
		sent []sentHistory
		wg   sync.WaitGroup
	)
	for worker := range 2 {
		wg.Go(func() {
			for round := range 2 {
				for i, list := range lists {
					if i%2 != worker && round == 0 {
						continue
					}
					r.catchUp()
					for n, c := range list {
						resp, out := send(t, "POST", r.at[(n+worker)%2]+c.path, string(c.body), "x-api-key", "k")
						if resp.StatusCode != 200 {
							t.Errorf("%s: %d %s", c.path, resp.StatusCode, out)
							return
						}
						if h, ok := historyOf(t, c.body, c.dialect, c.model); ok && round == 0 {
							mu.Lock()
							sent = append(sent, h)
							mu.Unlock()
						}
					}
				}
			}
		})
	}
	wg.Wait()
	st := r.end()
	for _, s := range r.all {
		if n := s.Watch().Totals().Unremembered; n > 0 {
			t.Errorf("%d requests were dropped", n)
		}
	}
	got := kept(t, st, "")
	want := longest(sent)
	missing, right := 0, make(map[string]bool)
	for _, versions := range want {
		for _, v := range versions {
			right[v] = true
		}
		if !slices.ContainsFunc(versions, func(v string) bool { _, ok := slices.BinarySearch(got, v); return ok }) {
			if missing++; missing < 5 {
				t.Errorf("missing, or not to the letter: %.300s", versions[0])
			}
		}
	}
	for _, g := range got {
		if !right[g] {
			t.Errorf("kept, and not one of the longest histories: %.1500s", g)
		}
	}
	if len(got) != len(want) || missing > 0 {
		t.Errorf("%d sessions of %d histories, %d missing", len(got), len(want), missing)
	}
	forks := 0
	list, err := st.Sessions(t.Context(), "", 1e6, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if x.Parent != nil {
			forks++
		}
	}
	t.Logf("%d requests, %d sessions, %d of them forks", 2*len(sent), len(got), forks)
	problems, err := st.Fsck(t.Context(), false)
	if err != nil || slices.ContainsFunc(problems, func(p store.Problem) bool { return !p.Harmless }) {
		t.Errorf("%v %v", problems, err)
	}
}

// A call is a request on its way to a vendor.
type call struct {
	path, model string
	dialect     wire.Dialect
	body        []byte
}

// TestRememberMadeUp sends made-up conversations that grow, branch and are edited.
func TestRememberMadeUp(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		var lists [][]call
		for i := range trial.Size(40) {
			talk := wireTalks[i%len(wireTalks)]
			d, err := wire.ParseDialect(talk.dialect)
			if err != nil {
				t.Fatal(err)
			}
			var messages []string
			var list []call
			for turn := range 2 + i%4 {
				messages = append(messages, strings.ReplaceAll(talk.history[0], "which bird?", fmt.Sprintf("talk %d, turn %d", i/8, turn)))
				list = append(list, call{path: talk.path, dialect: d, body: fmt.Appendf(nil, talk.body, strings.Join(messages, ", "))})
				messages = append(messages, strings.ReplaceAll(talk.message, "heron", fmt.Sprintf("heron %d %d", turn, i%3)))
			}
			lists = append(lists, list)
		}
		throughReplicas(t, dsn, lists)
	})
}

// vendorPaths are where the folders of the corpus were sent to.
var vendorPaths = map[string]struct {
	path    string
	dialect wire.Dialect
}{
	"anthropic_messages": {"/v1/messages", wire.Anthropic}, "openai_chat": {"/v1/chat/completions", wire.OpenAIChat}, "openai_responses": {"/v1/responses", wire.OpenAIResponses},
	"gemini": {"/v1beta/models/%s:generateContent", wire.Gemini}, "bedrock_converse": {"/model/%s/converse", wire.Bedrock},
}

// TestRememberRecorded sends recorded requests, and recorded sessions as they grew.
func TestRememberRecorded(t *testing.T) {
	corpus.Dir(t)
	trial.Long(t, "it sends hundreds of recorded requests")
	var lists [][]call
	sources := make(map[string][]call)
	var order []string
	for _, q := range corpus.Requests(t) {
		v, ok := vendorPaths[q.Group]
		if !ok {
			continue
		}
		path := v.path
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, url.PathEscape(q.Model))
		}
		key := q.Group + "\x00" + q.Source
		if sources[key] == nil {
			order = append(order, key)
		}
		sources[key] = append(sources[key], call{path, q.Model, v.dialect, q.Raw})
	}
	for _, key := range order {
		lists = append(lists, sources[key])
	}
	for _, b := range corpus.Sessions(t) {
		if list := growing(t, b.Raw); list != nil {
			lists = append(lists, list)
		}
	}
	some := lists[:0]
	for i, list := range lists {
		if i%trial.SparseStride(12) == 0 { // about 70 of 800
			some = append(some, list)
		}
	}
	lists = some
	t.Logf("%d recorded conversations", len(lists))
	onBoth(t, func(t *testing.T, dsn string) { throughReplicas(t, dsn, lists) })
}

// growing is a history as some requests that go on with each other.
func growing(t *testing.T, raw []byte) (list []call) {
	t.Helper()
	r, err := wire.Parse(raw, wire.Options{})
	if err != nil {
		return nil
	}
	var path string
	for _, v := range vendorPaths {
		if v.dialect == r.Dialect {
			path = v.path
		}
	}
	model := r.Model()
	if strings.Contains(path, "%s") {
		path = fmt.Sprintf(path, "some-model")
	}
	if path == "" {
		return nil
	}
	cuts := slices.Collect(r.Transcript().Cuts())
	for i := 1; i <= 4; i++ {
		if len(cuts) > 0 && i < 4 {
			list = append(list, call{path, model, r.Dialect, r.Before(cuts[(len(cuts)-1)*i/4])})
			continue
		}
		if i == 4 {
			list = append(list, call{path, model, r.Dialect, raw})
		}
	}
	return list
}

func fileBytes(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
