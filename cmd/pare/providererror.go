package main

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/refusal"
)

// maxErrorText is the number of bytes of a pasted error that are examined.
const maxErrorText = 64 << 10

// A providerError is the meaning of an error message of a provider.
type providerError struct {
	refusal.Refusal
	path      string // in the request; "" if the message does not name one
	cause     string
	isForeign bool // the error does not concern the history; advice is set then
	advice    string
}

// parseProviderError parses an error of a provider: its JSON, its sentence, or a log that contains
// it.
func parseProviderError(text []byte) (providerError, bool) {
	text = text[:min(len(text), maxErrorText)]
	r, ok := refusal.Classify(http.StatusBadRequest, jsonFirst(text))
	if !ok || r.Rule == refusal.Unexplained {
		for _, e := range foreignErrors() {
			if e.pattern.Match(text) {
				return providerError{isForeign: true, cause: e.cause, advice: e.next}, true
			}
		}
	}
	if !ok {
		return providerError{}, false
	}
	return providerError{Refusal: r, path: findErrorPath(text), cause: describeCause(r)}, true
}

// jsonFirst returns text with the JSON that it contains moved to the front. Clients and logs write
// words before it, such as "API Error: 400 {…}".
func jsonFirst(text []byte) []byte {
	i := bytes.IndexByte(text, '{')
	if i <= 0 || !bytes.Contains(text[i:], []byte(`"`)) {
		return text
	}
	return append(bytes.Clone(text[i:]), text[:i]...)
}

var requestPathPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:messages|input|contents)(?:\.\[?\d+\]?|\[\d+\])(?:\.\[?\w+\]?|\[\w+\])*`)
})

// findErrorPath returns the first path in a request that text names, in the form of reports.
func findErrorPath(text []byte) string {
	at := requestPathPattern().Find(text)
	return strings.NewReplacer(".[", ".", "[", ".", "]", "").Replace(string(at))
}

// describeCause returns the cause of a rejection as a sentence.
func describeCause(r refusal.Refusal) string {
	switch r.Rule {
	case refusal.Overflow:
		switch {
		case r.Sent > 0 && r.Limit > 0:
			return fmt.Sprintf("the request has %s tokens, and the model takes %s", grouped(r.Sent), screen.Grouped(r.Limit))
		case r.Limit > 0:
			return fmt.Sprintf("the request is larger than the %s tokens that the model takes", grouped(r.Limit))
		case r.Bytes > 0:
			return fmt.Sprintf("the request is larger than the %s bytes that the provider takes", grouped(r.Bytes))
		}
		return "the request is too large for the model"
	case refusal.Unexplained:
		return "the provider does not say what it objects to"
	}
	return dialect.RuleSlugs()[r.Rule]
}

// formatTitle returns the rule and the path.
func (e providerError) formatTitle() string {
	switch {
	case e.isForeign:
		return e.cause
	case e.path != "":
		return e.Rule + " in " + e.path
	}
	return e.Rule
}

// formatAdvice returns the next step in one line.
func (e providerError) formatAdvice() string {
	if e.isForeign {
		return e.advice
	}
	return "what it means: " + screen.NewCommand("pare", "explain", e.Rule).String() + "; to repair it: " + e.repairCommand() + " on the request that was refused, or pare doctor for a session of an agent"
}

// repairCommand returns the command that repairs the request.
func (e providerError) repairCommand() string {
	switch {
	case e.Rule == refusal.Overflow && e.Limit > 0:
		return fmt.Sprintf("pare trim --max-tokens %d", e.Limit-e.Reply)
	case e.Rule == refusal.Overflow:
		return "pare trim"
	case e.Rule == refusal.Unexplained:
		return "pare fix --strict"
	}
	return "pare fix"
}

// listSteps returns the possible next steps, one per line.
func (e providerError) listSteps() []string {
	if e.isForeign {
		return []string{e.advice}
	}
	repair, rule := e.repairCommand()+" REQUEST", e.Rule
	does := [4]string{"repairs the request that was refused", "finds the session of an agent, and repairs it", "repairs every request on its way", "explains the rule"}
	if rule == refusal.Overflow {
		rule = agentlog.OverWindow
		does[0], does[1], does[2] = "makes the refused request fit", "finds the session of an agent, and says how to shorten it", "makes every request fit on its way"
	}
	var lines []string
	explain := screen.NewCommand("pare", "explain", rule).String()
	for i, step := range [4]string{repair, "pare doctor", "pare serve", explain} {
		lines = append(lines, fmt.Sprintf("%-*s  %s", max(len(repair), len(explain)), step, does[i]))
	}
	return lines
}

// A foreignError is an error that a different history would not have avoided.
type foreignError struct {
	pattern     *regexp.Regexp
	cause, next string
}

var foreignErrors = sync.OnceValue(func() (all []foreignError) {
	for _, e := range []struct{ is, cause, next string }{
		{`thread_fingerprint_mismatch`, "a member that a thread keeps differs from the request that started it; the history is not the cause", "send model, thinking, tool_choice, cache_control and betas as at the start, or the whole history with \"thread\": {\"type\": \"create\"}"},
		{`thread_unsupported_request`, "the request has a member that threads do not take; the history is not the cause", "remove the member that the message names, or send the whole history without thread"},
		{`thread_(?:not_found|already_continued|continue_in_flight)`, "the server cannot continue this thread; the history is not the cause", "send the whole history with \"thread\": {\"type\": \"create\"}"},
		{`previous_response_not_found|conversation_locked`, "the server cannot continue this conversation now; the history is not the cause", "send it again later, or the whole history without previous_response_id and conversation"},
		{`credit balance|insufficient_quota|billing|exceeded your current quota`, "the account has no money or quota left; the history is not the cause", "see the billing page of the provider"},
		{`authentication_error|invalid x-api-key|incorrect api key|api key not valid|invalid_api_key|UnrecognizedClientException|security token included|\b401\b`, "the key is missing or wrong; the history is not the cause", "check the key that the client sends"},
		{`permission_error|AccessDenied|PERMISSION_DENIED|\b403\b`, "the key may not use this model or service; the history is not the cause", "check what the key is allowed to do"},
		{`rate_limit|too many requests|RESOURCE_EXHAUSTED|ThrottlingException|\b429\b`, "too many requests or tokens per minute; the history is not the cause", "wait, then send it again; pare trim makes each request smaller"},
		{`overloaded|UNAVAILABLE|service unavailable|bad gateway|\b(?:503|529|502)\b`, "the provider is overloaded or down; the history is not the cause", "send it again later"},
		{`model_not_found|not_found_error|model .{1,80} (?:does not exist|not found)|is not found for API version`, "the provider does not know this model; the history is not the cause", "check the name of the model"},
		{`content_filter|content management policy|usage polic`, "the provider refuses what the text is about; its structure is not the cause", "pare view shows the conversation; remove what it objects to"},
	} {
		all = append(all, foreignError{regexp.MustCompile(`(?is)` + e.is), e.cause, e.next})
	}
	return all
})
