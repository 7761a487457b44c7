package recall

import "bytes"

// gemini is generateContent and streamGenerateContent.
type gemini struct{}

func (gemini) list() string  { return "contents" }
func (gemini) wrapped() bool { return false }

func (gemini) Offer(body []byte) ([]byte, bool) {
	if !isList(body, "contents") || !absent(member(body, "cachedContent", "cached_content")) {
		return body, false // what is cached has its tools
	}
	config := member(body, "generationConfig", "generation_config")
	if n := member(config, "candidateCount", "candidate_count"); number(n) > 1 {
		return body, false
	}
	tool := object("name", Tool, "description", about, "parameters", []byte(schema))
	list := at(body, "tools")
	if absent(list) || len(elements(list)) == 0 {
		// Models that are not asked to call functions may not be able to, where they are to
		// answer in a format.
		if !absent(member(config, "responseMimeType", "response_mime_type")) {
			return body, false
		}
		return set(body, array(object("functionDeclarations", array(tool))), "tools"), true
	}
	for i, t := range elements(list) {
		for _, name := range []string{"functionDeclarations", "function_declarations"} {
			if isList(t, name) {
				return set(body, appendTo(t, name, tool), "tools", i), true
			}
		}
	}
	return body, false // its tools are Google's own, which older models take alone
}

// member is one that has two spellings.
func member(doc []byte, names ...string) []byte {
	for _, n := range names {
		if v := at(doc, n); v != nil {
			return v
		}
	}
	return nil
}

func (gemini) Hear(reply []byte) *Turn {
	if !readable(reply) || len(elements(reply, "candidates")) != 1 {
		return nil
	}
	t := &Turn{Ready: geminiReady(reply), Output: geminiOutput(reply)}
	for _, p := range elements(reply, "candidates", 0, "content", "parts") {
		t.geminiPart(p)
	}
	t.finishGemini()
	return t
}

// geminiReady reports whether the model has come to an end of its own.
func geminiReady(reply []byte) bool { return text(reply, "candidates", 0, "finishReason") == "STOP" }

func geminiOutput(reply []byte) int {
	return number(reply, "usageMetadata", "candidatesTokenCount") + number(reply, "usageMetadata", "thoughtsTokenCount")
}

func (t *Turn) geminiPart(p []byte) {
	call := at(p, "functionCall")
	switch {
	case call != nil && text(call, "name") == Tool:
		t.Calls = append(t.Calls, newCall(text(call, "id"), at(call, "args"), p, len(t.Others)))
	case call != nil:
		t.Others = append(t.Others, Other{text(call, "id"), text(call, "name"), at(call, "args")})
		t.Shown = append(t.Shown, p)
	default:
		t.Shown = append(t.Shown, p)
		if v := at(p, "text"); v != nil && string(v) == `""` && at(p, "thoughtSignature") == nil {
			return
		}
	}
	t.Said = append(t.Said, p)
}

// finishGemini makes a message of the parts.
func (t *Turn) finishGemini() {
	t.Said = [][]byte{object("role", "model", "parts", array(t.Said...))}
}

func (gemini) Reply(last []byte, before []*Turn, now *Turn) []byte {
	if at(last, "candidates", 0, "content") == nil {
		last = set(last, object("role", "model"), "candidates", 0, "content")
	}
	last = set(last, array(shown(before, now)...), "candidates", 0, "content", "parts")
	return geminiPlus(last, outputs(before))
}

func geminiPlus(reply []byte, n int) []byte {
	return plus(plus(reply, n, "usageMetadata", "candidatesTokenCount"), n, "usageMetadata", "totalTokenCount")
}

func (gemini) Result(c Call, text string) []byte {
	r := object("name", Tool, "response", object("output", text))
	if c.ID != "" {
		r = object("id", c.ID, "name", Tool, "response", object("output", text))
	}
	return object("functionResponse", r)
}

func (gemini) asked(results [][]byte) [][]byte {
	return [][]byte{object("role", "user", "parts", array(results...))}
}

func (gemini) Stream() Filter { f := &geminiFilter{}; f.Next(); return f }

// A geminiFilter passes on a stream of chunks, each of which looks like a reply.
type geminiFilter struct {
	round  int
	output int
	now    *Turn
	held   []Event
}

func (f *geminiFilter) Next() {
	if f.now != nil {
		f.round++
		f.output += f.now.Output
	}
	f.now, f.held = &Turn{}, nil
}

func (f *geminiFilter) Take(e Event) []Event {
	if e.end && f.now.Alone() {
		f.held = append(f.held, e)
		return nil
	}
	if !readable(e.Data) || len(elements(e.Data, "candidates")) > 1 {
		return []Event{e}
	}
	if n := geminiOutput(e.Data); n > 0 {
		f.now.Output = n
	}
	was, parts := e.Data, elements(e.Data, "candidates", 0, "content", "parts")
	calls := len(f.now.Calls)
	var kept [][]byte
	for _, p := range parts {
		if text(p, "functionCall", "name") != Tool {
			kept = append(kept, p)
		}
		f.now.geminiPart(p)
	}
	if at(was, "candidates", 0, "finishReason") != nil {
		f.now.Ready = geminiReady(was)
	}
	data := was
	if len(f.now.Calls) > calls {
		data = set(data, array(kept...), "candidates", 0, "content", "parts")
	}
	if data = geminiPlus(data, f.output); !bytes.Equal(data, was) {
		e = e.changed(data)
	}
	switch {
	case f.now.Alone():
		f.held = append(f.held, e.changed(set(data, []byte("[]"), "candidates", 0, "content", "parts")))
		if kept == nil {
			return nil
		}
		return []Event{e.changed(unset(data, "finishReason", "candidates", 0))}
	case len(kept) == 0 && len(parts) > 0 && at(data, "candidates", 0, "finishReason") == nil:
		return nil
	}
	return []Event{e}
}

func (f *geminiFilter) Turn() *Turn {
	t := *f.now
	t.finishGemini()
	return &t
}

func (f *geminiFilter) Close() []Event { return f.held }
