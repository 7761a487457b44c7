package proxy

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// policyForRetry returns the policy for a refused request. A refusal for size lowers the limit;
// for any other refusal, the rules of the named vendor or of all vendors apply.
func (a *planInput) policyForRetry(r *wire.Request) (*pare.Policy, int) {
	heal, known := a.retryOf, a.learned
	if heal.Rule == refusal.Overflow {
		// This request is planned as the next one will be that begins with it, so that both
		// begin with the same bytes.
		a.newlyLearned = a.learnSizeLimit(r)
		a.learned = known.join(a.newlyLearned)
	}
	a.retryOf = nil
	p, size := a.policyFor(r)
	a.retryOf, a.learned = heal, known
	p.Check.Strict = p.Check.Strict || a.isStrict
	return p, size
}

const (
	foreignSignature = "thought-signature-foreign" // a signature of thought that belongs elsewhere
	missingReasoning = "reasoning-item-missing"    // an item that names reasoning which is not there
)

// thinkingRules are the rules that a request without thinking satisfies.
var thinkingRules = []string{
	foreignSignature, "thinking-altered", "thinking-signature-missing", "thinking-signature-foreign", "thinking-required", "thinking-not-first", "thinking-not-enabled",
	"reasoning-foreign", "reasoning-item-orphan", missingReasoning, "reasoning-item-unresolvable", "reasoning-plaintext", "reasoning-unsupported",
}

// stripThinking returns the request without the thinking that the provider refuses or has refused
// before. Thinking that the model has written since then stays.
func (a *planInput) stripThinking(r *wire.Request) (*wire.Request, []wire.Change, error) {
	rule, upto := a.thinkingToStrip(r)
	if rule == "" {
		return r, nil, nil
	}
	var changes []wire.Change
	if rule == foreignSignature || strings.HasPrefix(rule, "reasoning-") {
		// It may sit on a call or a text, which stay. Items that name reasoning which is not
		// sent are refused for it.
		next, unsigned, err := dialect.Unsigned(r, rule, upto)
		if err != nil || len(unsigned) > 0 && (rule == foreignSignature || rule == missingReasoning) {
			return next, unsigned, err
		}
		r, changes = next, unsigned
	}
	var drop []transcript.BlockID
	for i, blk := range r.Transcript().Blocks() {
		if blk.Kind != transcript.Thinking || blk.Message >= upto {
			continue
		}
		b := transcript.BlockID(i)
		drop = append(drop, b)
		changes = append(changes, wire.Change{
			Action: wire.ActionDrop, Rule: rule, Path: r.Path(b), IDs: []string{}, Bytes: -blk.Span.Len(),
			Reason: "the provider refused the request for its thinking",
		})
	}
	if drop == nil {
		return r, changes, nil
	}
	next, also, err := dialect.Rewrite(r, drop, nil)
	return next, append(changes, also...), err
}

// thinkingToStrip returns the rule for which thinking is removed, and how many messages at the
// beginning lose it. The rule is "" if no thinking is removed.
func (a *planInput) thinkingToStrip(r *wire.Request) (rule string, messages int) {
	if a.retryOf != nil && slices.Contains(thinkingRules, a.retryOf.Rule) && !a.retriesByDropping(r) {
		return a.retryOf.Rule, len(r.Transcript().Messages())
	}
	if a.learned.Thinking == 0 {
		return "", 0
	}
	for _, rule := range a.learned.Rules {
		if slices.Contains(thinkingRules, rule) {
			return rule, a.learned.Thinking
		}
	}
	return "", 0
}
