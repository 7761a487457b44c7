package dialect

import (
	"slices"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// headField reads a top-level member that is not the list of messages.
func (p *parser) headField(name []byte) {
	switch string(name) {
	case "model", "modelId":
		f := p.value()
		p.head.model = p.text(f)
		if !f.absent() && f.kind != jsonspan.String {
			p.noteHead(wrongType, string(name), "expected a string, found "+f.kind.String())
		}
	case "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens":
		p.mostOutput(p.value())
	case "generationConfig", "generation_config":
		p.mostOutput(p.member("maxOutputTokens"))
	case "inferenceConfig":
		p.mostOutput(p.member("maxTokens"))
	case "tools":
		p.tools()
	case "toolConfig":
		p.toolConfig()
	case "system":
		p.system()
	case "thinking":
		p.thinking()
	case "prompt":
		p.head.remote = !p.value().absent() && slices.Contains(p.g.remote, string(name)) || p.head.remote
	case "reasoning":
		p.head.effort = p.text(p.member("effort"))
	case "additionalModelRequestFields":
		p.additionalFields()
	case "store":
		f := p.value()
		p.head.storeFalse = f.kind == jsonspan.Bool && p.raw[f.span.Start] == 'f'
	case "betas", "anthropic_beta":
		p.head.betasGiven = true
		p.strings(&p.head.betas)
	case "container":
		p.head.container = !p.value().absent()
	case "compaction":
		p.head.compaction = !p.value().absent()
	case "context_management":
		p.contextManagement()
	case "temperature", "top_p", "top_k":
		if !p.value().absent() {
			p.noteHead(samplingGiven, string(name), string(name))
		}
	case "cache_control":
		p.head.autoTTL, p.head.autoCache = p.cacheControl()
	default:
		p.conversationMember(name)
	}
}

// strings reads a list of strings; anything else in it is passed over.
func (p *parser) strings(dst *[]string) {
	for range p.elements {
		if f := p.value(); f.kind == jsonspan.String {
			*dst = append(*dst, p.text(f))
		}
	}
}

// tools reads the declared tools: their names, and Anthropic's cache marks.
func (p *parser) tools() {
	p.head.toolsGiven = true
	if clear(p.head.tools); p.head.tools == nil {
		p.head.tools = make(map[string]bool)
	}
	for range p.objects {
		deferred, name := false, ""
		for k := range p.members {
			switch string(k) {
			case "name", "type":
				// A server tool may be known by its type alone.
				if f := p.value(); f.kind == jsonspan.String {
					p.head.tools[p.text(f)] = true
					if string(k) == "name" {
						name = p.text(f)
					}
				}
			case "defer_loading":
				deferred = p.isTrue(p.value())
			case "cache_control":
				p.headMark()
			case "functionDeclarations", "function_declarations":
				p.declarations()
			default:
				p.Skip()
			}
		}
		if deferred {
			if p.head.deferred == nil {
				p.head.deferred = make(map[string]bool)
			}
			p.head.deferred[name] = true
		}
	}
}

// declarations reads Gemini's declared functions. Those that do not say otherwise block: each call has one
// response, and a mark that more of it will follow is not read.
func (p *parser) declarations() {
	for range p.objects {
		var name, behavior field
		for k := range p.members {
			switch string(k) {
			case "name":
				name = p.value()
			case "behavior":
				behavior = p.value()
			default:
				p.Skip()
			}
		}
		if name.kind == jsonspan.String && !p.is(behavior, "NON_BLOCKING") {
			if p.head.blocking == nil {
				p.head.blocking = make(map[string]bool)
			}
			p.head.blocking[p.text(name)] = true
		}
	}
}

// headMark reads a cache mark on a tool or on the system prompt.
func (p *parser) headMark() {
	if ttl, ok := p.cacheControl(); ok {
		p.head.cacheMarks++
		p.head.shortMark = p.head.shortMark || ttl == "5m"
	}
}

// toolConfig reads Bedrock's declared tools. Gemini's member of that name holds
// something else, which does no harm.
func (p *parser) toolConfig() {
	p.head.toolsGiven = true
	if p.Peek() != jsonspan.Object {
		p.head.toolsGiven = !p.value().absent()
		return
	}
	for k := range p.members {
		if string(k) != "tools" {
			p.Skip()
			continue
		}
		for range p.elements {
			p.bedrockTool()
		}
	}
}

// bedrockTool reads a declared tool, or a cache mark among them.
func (p *parser) bedrockTool() {
	for k := range p.object {
		if string(k) == "cachePoint" {
			p.head.cacheMarks++
			p.Skip()
			continue
		}
		if f := p.member("name"); f.kind == jsonspan.String {
			if p.head.tools == nil {
				p.head.tools = make(map[string]bool)
			}
			p.head.tools[p.text(f)] = true
		}
	}
}

// system reads the top-level system prompt for its cache marks, and for blocks that say nothing. A
// prompt that is an empty string is taken for none: the provider's own lessons send it.
func (p *parser) system() {
	for i := range p.elements {
		if p.Peek() != jsonspan.Object {
			p.Skip()
			continue
		}
		for k := range p.members {
			switch string(k) {
			case "text":
				switch f := p.value(); {
				case f.empty():
					p.noteHead(emptySystemText, "system."+strconv.Itoa(i), "")
				case p.blank(f):
					p.noteHead(blankSystemText, "system."+strconv.Itoa(i), "")
				}
			case "cache_control":
				p.headMark()
			case "cachePoint":
				p.Skip()
				p.head.cacheMarks++
			default:
				p.Skip()
			}
		}
	}
}

// thinking reads thinking.type, and block_binding, which needs a header.
func (p *parser) thinking() {
	for k := range p.object {
		switch string(k) {
		case "type":
			p.head.thinking = p.text(p.value())
		case "block_binding":
			p.head.binding = !p.value().absent()
		default:
			p.Skip()
		}
	}
}

// additionalFields looks for thinking among what Bedrock hands on to the model.
func (p *parser) additionalFields() {
	for k := range p.object {
		if string(k) == "thinking" || string(k) == "reasoning_config" {
			p.thinking()
			continue
		}
		p.Skip()
	}
}

// contextManagement checks the order of the edits.
func (p *parser) contextManagement() {
	if p.Peek() != jsonspan.Object {
		p.Skip()
		return
	}
	p.head.contextEdits = true
	for k := range p.members {
		if string(k) != "edits" {
			p.Skip()
			continue
		}
		for i := range p.elements {
			typ := p.member("type")
			if i > 0 && p.is(typ, clearThinking) {
				p.noteHead(contextEditOrder, "context_management.edits."+strconv.Itoa(i), "")
			}
			p.head.thresholdEdit = p.head.thresholdEdit || p.is(typ, "compact_20260112")
		}
	}
}

// cacheControl reads a cache mark. A null one is none.
func (p *parser) cacheControl() (ttl string, given bool) {
	if p.Peek() != jsonspan.Object {
		return "", !p.value().absent()
	}
	f := p.member("ttl")
	if ttl = p.text(f); ttl == "" {
		ttl = "5m"
	}
	return ttl, true
}

// clearThinking is the type of the context edit that must be the first.
const clearThinking = "clear_thinking_20251015"

// mostOutput notes how long a reply may be.
func (p *parser) mostOutput(f field) {
	if f.kind != jsonspan.Number {
		return
	}
	if n, err := strconv.Atoi(string(p.bytes(f.span))); err == nil {
		p.head.mostOutput = max(p.head.mostOutput, n)
	}
}
