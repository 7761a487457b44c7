package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/wire"
)

// retryRefused answers a refusal with a second attempt. If the second attempt fails, too, it
// returns the first reply, byte for byte.
func (x *exchange) retryRefused(resp *http.Response) *http.Response {
	if x.transport.NoHeal || x.input.isCountOnly || x.path.isBatch || resp.StatusCode < 400 || x.result.glance.Dialect == wire.Auto || x.result.skipReason == skipState || x.result.skipReason == skipForeign || x.isSealed() {
		return resp
	}
	why, ok := x.readRefusal(resp)
	if !ok {
		return resp
	}
	x.record.Tried = why.Rule
	again := x.input
	again.retryOf, again.noProviderEdits, again.clearingInsufficient = &why, why.Rule == providerEditsRefused, slices.Contains(x.result.betas, clearBeta)
	if x.result.plan != nil {
		again.firstAttempt = x.result.plan.Result()
	}
	o := x.replan(again)
	if o.body == nil || bytes.Equal(o.body, x.firstBody()) {
		return resp
	}
	second, refused := x.sendInstead(resp, o)
	switch {
	case second != resp:
		x.record.Healed, x.record.Tried = why.Rule, ""
	case why.Rule == refusal.Overflow && refused.Rule == refusal.Overflow && o.plan != nil:
		// The next request of the conversation starts below the size that was refused now.
		again.retryOf, again.firstAttempt, again.acceptedBytes = &refused, o.plan.Result(), 0
		x.callback(planningPart, func() { x.transport.Conversations.learn(o.conversationKey, again.learnSizeLimit(o.plannedRequest)) })
	}
	return second
}

// replan plans a refused request again. If only one vendor uses the sentence of the refusal, the
// rules of that vendor apply. If they find nothing, the rules of all vendors apply, which change
// more than necessary.
func (x *exchange) replan(again planInput) planResult {
	why := again.retryOf
	named := slices.Contains(wire.Profiles(again.parseOptions.Dialect), why.Vendor())
	if named {
		again.parseOptions.Profile = why.Vendor()
	}
	broken := why.Rule != refusal.Overflow && why.Rule != providerEditsRefused && !slices.Contains(thinkingRules, why.Rule)
	again.isStrict = broken && !named
	o := planWithinBudget(x.request.Context(), x.body, x.decompressed, again, x.transport.planTime(x.input.policy))
	x.transport.recordFaults(&x.record, o.faults...)
	if broken && named && o.countChanges(why.Rule) <= x.result.countChanges(why.Rule) {
		again.isStrict = true
		o = planWithinBudget(x.request.Context(), x.body, x.decompressed, again, x.transport.planTime(x.input.policy))
	}
	return o
}

// countChanges returns the number of changes by a rule.
func (o planResult) countChanges(rule string) (n int) {
	for _, c := range o.changes {
		if c.Rule == rule {
			n++
		}
	}
	return n
}

// sendInstead sends the body of another plan. If the provider refuses it, too, the first reply
// and the second refusal are returned.
func (x *exchange) sendInstead(first *http.Response, o planResult) (*http.Response, refusal.Refusal) {
	was, sent := x.result, x.record.BytesOut
	x.result = o
	second, err := x.send(o.body)
	if err == nil && second.StatusCode < 400 {
		first.Body.Close()
		return second, refusal.Refusal{}
	}
	var why refusal.Refusal
	if err == nil {
		why, _ = x.readRefusal(second)
		second.Body.Close()
	}
	x.result, x.record.BytesOut = was, sent
	return first, why
}

// readRefusal reads a reply and returns the refusal in it. The reply can still be read in full.
func (x *exchange) readRefusal(resp *http.Response) (refusal.Refusal, bool) {
	if !refusal.Refuses(resp.StatusCode) && !refusal.MayRefuse(resp.StatusCode) {
		return refusal.Refusal{}, false
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody+1))
	rest := resp.Body
	if err != nil {
		// It broke off: the client is to see just that.
		resp.Body = joinedBody{io.MultiReader(bytes.NewReader(head), errorReader{err}), rest}
		return refusal.Refusal{}, false
	}
	resp.Body = joinedBody{io.MultiReader(bytes.NewReader(head), rest), rest}
	if len(head) > maxErrorBody {
		return refusal.Refusal{}, false
	}
	text, err := decompress(resp.Header.Get("Content-Encoding"), head, maxErrorBody)
	if err != nil {
		text = nil // a 413 needs no words
	}
	if refusal.Refuses(resp.StatusCode) && len(x.result.betas) > 0 && isAboutProviderEdits(text) {
		return refusal.Refusal{Rule: providerEditsRefused}, true
	}
	return refusal.Classify(resp.StatusCode, text)
}

// An errorReader fails with an error.
type errorReader struct{ err error }

func (b errorReader) Read([]byte) (int, error) { return 0, b.err }
