package paretest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare/internal/jsontree"
)

// threadsBeta is the beta that a request of a message thread has to name.
const threadsBeta = "message-threads-2026-08-12"

// pinned are the members that every request of a thread repeats; its betas are the others.
var pinned = []string{"model", "thinking", "tool_choice", "cache_control"}

// createOnly are the members that only the request that starts a thread has.
var createOnly = []string{"system", "tools"}

// maxThreads is how many replies a mock keeps for requests that continue them.
const maxThreads = 10_000

// A threadStore holds the message threads of a mock by the id of the reply that is to be continued.
type threadStore struct {
	mu    sync.Mutex
	turns map[string]*threadTurn
	ids   []string // in the order of their replies
}

// A threadTurn is a conversation up to a reply.
type threadTurn struct {
	request   *jsontree.Node // with the whole history
	reply     *jsontree.Node // the message of the assistant
	betas     string
	continued bool
}

// threaded returns the request with its whole history if it belongs to a message thread, else the
// request itself. The refusal is nil if the thread can be started, or continued.
func (v *visit) threaded(request *jsontree.Node) (*jsontree.Node, *refusal) {
	thread := request.Get("thread")
	if v.api != &anthropicAPI || thread == nil || thread.Raw != nil {
		return request, nil
	}
	if !strings.Contains(v.betas(request), threadsBeta) {
		return nil, &refusal{message: "thread: Extra inputs are not permitted"}
	}
	if thread.String("type") == "create" {
		return request, nil
	}
	v.m.threads.mu.Lock()
	defer v.m.threads.mu.Unlock()
	before := v.m.threads.turns[thread.String("previous_message_id")]
	switch {
	case before == nil:
		return nil, &refusal{status: http.StatusNotFound, code: "thread_not_found", message: "No usable Thread state was found for `previous_message_id`."}
	case before.continued:
		return nil, &refusal{code: "thread_already_continued", message: "Each response can be continued only once."}
	}
	for _, name := range createOnly {
		if request.Get(name) != nil {
			return nil, &refusal{message: name + ": not accepted when a Thread is continued"}
		}
	}
	if changed := before.changes(request, v.betas(request)); len(changed) > 0 {
		return nil, &refusal{code: "thread_fingerprint_mismatch", message: "Fields differ from those of the Thread: " + strings.Join(changed, ", ")}
	}
	return before.with(request), nil
}

// changes lists the members in which a request differs from the one that started the thread.
func (t *threadTurn) changes(request *jsontree.Node, betas string) (names []string) {
	for _, name := range pinned {
		if written(t.request.Get(name)) != written(request.Get(name)) {
			names = append(names, name)
		}
	}
	if t.betas != betas {
		names = append(names, "betas")
	}
	return names
}

// with returns a request that continues the thread, with the history in front of its messages.
func (t *threadTurn) with(request *jsontree.Node) *jsontree.Node {
	whole := jsontree.Object()
	for i, key := range request.Keys {
		value := request.Items[i]
		switch request.Key(i) {
		case "messages":
			value = jsontree.List(slices.Concat(t.request.Get("messages").Items, []*jsontree.Node{t.reply}, value.Items)...)
		case "thread":
			value = typed("create")
		}
		whole.Keys, whole.Items = append(whole.Keys, key), append(whole.Items, value)
	}
	for _, name := range createOnly {
		if n := t.request.Get(name); n != nil {
			whole.Add(name, n)
		}
	}
	return whole
}

// hold keeps a conversation for requests that continue it after a reply.
func (a *answer) hold() {
	if a.api != &anthropicAPI || a.tree.Get("thread") == nil || a.tree.Get("thread").Raw != nil {
		return
	}
	reply := anthropicMessage(a)
	turn := &threadTurn{request: a.tree, betas: a.betas(a.tree), reply: jsontree.Object("role", jsontree.Text("assistant"), "content", reply.Get("content"))}
	sent, err := jsontree.Parse(a.body)
	if err != nil {
		return
	}
	s := &a.m.threads
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.turns[sent.Get("thread").String("previous_message_id")]; before != nil {
		before.continued = true
	}
	if s.turns == nil {
		s.turns = make(map[string]*threadTurn)
	}
	if len(s.ids) == maxThreads {
		delete(s.turns, s.ids[0])
		s.ids = s.ids[1:]
	}
	id := reply.String("id")
	s.turns[id], s.ids = turn, append(s.ids, id)
}

// betas are the betas of a request, those of the header and of the body, in order.
func (v *visit) betas(request *jsontree.Node) string {
	var all []string
	for _, line := range v.r.Header["Anthropic-Beta"] {
		for name := range strings.SplitSeq(line, ",") {
			all = append(all, strings.TrimSpace(name))
		}
	}
	if list := request.Get("betas"); list != nil {
		for _, n := range list.Items {
			all = append(all, strings.Trim(string(n.Raw), `"`))
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// written is a value as JSON; "" without one.
func written(n *jsontree.Node) string {
	if n == nil {
		return ""
	}
	return string(n.Write(nil, jsontree.Spelling{}, 0))
}
