package proxy

import (
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// clearBeta is the beta of Anthropic's context editing.
const clearBeta = "context-management-2025-06-27"

// clearOptions describe the content that the provider should clear.
type clearOptions struct {
	above    int  // in tokens, as the provider counts
	keep     int  // number of recent results that stay
	thinking bool // clear older thinking, too
	saves    int  // in tokens, as Pare counts
}

// planClearing returns the options for the provider instead of applying the window of policy p,
// or nil if Pare applies the window itself. The provider is asked if it binds thinking (its own
// edits keep thinking valid), if the policy allows it, and if clearing is sufficient.
func (a *planInput) planClearing(r *wire.Request, p *pare.Policy) *clearOptions {
	if !a.policy.ProviderEdits.ClearResults || a.limitInBytes || !a.isAnthropic || a.noProviderEdits || a.clearingInsufficient || a.learned.Own || a.learned.Short || !dialect.ContextEdits(r.Dialect) || !dialect.BindsThinking(&r.Profile) {
		return nil
	}
	for _, name := range []string{"context_management", "compaction"} {
		if _, ok := jsonedit.Find(r.Raw(), name); ok {
			return nil // the client has set it
		}
	}
	if p.Window == nil || p.Window.Tokens == 0 || p.Window.Messages+p.Window.Exchanges+p.Window.Turns > 0 {
		if a.learned.Clear == 0 || p.Window != nil {
			return nil
		}
		// Once it was asked, it is at every later request: whether there is anything to clear it
		// knows best.
		return &clearOptions{above: a.learned.Clear, keep: keptResults, thinking: a.learned.ClearThinking}
	}
	c := counterOf(p, a.model(r))
	if c == nil {
		return nil
	}
	k := &clearOptions{above: max(a.learned.Clear, a.inputRoom(r, p)), keep: keptResults, thinking: a.learned.ClearThinking}
	results, thinking := clearableTokens(r, c, k.keep)
	size := r.Tokens(c)
	switch {
	case size <= p.Window.Tokens && a.learned.Clear == 0:
		return nil
	case size-results <= p.Window.Tokens:
		k.saves = results
	case size-results-thinking <= p.Window.Tokens:
		k.saves, k.thinking = results+thinking, true
	default:
		return nil
	}
	return k
}

// keptResults is the number of recent results that are not cleared, as in a window.
const keptResults = 8

// clearableTokens counts the tokens that the provider can clear: results that are not recent, and thinking
// that does not belong to the last turn.
func clearableTokens(r *wire.Request, c wire.Counter, keep int) (results, thinking int) {
	const placeholder = 12 // tokens
	t := r.Transcript()
	left := keep
	ms := t.Messages()
	for i := len(t.Blocks()) - 1; i >= 0; i-- {
		b := transcript.BlockID(i)
		switch blk := t.Block(b); {
		case blk.Kind == transcript.Result && left > 0:
			left--
		case blk.Kind == transcript.Result:
			results += max(0, dialect.BlockTokens(r, c, b)-placeholder)
		case blk.Kind == transcript.Thinking && len(ms) > 0 && ms[blk.Message].Turn < ms[len(ms)-1].Turn-1:
			thinking += dialect.BlockTokens(r, c, b)
		}
	}
	return results, thinking
}

// inputRoom returns how many tokens, as the provider counts, a request may have in addition to
// its reply.
func (a *planInput) inputRoom(r *wire.Request, p *pare.Policy) int {
	if a.retryOf != nil && a.retryOf.Limit > a.retryOf.Reply {
		return a.retryOf.Limit - a.retryOf.Reply
	}
	if m, known := tokens.Lookup(a.model(r)); known && a.policy.Window != nil && a.policy.Window.Tokens == 0 {
		return m.Input(min(r.MaxOutputTokens(), m.Output))
	}
	return p.Window.Tokens
}

// withClearing returns a result that asks the provider to clear, in this request and in all later
// ones.
func (o planResult) withClearing(k *clearOptions) planResult {
	edits := fmt.Sprintf(`{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":%d},"keep":{"type":"tool_uses","value":%d}}`, k.above, k.keep)
	if k.thinking { // which must come first
		edits = `{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":1}},` + edits
	}
	body := jsonedit.Put(o.body, []byte(`{"edits":[`+edits+`]}`), "context_management")
	o.changes = append(o.changes, wire.Change{
		Action: wire.ActionInsert, Rule: "clear-results", Path: "context_management", IDs: []string{}, Bytes: len(body) - len(o.body), Tokens: -k.saves,
		Reason: "the provider is to clear old results itself, which leaves thinking valid",
	})
	o.body, o.betas = body, append(o.betas, clearBeta)
	o.tokens[1] = max(0, o.tokens[0]-k.saves)
	o.newlyLearned.Clear, o.newlyLearned.ClearThinking = k.above, k.thinking
	return o
}
