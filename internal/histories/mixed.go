package histories

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

// MixOptions limits the bodies of [Mixed]. The zero value makes valid histories in a compact
// spelling.
type MixOptions struct {
	// Breaks is how many things are done to the history that real incidents do: messages
	// and blocks lost, doubled, swapped, merged, split, ids of others.
	Breaks int
	// Escapes writes one key in eight with an escape: "te\u0078t".
	Escapes bool
	Turns   int // number of turns of a person; 0: one to four
}

// Mixed returns a random request body with blocks that [Random] never makes: every type of
// block that a dialect's documentation and its official libraries name, the provider's own
// tools, tools that are declared in the history, deferred tools, several kinds of calls, media
// in results, refusals and the provider's own compaction. Without Breaks the provider accepts
// the body. The same arguments give the same bytes. did describes the damage.
func Mixed(seed uint64, d wire.Dialect, o MixOptions) (body []byte, did []string) {
	m, ok := mixtures()[d]
	if !ok {
		panic("paretest: mixed: no dialect")
	}
	g := &mixer{generator: generator{r: rand.New(rand.NewPCG(seed, 0x6d6978<<8|uint64(d)))}, m: m}
	root := g.body(o.Turns)
	for range o.Breaks {
		for range 8 { // not every damage fits every body
			if b := mixBreaks[g.r.IntN(len(mixBreaks))]; b.apply(g.r, root) {
				did = append(did, b.name)
				break
			}
		}
	}
	if o.Escapes {
		messagesOf(root).Walk(g.escapeKeys)
	}
	return root.Write(nil, jsontree.Spelling{}, 0), did
}

// A mixture holds the templates of JSON for the histories of one dialect. In a template $T is
// a few words, $P a picture in base64, $I the id of the call, $N the name of the tool, $S a
// signature, $J arguments as an object, $Q the same as a string, $U a number that is used
// once, $= the same number again.
type mixture struct {
	heads []string // bodies; $M is the list of messages
	user  []string // blocks of a person
	says  []string // blocks of the model, pairs of the provider's own tools among them
	calls []mixCall
	tools []string // names of declared tools
	id    string   // of a call
	// write returns the messages for the blocks and calls of one turn.
	write func(g *mixer, by speaker, blocks, calls []string) []string
	// alone allows at most one kind of call per turn.
	alone bool
	// events are messages that may appear between those of a person and the model, by a member of
	// the body's head.
	events map[string][]string
}

// A mixCall is a call with its possible results; a call without results needs none.
type mixCall struct {
	call    string
	results []string
}

func mixtures() map[wire.Dialect]*mixture {
	return map[wire.Dialect]*mixture{
		wire.Anthropic: anthropicMix(), wire.OpenAIChat: chatMix(), wire.OpenAIResponses: responsesMix(),
		wire.Gemini: geminiMix(), wire.Bedrock: bedrockMix(), wire.GeminiInteractions: interactionsMix(),
	}
}

// A mixer fills templates.
type mixer struct {
	generator
	m    *mixture
	used int
}

// body makes a history: a person writes, the model works and calls tools that answer, and the
// last message comes from a person or a tool.
func (g *mixer) body(turns int) *jsontree.Node {
	var all, events []string
	if turns == 0 {
		turns = 1 + g.r.IntN(4)
	}
	head := g.fill(pick(&g.generator, g.m.heads...), "", "")
	for _, said := range slices.Sorted(maps.Keys(g.m.events)) {
		if strings.Contains(head, said) {
			events = append(events, g.m.events[said]...)
		}
	}
	for t := range turns {
		all = append(all, g.m.write(g, person, g.pickSome(g.m.user, 1, 3), nil)...)
		steps := g.r.IntN(4)
		if events != nil && (steps > 0 || t < turns-1) && g.chance(3) {
			all = append(all, g.fill(pick(&g.generator, events...), "", ""))
		}
		for range steps {
			all = append(all, g.step()...)
		}
		if t < turns-1 {
			all = append(all, g.m.write(g, model, g.pickSome(g.m.says, 1, 3), nil)...)
		}
	}
	messages := "[" + strings.Join(all, ",") + "]"
	head = strings.Replace(head, `"$M"`, messages, 1)
	root, err := jsontree.Parse([]byte(head))
	if err != nil {
		panic(fmt.Sprintf("paretest: mixed: %v in %s", err, head))
	}
	marks := 0
	tooMany := func() bool { marks++; return marks > maxMarks }
	root.Walk(func(n *jsontree.Node) {
		if i := slices.Index(n.Keys, "cache_control"); i >= 0 && tooMany() {
			n.Keys, n.Items = slices.Delete(n.Keys, i, i+1), slices.Delete(n.Items, i, i+1)
		}
		if n.Kind == jsonspan.Array {
			n.Items = slices.DeleteFunc(n.Items, func(b *jsontree.Node) bool { return b.Get("cachePoint") != nil && tooMany() })
		}
	})
	return root
}

// maxMarks is how many cache marks a provider takes.
const maxMarks = 4

// step returns one turn of the model with calls, and their results.
func (g *mixer) step() []string {
	says := g.pickSome(g.m.says, 0, 2)
	var calls, results []string
	kind := g.m.calls[g.r.IntN(len(g.m.calls))]
	for range 1 + max(0, g.r.IntN(5)-2) {
		if !g.m.alone {
			kind = g.m.calls[g.r.IntN(len(g.m.calls))]
		}
		g.calls++
		id := strings.ReplaceAll(g.m.id, "$U", fmt.Sprintf("%06d", g.calls))
		name := pick(&g.generator, g.m.tools...)
		calls = append(calls, g.fill(kind.call, id, name))
		if len(kind.results) > 0 {
			results = append(results, g.fill(pick(&g.generator, kind.results...), id, name))
		}
		if strings.Contains(kind.call, `"function_call":`) {
			break // of the old kind there is one per message
		}
	}
	if g.chance(3) {
		g.r.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	}
	return append(g.m.write(g, model, says, calls), g.m.write(g, tool, results, nil)...)
}

// pickSome fills from least to most of the templates.
func (g *mixer) pickSome(from []string, least, most int) []string {
	var all []string
	for range least + g.r.IntN(most-least+1) {
		all = append(all, g.fill(pick(&g.generator, from...), "", ""))
	}
	return all
}

func (g *mixer) fill(template, id, name string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(template, "$")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		switch rest[0] {
		case 'T':
			b.WriteString(quotedInner(g.prose()))
		case 'P':
			b.WriteString(picture)
		case 'I':
			b.WriteString(quotedInner(id))
		case 'N':
			b.WriteString(quotedInner(name))
		case 'S':
			b.WriteString(signature(g.prose(), 96))
		case 'J':
			b.WriteString(g.arguments())
		case 'Q':
			b.WriteString(quotedInner(g.arguments()))
		case 'U':
			g.used++
			fmt.Fprintf(&b, "%04d", g.used)
		case '=':
			fmt.Fprintf(&b, "%04d", g.used)
		default:
			b.WriteByte('$')
			b.WriteByte(rest[0])
		}
		template = rest[1:]
	}
}

// quotedInner returns a text as it is written within quotes.
func quotedInner(s string) string {
	q := jsonspan.AppendQuote(nil, s)
	return string(q[1 : len(q)-1])
}

func (g *mixer) arguments() string {
	args := jsontree.Object("path", jsontree.Text(g.prose()))
	if g.chance(2) {
		args.Add("options", jsontree.Object("note", jsontree.Text(g.prose()), "all", jsontree.List(jsontree.Text(g.awkward()), jsontree.Literal("1.50"))))
	}
	return string(args.Write(nil, jsontree.Spelling{}, 0))
}

// escapeKeys spells some keys of an object with an escape.
func (g *mixer) escapeKeys(n *jsontree.Node) {
	for i, k := range n.Keys {
		if g.chance(8) && len(k) > 1 && !strings.Contains(k, `\`) {
			at := g.r.IntN(len(k))
			n.Keys[i] = k[:at] + string(jsontree.AppendU(nil, rune(k[at]))) + k[at+1:]
		}
	}
}

// mixBreaks are the damages of real incidents, for any tree.
var mixBreaks = append(slices.DeleteFunc(slices.Clone(damages), func(d damage) bool {
	return !slices.Contains([]string{
		"a message lost", "two messages swapped", "a message twice", "two messages merged", "a message split", "a block lost", "a block twice",
		"half of a surrogate pair", "a key twice",
	}, d.name)
}), damage{"an id of another call", borrowID}, damage{"an id that nobody has", strangeID}, damage{"a block moved", moveBlock}, damage{"another result", changeResult}, damage{"cut at the front", dropFirstMessages}, damage{"cut at the end", dropLastMessages}, damage{"another role", changeRole})

// findIDs returns the texts by which calls and results find each other.
func findIDs(root *jsontree.Node) []*jsontree.Node {
	var all []*jsontree.Node
	messagesOf(root).Walk(func(n *jsontree.Node) {
		for i, k := range n.Keys {
			if slices.Contains(idMembers, k) && n.Items[i].Kind == jsonspan.String {
				all = append(all, n.Items[i])
			}
		}
	})
	return all
}

// borrowID gives one call or result the id of another.
func borrowID(r *rand.Rand, root *jsontree.Node) bool {
	all := findIDs(root)
	if len(all) < 2 {
		return false
	}
	a, b := all[r.IntN(len(all))], all[r.IntN(len(all))]
	if string(a.Raw) == string(b.Raw) {
		return false
	}
	a.Raw = b.Raw
	return true
}

func strangeID(r *rand.Rand, root *jsontree.Node) bool {
	all := findIDs(root)
	if len(all) == 0 {
		return false
	}
	all[r.IntN(len(all))].Raw = []byte(`"strange1"`)
	return true
}

// moveBlock moves a block from one message to another.
func moveBlock(r *rand.Rand, root *jsontree.Node) bool {
	from, to := blocksOf(r, root), blocksOf(r, root)
	if from == nil || to == nil || from == to || len(from.Items) < 2 {
		return false
	}
	i := r.IntN(len(from.Items))
	b := from.Items[i]
	from.Items = slices.Delete(from.Items, i, i+1)
	to.Items = slices.Insert(to.Items, r.IntN(len(to.Items)+1), b)
	return true
}

// changeResult answers a call a second time, in other words.
func changeResult(r *rand.Rand, root *jsontree.Node) bool {
	type place struct {
		in *jsontree.Node
		i  int
	}
	var all []place
	root.Walk(func(n *jsontree.Node) {
		for i, item := range n.Items {
			if n.Kind == jsonspan.Array && isResult(item) {
				all = append(all, place{n, i})
			}
		}
	})
	if len(all) == 0 {
		return false
	}
	at := all[r.IntN(len(all))]
	again := at.in.Items[at.i].Clone()
	again.Walk(func(n *jsontree.Node) {
		for i, k := range n.Keys {
			if slices.Contains([]string{"text", "content", "output", "error", "result"}, k) && n.Items[i].Kind == jsonspan.String {
				n.Items[i] = jsontree.Text("another result")
			}
		}
	})
	at.in.Items = slices.Insert(at.in.Items, at.i+1, again)
	return true
}

// isResult reports whether a block, an item or a message answers a call.
func isResult(n *jsontree.Node) bool {
	if n.Get("toolResult") != nil || n.Get("functionResponse") != nil || n.Get("tool_use_id") != nil || n.Get("tool_call_id") != nil {
		return true
	}
	return n.Get("call_id") != nil && (n.Get("output") != nil || n.Get("result") != nil)
}

// changeRole changes the role of a message to that of a person, the model, or a role that the
// provider does not know.
func changeRole(r *rand.Rand, root *jsontree.Node) bool {
	ms := messagesOf(root)
	if len(ms.Items) == 0 {
		return false
	}
	role := ms.Items[r.IntN(len(ms.Items))].Get("role")
	if role == nil || role.Kind != jsonspan.String {
		return false
	}
	all := []string{`"user"`, `"assistant"`, `"model"`, `"User"`, `"somebody"`}
	to := all[r.IntN(len(all))]
	was := string(role.Raw)
	role.Raw = []byte(to)
	return was != to
}

func dropFirstMessages(r *rand.Rand, root *jsontree.Node) bool {
	ms := messagesOf(root)
	if len(ms.Items) < 2 {
		return false
	}
	ms.Items = ms.Items[1+r.IntN(len(ms.Items)-1):]
	return true
}

func dropLastMessages(r *rand.Rand, root *jsontree.Node) bool {
	ms := messagesOf(root)
	if len(ms.Items) < 2 {
		return false
	}
	ms.Items = ms.Items[:1+r.IntN(len(ms.Items)-1)]
	return true
}
