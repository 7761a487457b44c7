package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/wire"
)

// heal answers a refusal by planning again and sending once more. If that is no better, it
// returns what came first, to the byte.
func (x *exchange) heal(resp *http.Response) *http.Response {
	if x.t.NoHeal || x.aim.unfitted || x.sight.batch || resp.StatusCode < 400 || x.o.glance.Dialect == wire.Auto || x.o.skip == skipState || x.o.skip == skipForeign || x.sealed() {
		return resp
	}
	why, ok := x.refusal(resp)
	if !ok {
		return resp
	}
	x.rec.Tried = why.Rule
	again := x.aim
	again.heal, again.own, again.short = &why, why.Rule == meansRefused, slices.Contains(x.o.betas, clearBeta)
	if x.o.plan != nil {
		again.sent = x.o.plan.Result()
	}
	o := x.replanned(again)
	if o.body == nil || bytes.Equal(o.body, x.out()) {
		return resp
	}
	second, refused := x.instead(resp, o)
	switch {
	case second != resp:
		x.rec.Healed, x.rec.Tried = why.Rule, ""
	case why.Rule == refusal.Overflow && refused.Rule == refusal.Overflow && o.plan != nil:
		// The next request of the conversation begins below what was refused now.
		again.heal, again.sent, again.accepted = &refused, o.plan.Result(), 0
		x.call(planning, func() { x.t.Conversations.learn(o.key, again.sizeLesson(o.planned)) })
	}
	return second
}

// replanned plans a request that was refused. A sentence that one vendor is known for names
// its rules: if they find what it says, no others are needed. What nobody finds like that is
// held to the rules of all vendors, which change more than they must.
func (x *exchange) replanned(again aim) outcome {
	why := again.heal
	named := slices.Contains(wire.Profiles(again.read.Dialect), why.Vendor())
	if named {
		again.read.Profile = why.Vendor()
	}
	broken := why.Rule != refusal.Overflow && why.Rule != meansRefused && !slices.Contains(strips, why.Rule)
	again.strict = broken && !named
	o := planned(x.in.Context(), x.body, x.plain, again, x.t.planTime(x.aim.policy))
	x.t.blame(&x.rec, o.faults...)
	if broken && named && o.changed(why.Rule) <= x.o.changed(why.Rule) {
		again.strict = true
		o = planned(x.in.Context(), x.body, x.plain, again, x.t.planTime(x.aim.policy))
	}
	return o
}

// changed is how many changes a rule has made.
func (o outcome) changed(rule string) (n int) {
	for _, c := range o.changes {
		if c.Rule == rule {
			n++
		}
	}
	return n
}

// instead sends what another plan makes of the request. If that is no better, it returns
// what came first, and what the second answer objects to.
func (x *exchange) instead(first *http.Response, o outcome) (*http.Response, refusal.Refusal) {
	was, sent := x.o, x.rec.BytesOut
	x.o = o
	second, err := x.send(o.body)
	if err == nil && second.StatusCode < 400 {
		first.Body.Close()
		return second, refusal.Refusal{}
	}
	var why refusal.Refusal
	if err == nil {
		why, _ = x.refusal(second)
		second.Body.Close()
	}
	x.o, x.rec.BytesOut = was, sent
	return first, why
}

// refusal reads an answer, which stays whole, and says what it objects to.
func (x *exchange) refusal(resp *http.Response) (refusal.Refusal, bool) {
	if !refusal.Refuses(resp.StatusCode) && !refusal.MayRefuse(resp.StatusCode) {
		return refusal.Refusal{}, false
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody+1))
	rest := resp.Body
	if err != nil {
		// It broke off: the client is to see just that.
		resp.Body = joined{io.MultiReader(bytes.NewReader(head), broken{err}), rest}
		return refusal.Refusal{}, false
	}
	resp.Body = joined{io.MultiReader(bytes.NewReader(head), rest), rest}
	if len(head) > maxErrorBody {
		return refusal.Refusal{}, false
	}
	text, err := unpack(resp.Header.Get("Content-Encoding"), head, maxErrorBody)
	if err != nil {
		text = nil // a 413 needs no words
	}
	if refusal.Refuses(resp.StatusCode) && len(x.o.betas) > 0 && aboutMeans(text) {
		return refusal.Refusal{Rule: meansRefused}, true
	}
	return refusal.Classify(resp.StatusCode, text)
}

// broken fails.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
