package replay_test

import (
	"context"
	"testing"

	"github.com/pare-llm/pare"
	recorded "github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// A history is one conversation of the corpus, as a request body.
type history struct {
	group, name string
	r           *wire.Request
	repaired    int // changes that were needed
}

// corpus reads the histories of the corpus and repairs them: of requests that continue
// one another only the last. The figures of docs/replay.md are of these.
func corpus(t testing.TB) []history {
	var all []history
	seen := make(map[string]bool)
	n := 0
	add := func(group string, b recorded.Body) {
		if n++; n%10 > 0 && testing.Short() {
			return
		}
		if key := group + "\x00" + string(b.Raw); seen[key] || b.Group == recorded.CodexEnvelopes {
			return
		} else {
			seen[key] = true
		}
		r, err := wire.Parse(b.Raw, wire.Options{Model: b.Model})
		if err != nil {
			t.Fatalf("%s %s: %v", group, b.Name, err)
		}
		plan, err := planner.Repair(context.Background(), r, pare.Options{})
		if err != nil {
			t.Fatalf("%s %s: %v", group, b.Name, err)
		}
		if len(plan.Remaining()) > 0 {
			t.Logf("%s %s: left out, cannot be repaired: %v", group, b.Name, plan.Remaining()[0])
			return
		}
		all = append(all, history{group, b.Name, plan.Result(), len(plan.Changes())})
	}
	for _, r := range recorded.LastRequests(t) {
		add("recorded requests: "+r.Group, r.Body)
	}
	for _, b := range recorded.Sessions(t) {
		add(b.Group, b)
	}
	return all
}
