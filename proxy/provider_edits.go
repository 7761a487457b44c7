package proxy

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// providerEditsRefused is the rule of a refusal that concerns edits by the provider. The retry
// makes the edits itself.
const providerEditsRefused = "provider-means"

// boundThinkingRule is the rule for thinking that is bound to earlier content.
const boundThinkingRule = "thinking-altered"

// isAnthropicHost reports whether an upstream is Anthropic's. Only Anthropic is asked to edit
// histories.
func isAnthropicHost(upstream, host string) bool {
	return upstream == "anthropic" || host == "api.anthropic.com" || strings.HasSuffix(host, ".anthropic.com")
}

// The header in which betas are named, and the one of the option that drops thinking.
const (
	betaHeader = "Anthropic-Beta"
	bindBeta   = "thinking-binding-controls-2026-08-01"
)

// canDropThinking reports whether the provider can be told to drop thinking that is bound to
// changed content, and whether the client already does so. Requests that disable thinking or give
// it a budget are left alone.
func (a *planInput) canDropThinking(r *wire.Request) (can, told bool) {
	if !a.isAnthropic || a.noProviderEdits || a.learned.Own || !dialect.ContextEdits(r.Dialect) || !dialect.BindsThinking(&r.Profile) {
		return false, false
	}
	if _, ok := jsonedit.Find(r.Raw(), "thinking"); !ok {
		return true, false
	}
	if binding := jsonedit.Get(r.Raw(), "thinking", "block_binding"); binding != nil {
		return false, bytes.Contains(binding, []byte(`"drop_block"`))
	}
	return jsonedit.TextAt(r.Raw(), "thinking", "type") == "adaptive", false
}

// shouldKeepThinking reports whether thinking that the plan makes invalid should stay, because
// the provider will drop it. By default this depends on the cost.
func (a *planInput) shouldKeepThinking(r *wire.Request, pl *pare.Plan) (keep bool) {
	can, _ := a.canDropThinking(r)
	drop := a.policy.ProviderEdits.DropThinking
	if !can || drop != nil && !*drop {
		return false
	}
	lost := 0
	for _, c := range pl.Changes() {
		if c.Rule == boundThinkingRule {
			lost -= c.Bytes
		}
	}
	switch {
	case lost == 0:
		return false
	case drop != nil, a.cache.isCold: // a cold cache has nothing to lose
		return true
	}
	// The option invalidates the cache of the messages before the first change. Without the
	// option, new thinking is removed and thought again with each request: we expect a quarter
	// of the thinking so far, at five times the price of input.
	terms := tokens.CacheOf(a.model(r))
	return int64(terms.Write-terms.Read)*int64(bytesBeforeChange(r, pl)) <= 5*1000/4*int64(lost)
}

// bytesBeforeChange returns how many bytes of messages precede the first change of a plan.
func bytesBeforeChange(r *wire.Request, pl *pare.Plan) int {
	was, is := r.Raw(), pl.Result().Raw()
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	list, _ := jsonedit.Find(was, r.Dialect.List())
	return max(0, min(same, list.End)-list.Start)
}

// retriesByDropping reports whether a retry uses the provider's option to drop thinking. A first
// refusal is answered by removing the thinking; a client that is refused again will keep changing
// the preceding content.
func (a *planInput) retriesByDropping(r *wire.Request) bool {
	if a.retryOf == nil || a.retryOf.Source != "anthropic/thinking-prefix-binding" {
		return false
	}
	can, _ := a.canDropThinking(r)
	if drop := a.policy.ProviderEdits.DropThinking; drop != nil {
		return can && *drop
	}
	return can && slices.Contains(a.learned.Rules, boundThinkingRule)
}

// dropThinkingOption returns a body that tells the provider to drop invalid thinking.
func dropThinkingOption(body []byte) ([]byte, wire.Change) {
	const option = `{"prefix_mismatch_behavior":"drop_block"}`
	out := jsonedit.Put(body, []byte(option), "thinking", "block_binding")
	if _, ok := jsonedit.Find(body, "thinking"); !ok {
		out = jsonedit.Put(body, []byte(`{"type":"adaptive","block_binding":`+option+`}`), "thinking")
	}
	return out, wire.Change{
		Action: wire.ActionInsert, Rule: boundThinkingRule, Path: "thinking.block_binding", IDs: []string{}, Bytes: len(out) - len(body),
		Reason: "the provider is to drop thinking that a change in front of it has made invalid",
	}
}

// withBetas returns headers with additional betas.
func withBetas(h http.Header, betas []string) http.Header {
	h = h.Clone()
	for _, b := range betas {
		if !strings.Contains(strings.Join(h[betaHeader], ","), b) {
			h[betaHeader] = []string{strings.Join(append(h[betaHeader], b), ",")}
		}
	}
	return h
}

// isAboutProviderEdits reports whether the text of a refusal concerns edits by the provider.
func isAboutProviderEdits(text []byte) bool {
	return bytes.Contains(text, []byte("block_binding")) && !bytes.Contains(text, []byte("bound to a different conversation")) ||
		bytes.Contains(text, []byte("context_management")) || bytes.Contains(text, []byte("anthropic-beta"))
}
