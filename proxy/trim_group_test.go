package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
)

// printing is a conversation whose agent runs commands that print much; from a request on it runs
// commands that it has run before.
func printing(name string, exchanges, again int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"go, %s"}`, name)
	said := strings.Repeat(`some plain words\n`, 400)
	for i := range exchanges {
		n := i
		if i >= again {
			n = i - again
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"make case%d"}}]}`, i, n)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}`, i, said)
	}
	return b.String() + "]}"
}

// thriftyTransport cuts results as they arrive.
func thriftyTransport(t *testing.T, p *provider, done func(*Record)) *Transport {
	t.Helper()
	rule, err := rules.Oversized{Arrival: true}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	first, err := pare.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{now: time.Unix(1_000_000, 0)}
	return &Transport{Base: p, PlanTime: -1, Policy: &pare.Policy{Rules: first}, Conversations: c.conversations(), Record: done}
}

// TestControlGroup: one conversation in ten is left as it is, whichever replica gets it, from its
// first request to its last; the others are cut.
func TestControlGroup(t *testing.T) {
	p := &provider{refuses: func(string) string { return "" }}
	var last *Record
	one, other := thriftyTransport(t, p, func(r *Record) { last = r }), thriftyTransport(t, p, nil)
	control := 0
	for i := range 300 {
		name := fmt.Sprint("session ", i)
		left := false
		for n := 1; n <= 3; n++ {
			body := printing(name, n, 99)
			got, _ := p.ask(t, one, "/v1/messages", body)
			same, _ := p.ask(t, other, "/v1/messages", body)
			if same[0] != got[0] {
				t.Fatalf("%s: replicas differ", name)
			}
			if n > 1 && left != (got[0] == body) {
				t.Fatalf("%s, request %d: left alone: %v, before: %v", name, n, !left, left)
			}
			if left = got[0] == body; left != (last.Thrift == trimGroupControl) || last.Cut != oneIf(!left) {
				t.Errorf("%s: left alone: %v, but it is told as %q, %d cut", name, left, last.Thrift, last.Cut)
			}
		}
		control += oneIf(left)
	}
	if control < 15 || control > 45 {
		t.Errorf("%d of 300 conversations are left alone", control)
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestThriftStops: when more than two of a hundred results that were cut are fetched again,
// conversations that begin from then on are left as they are; those that have begun go on as they did,
// so that no cache is lost.
func TestThriftStops(t *testing.T) {
	for _, again := range []int{99, 12} {
		p := &provider{refuses: func(string) string { return "" }}
		var last *Record
		tr := thriftyTransport(t, p, func(r *Record) { last = r })
		fetched, begun := 0, ""
		for i := range 30 {
			name := fmt.Sprint("session ", i)
			for n := 1; n <= 16; n++ {
				p.ask(t, tr, "/v1/messages", printing(name, n, again))
				fetched += last.Fetched
			}
			if last.Thrift == trimGroupCut {
				begun = name
			}
		}
		stopped := false
		for i := range 30 { // some of them are left alone anyway
			p.ask(t, tr, "/v1/messages", printing(fmt.Sprint("new ", i), 2, again))
			stopped = stopped || last.Thrift == trimGroupStopped
		}
		if (fetched > 0) != (again < 99) || stopped != (again < 99) {
			t.Errorf("again from %d on: %d fetched again, stopped: %v", again, fetched, stopped)
		}
		if p.ask(t, tr, "/v1/messages", printing(begun, 17, again)); last.Thrift != trimGroupCut {
			t.Errorf("%s has begun to be cut and is told as %q", begun, last.Thrift)
		}
	}
}
