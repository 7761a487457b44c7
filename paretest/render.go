package paretest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// RenderOptions says how a script is written. The zero value writes a compact,
// complete request for a current model of the dialect's own vendor.
type RenderOptions struct {
	Model string // "": DefaultModel of the dialect
	Bare  bool   // the list of messages alone, which loses the system prompt except on openai-chat
	NoIDs bool   // gemini only: calls and responses without ids, as before Gemini 3
	Spelling
}

// DefaultModel returns the model that renderings are addressed to.
func DefaultModel(d wire.Dialect) string {
	return [...]string{
		wire.Anthropic: "claude-opus-4-6", wire.OpenAIChat: "gpt-5.2", wire.OpenAIResponses: "gpt-5.2-codex",
		wire.Gemini: "gemini-3-pro-preview", wire.Bedrock: "us.anthropic.claude-opus-4-6-v1:0",
	}[d]
}

func (o *RenderOptions) model(d wire.Dialect) string {
	if o.Model != "" {
		return o.Model
	}
	return DefaultModel(d)
}

// mistral reports whether ids must be nine letters and digits.
func (o *RenderOptions) mistral() bool {
	p, err := wire.ResolveProfile(wire.OpenAIChat, "", o.Model)
	return err == nil && p.Name == "mistral"
}

// Render writes the script as a request body, or as a bare list, of a dialect,
// which must not be Auto. The same script and options give the same bytes.
func (s Script) Render(d wire.Dialect, o RenderOptions) []byte {
	return s.render(d, o).bytes()
}

// Paths returns the path of each step in the rendering, in the form that findings
// use; "" for the system prompt where it is no message.
func (s Script) Paths(d wire.Dialect, o RenderOptions) []string {
	return s.render(d, o).paths
}

func (s Script) render(d wire.Dialect, o RenderOptions) *renderer {
	r := &renderer{s: s, d: d, o: o, messages: list(), paths: make([]string, len(s)), ids: map[string]string{}}
	r.list = map[wire.Dialect]string{wire.OpenAIResponses: "input", wire.Gemini: "contents"}[d]
	if r.list == "" {
		r.list = "messages"
	}
	if d == wire.OpenAIChat {
		for i, step := range s {
			if step.Op == System {
				r.place(i, "content")
				r.message(object("role", text("system"), "content", text(step.Text)))
			}
		}
	}
	for _, g := range r.groups() {
		switch d {
		case wire.Anthropic:
			r.anthropic(g)
		case wire.OpenAIChat:
			r.chat(g)
		case wire.OpenAIResponses:
			r.responses(g)
		case wire.Gemini:
			r.gemini(g)
		case wire.Bedrock:
			r.bedrock(g)
		default:
			panic("paretest: render: no dialect")
		}
	}
	return r
}

// A renderer writes one script in one dialect.
type renderer struct {
	s        Script
	d        wire.Dialect
	o        RenderOptions
	list     string // the member that holds the messages
	messages *node
	paths    []string
	ids      map[string]string // by the script's ids
}

func (r *renderer) bytes() []byte {
	if r.o.Bare {
		return r.messages.write(nil, r.o.Spelling, 0)
	}
	return r.body().write(nil, r.o.Spelling, 0)
}

// A group is the steps that share a message where the dialect allows it.
type group struct {
	by    speaker // of its last step
	steps []int
}

// groups joins the steps of one speaker. Where roles alternate, a person's words
// join the results before them too: except on Gemini, where responses stand alone.
func (r *renderer) groups() []group {
	var all []group
	for i, step := range r.s {
		by := step.by()
		if by == nobody {
			continue
		}
		if n := len(all) - 1; n >= 0 && r.joins(all[n], step) {
			all[n].steps, all[n].by = append(all[n].steps, i), by
			continue
		}
		all = append(all, group{by, []int{i}})
	}
	return all
}

func (r *renderer) joins(g group, step Step) bool {
	by := step.by()
	switch {
	case by == person && g.by == tool:
		return r.d == wire.Anthropic || r.d == wire.Bedrock
	case by != g.by:
		return false
	case by == person && (r.d == wire.OpenAIChat || r.d == wire.OpenAIResponses):
		// Words of their own are a message of their own; pictures go with words.
		return step.Op == Image || !slices.ContainsFunc(g.steps, func(i int) bool { return r.s[i].Op == User })
	}
	return true
}

// role returns the role of a group's message.
func (g group) role() string {
	if g.by == model {
		return "assistant"
	}
	return "user"
}

// message appends a message; place says where in the next one a step goes.
func (r *renderer) message(m *node) { r.messages.items = append(r.messages.items, m) }

func (r *renderer) place(step int, sub string) {
	r.paths[step] = fmt.Sprintf("%s.%d", r.list, len(r.messages.items))
	if sub != "" {
		r.paths[step] += "." + sub
	}
}

// placeAll places the steps of a group one by one in a list called name.
func (r *renderer) placeAll(g group, name string) {
	for j, i := range g.steps {
		r.place(i, fmt.Sprintf("%s.%d", name, j))
	}
}

// blocks returns one block for each step of a group.
func (r *renderer) blocks(g group, block func(i int, step Step) *node) *node {
	all := list()
	for _, i := range g.steps {
		all.items = append(all.items, block(i, r.s[i]))
	}
	return all
}

func (r *renderer) id(step Step) *node {
	id, ok := r.ids[step.ID]
	if !ok {
		id = WireID(step.ID, r.d, r.o)
		r.ids[step.ID] = id
	}
	return text(id)
}

func args(step Step) *node {
	n, err := parseTree([]byte(step.Args))
	if err != nil {
		return text(step.Args)
	}
	return n
}

// picture is a PNG of one pixel.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func (r *renderer) anthropic(g group) {
	if len(g.steps) == 1 && r.s[g.steps[0]].Op == User {
		r.place(g.steps[0], "content")
		r.message(object("role", text("user"), "content", text(r.s[g.steps[0]].Text)))
		return
	}
	r.placeAll(g, "content")
	r.message(object("role", text(g.role()), "content", r.blocks(g, func(_ int, step Step) *node {
		switch step.Op {
		case Think:
			return object("type", text("thinking"), "thinking", text(step.Text), "signature", text(signature(step.Text, 96)))
		case Call:
			return object("type", text("tool_use"), "id", r.id(step), "name", text(step.Tool), "input", args(step))
		case Result:
			return object("type", text("tool_result"), "tool_use_id", r.id(step), "content", text(step.Text))
		case Fail:
			return object("type", text("tool_result"), "tool_use_id", r.id(step), "content", text(step.Text), "is_error", literal("true"))
		case Image:
			return object("type", text("image"), "source", object("type", text("base64"), "media_type", text("image/png"), "data", text(picture)))
		}
		return object("type", text("text"), "text", text(step.Text))
	})))
}

func (r *renderer) chat(g group) {
	switch g.by {
	case tool:
		for _, i := range g.steps {
			r.place(i, "")
			r.message(object("role", text("tool"), "tool_call_id", r.id(r.s[i]), "content", text(r.s[i].Text)))
		}
	case model:
		r.chatAssistant(g)
	default:
		r.chatUser(g)
	}
}

func (r *renderer) chatUser(g group) {
	m := object("role", text("user"))
	if len(g.steps) == 1 && r.s[g.steps[0]].Op == User {
		r.place(g.steps[0], "content")
		m.add("content", text(r.s[g.steps[0]].Text))
		r.message(m)
		return
	}
	r.placeAll(g, "content")
	m.add("content", r.blocks(g, func(_ int, step Step) *node {
		if step.Op == Image {
			return object("type", text("image_url"), "image_url", object("url", text("data:image/png;base64,"+picture)))
		}
		return object("type", text("text"), "text", text(step.Text))
	}))
	r.message(m)
}

// chatAssistant: texts and calls stand apart, so the order between them is lost,
// and all thinking goes into one string.
func (r *renderer) chatAssistant(g group) {
	var thoughts []string
	var says []int
	calls := list()
	for _, i := range g.steps {
		switch step := r.s[i]; step.Op {
		case Think:
			r.place(i, "reasoning_content")
			thoughts = append(thoughts, step.Text)
		case Call:
			r.place(i, fmt.Sprintf("tool_calls.%d", len(calls.items)))
			function := object("name", text(step.Tool), "arguments", text(step.Args))
			calls.items = append(calls.items, object("id", r.id(step), "type", text("function"), "function", function))
		default:
			says = append(says, i)
		}
	}
	m := object("role", text("assistant"))
	if thoughts != nil {
		m.add("reasoning_content", text(strings.Join(thoughts, "\n")))
	}
	switch {
	case len(says) == 1:
		r.place(says[0], "content")
		m.add("content", text(r.s[says[0]].Text))
	case len(says) > 1:
		r.placeAll(group{model, says}, "content")
		m.add("content", r.blocks(group{model, says}, func(_ int, step Step) *node {
			return object("type", text("text"), "text", text(step.Text))
		}))
	case len(calls.items) == 0:
		m.add("content", text(""))
	default:
		m.add("content", literal("null"))
	}
	if len(calls.items) > 0 {
		m.add("tool_calls", calls)
	}
	r.message(m)
}

func (r *renderer) responses(g group) {
	if g.by == person {
		r.placeAll(g, "content")
		r.message(object("type", text("message"), "role", text("user"), "content", r.blocks(g, func(_ int, step Step) *node {
			if step.Op == Image {
				return object("type", text("input_image"), "image_url", text("data:image/png;base64,"+picture))
			}
			return object("type", text("input_text"), "text", text(step.Text))
		})))
		return
	}
	for j, i := range g.steps {
		step := r.s[i]
		switch step.Op {
		case Think:
			if j > 0 && r.s[g.steps[j-1]].Op == Think { // one item reasons once
				r.paths[i] = r.paths[g.steps[j-1]]
				continue
			}
			r.place(i, "")
			id := "rs_" + filler(fmt.Sprint(i, step.Text), 48)
			r.message(object("type", text("reasoning"), "id", text(id), "summary", list(), "encrypted_content", text("gAAAAAB"+signature(id, 120))))
		case Call:
			r.place(i, "")
			r.message(object("type", text("function_call"), "call_id", r.id(step), "name", text(step.Tool), "arguments", text(step.Args)))
		case Result, Fail:
			r.place(i, "")
			r.message(object("type", text("function_call_output"), "call_id", r.id(step), "output", text(step.Text)))
		default:
			r.place(i, "content.0")
			part := object("type", text("output_text"), "text", text(step.Text), "annotations", list())
			r.message(object("type", text("message"), "role", text("assistant"), "content", list(part)))
		}
	}
}

func (r *renderer) gemini(g group) {
	r.placeAll(g, "parts")
	role := "user"
	if g.by == model {
		role = "model"
	}
	signed := false
	parts := r.blocks(g, func(i int, step Step) *node {
		switch step.Op {
		case Think:
			return object("text", text(step.Text), "thought", literal("true"))
		case Call:
			part := object("functionCall", r.function(step, step.Tool, "args", args(step)))
			// The first call of a step is signed, and one that was thought about.
			if !signed || r.s[i-1].Op == Think {
				part.add("thoughtSignature", text(signature(fmt.Sprint(i, step.ID), 60)))
			}
			signed = true
			return part
		case Result:
			return object("functionResponse", r.function(step, r.toolOf(i), "response", object("output", text(step.Text))))
		case Fail:
			return object("functionResponse", r.function(step, r.toolOf(i), "response", object("error", text(step.Text))))
		case Image:
			return object("inlineData", object("mimeType", text("image/png"), "data", text(picture)))
		}
		return object("text", text(step.Text))
	})
	r.message(object("role", text(role), "parts", parts))
}

// function is a call or a response of Gemini.
func (r *renderer) function(step Step, name, payload string, v *node) *node {
	n := object()
	if !r.o.NoIDs {
		n.add("id", r.id(step))
	}
	n.add("name", text(name))
	n.add(payload, v)
	return n
}

// toolOf returns the tool that result i came from. An orphan needs a name too; it
// has one that no call bears.
func (r *renderer) toolOf(i int) string {
	if c := r.s.callOf(i); c >= 0 {
		return r.s[c].Tool
	}
	return "forgotten_tool"
}

func (r *renderer) bedrock(g group) {
	r.placeAll(g, "content")
	r.message(object("role", text(g.role()), "content", r.blocks(g, func(_ int, step Step) *node {
		switch step.Op {
		case Think:
			return object("reasoningContent", object("reasoningText", object("text", text(step.Text), "signature", text(signature(step.Text, 96)))))
		case Call:
			return object("toolUse", object("toolUseId", r.id(step), "name", text(step.Tool), "input", args(step)))
		case Result:
			content := list()
			if step.Text != "" { // a blank text would be refused
				content.items = append(content.items, object("text", text(step.Text)))
			}
			return object("toolResult", object("toolUseId", r.id(step), "content", content))
		case Fail:
			return object("toolResult", object("toolUseId", r.id(step), "content", list(object("text", text(step.Text))), "status", text("error")))
		case Image:
			return object("image", object("format", text("png"), "source", object("bytes", text(picture))))
		}
		return object("text", text(step.Text))
	})))
}

// body wraps the messages in a request as the dialect's clients send it.
func (r *renderer) body() *node {
	name := r.o.model(r.d)
	system, thinks := r.system(), slices.ContainsFunc(r.s, func(s Step) bool { return s.Op == Think })
	b := object()
	switch r.d {
	case wire.Anthropic:
		b = object("model", text(name), "max_tokens", literal("8192"))
		if thinks {
			b.add("thinking", object("type", text("adaptive")))
		}
		if system != "" {
			b.add("system", list(object("type", text("text"), "text", text(system))))
		}
		r.tools(b, "tools", func(name string, schema *node) *node {
			return object("name", text(name), "description", text("The "+name+" tool."), "input_schema", schema)
		})
		b.add("messages", r.messages)
	case wire.OpenAIChat:
		b = object("model", text(name), "messages", r.messages)
		r.tools(b, "tools", func(name string, schema *node) *node {
			return object("type", text("function"), "function", object("name", text(name), "description", text("The "+name+" tool."), "parameters", schema))
		})
		b.add("stream", literal("true"))
	case wire.OpenAIResponses:
		b = object("model", text(name))
		if system != "" {
			b.add("instructions", text(system))
		}
		b.add("input", r.messages)
		r.tools(b, "tools", func(name string, schema *node) *node {
			return object("type", text("function"), "name", text(name), "description", text("The "+name+" tool."), "parameters", schema, "strict", literal("false"))
		})
		b.add("store", literal("false"))
		b.add("include", list(text("reasoning.encrypted_content")))
	case wire.Gemini:
		b = object("model", text("models/"+name))
		if system != "" {
			b.add("systemInstruction", object("parts", list(object("text", text(system)))))
		}
		b.add("contents", r.messages)
		r.geminiTools(b)
		b.add("generationConfig", object("temperature", literal("1.0")))
	case wire.Bedrock:
		b = object("modelId", text(name))
		if system != "" {
			b.add("system", list(object("text", text(system))))
		}
		b.add("messages", r.messages)
		tools := object()
		r.tools(tools, "tools", func(name string, schema *node) *node {
			return object("toolSpec", object("name", text(name), "description", text("The "+name+" tool."), "inputSchema", object("json", schema)))
		})
		if len(tools.keys) > 0 {
			b.add("toolConfig", tools)
		}
		b.add("inferenceConfig", object("maxTokens", literal("8192")))
		if thinks {
			b.add("additionalModelRequestFields", object("thinking", object("type", text("adaptive"))))
		}
	}
	return b
}

func (r *renderer) geminiTools(b *node) {
	declared := object()
	r.tools(declared, "functionDeclarations", func(name string, schema *node) *node {
		return object("name", text(name), "description", text("The "+name+" tool."), "parameters", schema)
	})
	if len(declared.keys) > 0 {
		b.add("tools", list(declared))
	}
}

func (r *renderer) system() string {
	var all []string
	for _, step := range r.s {
		if step.Op == System {
			all = append(all, step.Text)
		}
	}
	return strings.Join(all, "\n\n")
}

// tools declares the tools that are called, with the arguments they are called
// with. A history that holds results only still needs one.
func (r *renderer) tools(b *node, member string, declare func(name string, schema *node) *node) {
	var names []string
	schemas := map[string]*node{}
	results := false
	for _, step := range r.s {
		results = results || step.answers()
		if step.Op != Call {
			continue
		}
		if schemas[step.Tool] == nil {
			names = append(names, step.Tool)
			schemas[step.Tool] = object()
		}
		describe(schemas[step.Tool], args(step))
	}
	if names == nil && results {
		names, schemas["Read"] = []string{"Read"}, object("path", object("type", text("string")))
	}
	if names == nil {
		return
	}
	all := list()
	for _, name := range names {
		all.items = append(all.items, declare(name, object("type", text("object"), "properties", schemas[name])))
	}
	b.add(member, all)
}

// describe adds the members of args that properties does not have yet.
func describe(properties, args *node) {
	types := map[jsonspan.Kind]string{jsonspan.String: "string", jsonspan.Number: "number", jsonspan.Bool: "boolean", jsonspan.Array: "array"}
	for i, key := range args.keys {
		if slices.Contains(properties.keys, key) {
			continue
		}
		t := types[args.items[i].kind]
		if t == "" {
			t = "object"
		}
		properties.add(key, object("type", text(t)))
	}
}
