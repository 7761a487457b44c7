package histories

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

// A hand is how a dialect is written.
type dialectRenderer struct {
	model string // the current one that renderings are addressed to
	// id makes an id as the provider does out of nine letters and digits.
	id func(code string, o RenderOptions) string
	// group writes the message, or the messages, of a group of steps.
	group func(*renderer, group)
	// body wraps the messages in a request to a model.
	body func(r *renderer, model, system string, thinks bool) *jsontree.Node
	// systemMessage: the system prompt is a message.
	systemMessage bool
	// wordsJoinResults: a person's words join the results before them.
	wordsJoinResults bool
	// wordsApart: words of their own are a message of their own.
	wordsApart bool
	// idsOptional: calls and results may go without ids.
	idsOptional bool
	// idsOnce: an id that was answered is not used again.
	idsOnce bool
}

var dialectRenderers = map[wire.Dialect]*dialectRenderer{
	wire.Auto: {}, wire.Anthropic: &anthropicRenderer, wire.OpenAIChat: &chatRenderer, wire.OpenAIResponses: &responsesRenderer,
	wire.Gemini: &geminiRenderer, wire.Bedrock: &bedrockRenderer, wire.GeminiInteractions: &interactionsRenderer,
}

// RenderOptions controls how a script is written. The zero value writes a compact, complete
// request for a current model of the dialect's own vendor.
type RenderOptions struct {
	Model string // "": DefaultModel of the dialect
	Bare  bool   // only the list of messages, which has no system prompt except on openai-chat
	NoIDs bool   // gemini only: calls and responses without ids, as before Gemini 3
	jsontree.Spelling
}

// DefaultModel returns the model that renderings are addressed to.
func DefaultModel(d wire.Dialect) string { return dialectRenderers[d].model }

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
	r := &renderer{s: s, d: d, hand: dialectRenderers[d], o: o, list: d.List(), messages: jsontree.List(), paths: make([]string, len(s)), ids: map[string]string{}, answered: map[string]bool{}}
	if r.hand.systemMessage {
		for i, step := range s {
			if step.Op == System {
				r.place(i, "content")
				r.message(jsontree.Object("role", jsontree.Text("system"), "content", jsontree.Text(step.Text)))
			}
		}
	}
	for _, g := range r.groups() {
		r.hand.group(r, g)
	}
	return r
}

// A renderer writes one script in one dialect.
type renderer struct {
	s        Script
	d        wire.Dialect
	hand     *dialectRenderer
	o        RenderOptions
	list     string // the member that holds the messages
	messages *jsontree.Node
	paths    []string
	ids      map[string]string // by the script's ids
	answered map[string]bool   // by the ids of the rendering, where they are used once
}

func (r *renderer) bytes() []byte {
	if r.o.Bare {
		return r.messages.Write(nil, r.o.Spelling, 0)
	}
	return r.body().Write(nil, r.o.Spelling, 0)
}

// A group is the steps that share a message where the dialect allows it.
type group struct {
	by    speaker // of its last step
	steps []int
}

// groups joins consecutive steps of one speaker. Where roles must alternate, a person's words
// also join the results before them, except on Gemini, whose responses are separate.
func (r *renderer) groups() []group {
	var all []group
	for i, step := range r.s {
		by := step.speaker()
		if by == noSpeaker {
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
	by := step.speaker()
	switch {
	case by == person && g.by == tool:
		return r.hand.wordsJoinResults
	case by != g.by:
		return false
	case by == person && r.hand.wordsApart: // pictures go with words
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

// message appends a message. place returns the path of a step in the next message.
func (r *renderer) message(m *jsontree.Node) { r.messages.Items = append(r.messages.Items, m) }

func (r *renderer) place(step int, sub string) {
	r.paths[step] = fmt.Sprintf("%s.%d", r.list, len(r.messages.Items))
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
func (r *renderer) blocks(g group, block func(i int, step Step) *jsontree.Node) *jsontree.Node {
	all := jsontree.List()
	for _, i := range g.steps {
		all.Items = append(all.Items, block(i, r.s[i]))
	}
	return all
}

func (r *renderer) id(step Step) *jsontree.Node {
	id, ok := r.ids[step.ID]
	switch {
	case !ok:
		id = r.hand.wireID(step.ID, r.o)
	case step.Op == Call && r.hand.idsOnce && r.answered[id] && isPlainID(step.ID):
		id = r.hand.wireID(step.ID, r.o) + "_" + strconv.Itoa(len(r.answered)) // as clients of such providers do
	}
	r.ids[step.ID] = id
	if step.isResult() && r.hand.idsOnce {
		r.answered[id] = true
	}
	return jsontree.Text(id)
}

func args(step Step) *jsontree.Node {
	n, err := jsontree.Parse([]byte(step.Args))
	if err != nil {
		return jsontree.Text(step.Args)
	}
	return n
}

// picture is a PNG of one pixel.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// body wraps the messages in a request as the dialect's clients send it.
func (r *renderer) body() *jsontree.Node {
	thinks := slices.ContainsFunc(r.s, func(s Step) bool { return s.Op == Think })
	return r.hand.body(r, r.o.model(r.d), r.system(), thinks)
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
func (r *renderer) tools(b *jsontree.Node, member string, declare func(name string, schema *jsontree.Node) *jsontree.Node) {
	var names []string
	schemas := map[string]*jsontree.Node{}
	results := false
	for _, step := range r.s {
		results = results || step.isResult()
		if step.Op != Call {
			continue
		}
		if schemas[step.Tool] == nil {
			names = append(names, step.Tool)
			schemas[step.Tool] = jsontree.Object()
		}
		describe(schemas[step.Tool], args(step))
	}
	if names == nil && results {
		names, schemas["Read"] = []string{"Read"}, jsontree.Object("path", jsontree.Object("type", jsontree.Text("string")))
	}
	if names == nil {
		return
	}
	all := jsontree.List()
	for _, name := range names {
		all.Items = append(all.Items, declare(name, jsontree.Object("type", jsontree.Text("object"), "properties", schemas[name])))
	}
	b.Add(member, all)
}

// describe adds the members of args that properties does not have yet.
func describe(properties, args *jsontree.Node) {
	types := map[jsonspan.Kind]string{jsonspan.String: "string", jsonspan.Number: "number", jsonspan.Bool: "boolean", jsonspan.Array: "array"}
	for i, key := range args.Keys {
		if slices.Contains(properties.Keys, key) {
			continue
		}
		t := types[args.Items[i].Kind]
		if t == "" {
			t = "object"
		}
		properties.Add(key, jsontree.Object("type", jsontree.Text(t)))
	}
}
