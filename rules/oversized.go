package rules

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/excerpt"
	"github.com/pare-llm/pare/internal/guidance"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Oversized shortens huge results and arguments. It keeps the beginning, the end and the important
// lines between them: errors, failed tests, changed lines of a diff, declarations of a file. A
// marker states how much is missing. The output is short enough not to be shortened again. Results
// with pictures stay, and so do instructions, skills, plans, tasks and to-do lists. An Oversized is
// safe for concurrent use.
type Oversized struct {
	// Results and arguments that are longer are shortened. Default: 16384; with arrival, 3072.
	MaxBytes int `json:"max_bytes,omitempty" min:"1024"`
	// How much of the beginning is kept. Default: half of max_bytes; with arrival, a quarter.
	Head int `json:"head,omitempty"`
	// How much of the end is kept. Default: a quarter of max_bytes.
	Tail int `json:"tail,omitempty"`
	// Leave arguments alone and shorten results only. Default: false.
	ResultsOnly bool `json:"results_only,omitempty"`
	// Shorten results as they arrive, before they are first sent, whether the request fits or not: that costs no cache. The names that are left out are listed; arguments are left alone. The colours of a terminal go; of the numbers of lines that a tool prints beside a file every tenth stays, and searches name a file once. Default: false.
	Arrival bool `json:"arrival,omitempty"`
	// With arrival, the bound for results that show a file or a part of it, which are needed to the letter more often; -1 leaves them alone. Default: 40960.
	ReadBytes int `json:"read_bytes,omitempty" min:"-1"`
	Scope
}

// Rule returns the rule, or an [OptionErrors] for invalid options.
func (o Oversized) Rule() (pare.Rule, error) {
	guard := o.compile()
	rule := pare.Rule{
		Name:     oversizedName,
		Doc:      "shorten huge results and arguments, keeping the beginning, the end and what matters in between",
		Before:   protectingRules(),
		Recent:   true,
		Arriving: o.Arrival,
	}
	rule.Prepare = func(r *wire.Request) (pare.Process, error) {
		s := guard.view(r)
		return func(b *pare.Ballot) { s.shortenAll(b, o) }, nil
	}
	var wrong optionErrors
	wrong.checkMinimum("head", o.Head, 0)
	wrong.checkMinimum("tail", o.Tail, 0)
	most, head, tail := o.resolvedSizes()
	switch {
	case most < minMaxBytes:
		wrong.checkMinimum("max_bytes", most, minMaxBytes)
	case wrong == nil && (tail < 0 || head+tail+markerRoom > most):
		option, value := o.tooLargeOption()
		wrong.add(option, value, "write less for them, or more for max_bytes", "head, tail: %d and %d leave no room for a marker of %d within max_bytes, %d", head, o.Tail, markerRoom, most)
	}
	if o.ReadBytes != 0 && o.ReadBytes != -1 {
		wrong.checkMinimum("read_bytes", o.ReadBytes, minMaxBytes)
	}
	wrong.checkScope(o.Scope)
	return rule, wrong.errorFor(rule)
}

// tooLargeOption returns the option to report when head and tail leave no room for a marker.
func (o Oversized) tooLargeOption() (option string, value any) {
	if o.Head == 0 {
		return "tail", o.Tail
	}
	return "head", o.Head
}

const oversizedName = "oversized"

const (
	defaultMaxBytes = 16 << 10
	// arrivalBytes is the default bound of results that no request has contained yet.
	arrivalBytes = 3 << 10
	// readBytes is the same for results that show a file.
	readBytes  = 40 << 10
	markerRoom = excerpt.MarkerRoom
	// minMaxBytes leaves room for a marker and some text around it.
	minMaxBytes = 1024
)

// resolvedSizes returns the sizes with their defaults.
func (o Oversized) resolvedSizes() (most, head, tail int) {
	most, head, tail = o.MaxBytes, o.Head, o.Tail
	switch {
	case most == 0 && o.Arrival:
		most = arrivalBytes
	case most == 0:
		most = defaultMaxBytes
	}
	if head == 0 {
		head = most / 2
	}
	if tail == 0 {
		tail = min(most/4, most-markerRoom-head)
	}
	return most, head, tail
}

func (s *historyView) shortenAll(b *pare.Ballot, o Oversized) {
	most, head, tail := o.resolvedSizes()
	kinds := guidance.OfExchanges(s.r)
	for i, x := range s.eachExchange {
		if kinds[i] != guidance.None {
			continue // the agent follows every line of it
		}
		call, result := s.t.Block(x.Call), s.t.Block(x.Results[0])
		// Decoding never makes a text longer. Line numbers are removed from shorter files, too.
		if call.Body.Len() <= most && result.Body.Len() <= most && !(o.Arrival && result.Body.Len() >= defaultMinBytes) {
			continue
		}
		args := s.arguments(x.Call)
		of := s.parseCall(s.lookUpTool(x.Tool), args)
		if s.isProtectedFile(of.file) || !o.Arrival && s.isSpared(i, of.file) {
			continue
		}
		gist := o.gistFor(of)
		gist.Call = x.CallID
		if text, ok := s.plainText(result); ok && dialect.Editable(s.r, x.Results[0]) && !dialect.PersonSpeaks([]byte(text)) {
			s.shortenResult(b, x.Results[0], text, gist, o.Arrival, gist.Outline || of.kind == kindSearch)
		}
		if o.Arrival || o.ResultsOnly || call.Body.Len() <= most || isClearedArguments(args) || !dialect.Editable(s.r, x.Call) {
			continue
		}
		if args = s.canonicalArguments(x.Call); len(args) <= most {
			continue
		}
		// The arguments become the text of a note, in which quotes are escaped again.
		note := excerpt.Excerpt{Head: head, Tail: tail, By: oversizedName, Call: x.CallID, Handle: b.Handle(x.Call)}
		if text := note.Of(string(args)); jsonLength(text)+placeholderSlack < len(args) {
			b.Edit(x.Call, text, "%d bytes are more than %d", len(args), most)
		}
	}
}

// shortenResult shortens a result that is too long. With tidy, it first removes the parts without
// information from a result of any length.
func (s *historyView) shortenResult(b *pare.Ballot, result transcript.BlockID, text string, gist excerpt.Excerpt, tidy, files bool) {
	if len(text) <= gist.Most && !tidy || gist.Most <= 0 {
		return
	}
	was, note := len(text), ""
	handle := func() string { return b.Handle(result) }
	if tidy {
		text, note = tidyResult(text, files, handle)
	}
	switch {
	case len(text) > gist.Most:
		gist.Most, gist.Handle = gist.Most-len(note), handle()
		b.Edit(result, gist.Of(text)+note, "%d bytes are more than %d", was, gist.Most)
	case note != "":
		b.Edit(result, text+note, "%s", excerpt.Tidied)
	}
}

// gistFor returns how the result of a call is shortened. A negative Most leaves the result alone.
// On arrival, a quarter each is for the beginning, the end, the lines between them and names.
func (o Oversized) gistFor(of callUse) excerpt.Excerpt {
	most, head, tail := o.resolvedSizes()
	file := of.kind == kindRead || of.kind == kindRun && showsFile(of.target)
	g := excerpt.Excerpt{Most: most, Head: head, Tail: tail, By: oversizedName, Outline: file}
	if !o.Arrival {
		return g
	}
	if file {
		g.Most = cmp.Or(max(o.ReadBytes, -1), readBytes)
	}
	if file || o.Head == 0 {
		g.Head = g.Most / 4
	}
	if file || o.Tail == 0 {
		g.Tail = g.Most / 4
	}
	g.Names = g.Most / 4
	return g
}

// plainText returns the text of a result that consists of text only.
func (s *historyView) plainText(b transcript.Block) (string, bool) {
	if b.Body == b.Span {
		return "", false
	}
	if isQuoted(s.t, b.Body) {
		return decodedText(s.t, b.Body), true
	}
	raw := s.t.Bytes(b.Body)
	if len(raw) == 0 || raw[0] == '{' {
		return s.responseText(b)
	}
	var parts []map[string]json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	var texts []string
	for _, p := range parts {
		var text string
		if json.Unmarshal(p["text"], &text) != nil {
			return "", false
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), true
}

// responseText returns the text of a Gemini function response: its output, or the whole object as
// JSON.
func (s *historyView) responseText(b transcript.Block) (string, bool) {
	raw := s.t.Bytes(b.Body)
	n, output := 0, ""
	for m := scanMembers(raw); m.next(); n++ {
		if string(m.key) == "output" && m.value[0] == '"' {
			output = unquoteString(m.value)
		}
	}
	if n == 1 && output != "" {
		return output, true
	}
	return string(dialect.Canonical(raw)), n > 0
}

// decodedText decodes the string with the given content.
func decodedText(t *transcript.Transcript, body transcript.Span) string {
	return unquoteString(t.Raw()[body.Start-1 : body.End+1])
}
