package dialect

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A grammar is what shared code has to know of a dialect. It asks the grammar and
// never which dialect it is.
type grammar struct {
	name  string // as people write it
	list  string // the member of a body that holds the history
	roles []namedRole
	// assistant is the assistant's role as it is written.
	assistant string
	// types are the types of its blocks, items, parts and steps; keyed: a block has its type for a
	// member, and no member "type".
	types []blockType
	keyed bool
	// blocks is the list of a message that its blocks stand in.
	blocks container
	// nested: results are blocks of a message, and not elements of the list.
	nested bool
	// flat: calls and thoughts are elements of the list too, each by itself.
	flat bool
	// joins are the roles of which neighbours are one turn.
	joins [transcript.Tool + 1]bool
	// apart: what an element is does not depend on others, but for its turn and for a
	// thought in front of it in that turn.
	apart bool
	// typed: a message says by its type who speaks, and has no role.
	typed bool
	// discipline says where the answer to a call may stand.
	discipline transcript.Discipline
	// stringList: a string in the place of the list is what the user says.
	stringList bool
	// objectList: an object in the place of the list is its only element.
	objectList bool
	// modelInURL: the model is named in the URL.
	modelInURL bool
	// required is a member that a request must have beside the history, the model and who asks.
	required string
	// marksFailure: a result that failed is marked, so that one without mark did not.
	marksFailure bool
	// contextEdits: a request can ask the provider to drop thinking that is bound to something
	// else, and to clear results.
	contextEdits bool
	// countsCalls: ids may be missing, and answers are told by tool and by order.
	countsCalls bool
	// namesResults: results carry the name of the tool.
	namesResults bool
	// partsMessages: what may not share a message with results may share their turn.
	partsMessages bool
	// nullContent: content that loses its last part becomes null, for calls may stand
	// alone.
	nullContent bool
	// resultMember shows, where results are messages, that a message is one; "" if
	// nothing does.
	resultMember string
	// cacheMark is the member that marks a block for the cache; "" where marks are
	// blocks of their own, or unknown.
	cacheMark string
	// idLimit and nameLimit are how long ids and names that we make may be.
	idLimit, nameLimit int

	// addsTools: a message that adds a declared tool may be what makes it available.
	addsTools bool
	// remote are members of a body that needs no list: the server has the history.
	remote []string

	endpoints []endpoint // of its requests
	batch     batch      // of them
	// shows are members of blocks, and the type of one that has such a member and no type.
	shows [][2]string
	// showsMedia are beginnings of media types, and the type of a block of such media.
	showsMedia [][2]string
	tells      tells
	// words names the members of calls and results in which a dialect says something.
	words pairWords
	// foreign are types of what looks like the dialect, and whose they are.
	foreign map[string]string
	rules   []Rule
	speech
}

// pairWords names members of calls and results.
type pairWords struct {
	ids        []string // that link a result to its call
	call       []string // that say something beside the arguments
	result     []string // that say something beside the content
	resultName bool     // the name of its tool may stand in a result
}

// role returns the role of that name, or Unknown.
func (g *grammar) role(name string) transcript.Role {
	for i := range g.roles { // they are few
		if g.roles[i].name == name {
			return g.roles[i].role
		}
	}
	return transcript.Unknown
}

// A namedRole is what a dialect calls a role.
type namedRole struct {
	name string
	role transcript.Role
}

// text writes a block of text as the role would say it.
func (g *grammar) text(role transcript.Role, text string) []byte {
	return g.textBlock(role, quote(text))
}

// turn writes a message of the user that holds blocks.
func (g *grammar) turn(blocks [][]byte) []byte {
	if g.typed {
		return object("type", stepOf(transcript.User), g.blocks.member(), array(blocks...))
	}
	return object("role", "user", g.blocks.member(), array(blocks...))
}

// A speech is how a dialect is read, judged and counted, and how it writes a text; common
// does it the usual way. How a dialect is repaired is for its [pen].
type speech interface {
	// element reads one element of the list, an object.
	element(*parser)
	// check raises the faults that show in the finished transcript.
	check(*checker)
	// version reads family and version out of a model's name in lower case.
	version(p *Profile, model string)

	// textBlock writes a string, given with its quotes, as a block of the role.
	textBlock(role transcript.Role, raw []byte) []byte
	// textMessage writes a message that says text.
	textMessage(role transcript.Role, text string) []byte

	// takesText reports whether a text may replace what a call or result holds.
	takesText(r *Request, blk transcript.Block) bool
	// freeForm reports whether a call takes a text for its arguments and not an object.
	freeForm(r *Request, blk *transcript.Block) bool

	// resultTokens counts what a result says, and saidTokens a text in its place.
	resultTokens(r *Request, c Counter, blk *transcript.Block) int
	saidTokens(r *Request, c Counter, blk *transcript.Block, text string) int
}

// common is how most dialects do it.
type common struct{}

func (common) version(p *Profile, model string) { p.readClaude(model) }

func (common) textBlock(_ transcript.Role, raw []byte) []byte {
	return object("type", "text", "text", raw)
}

func (common) textMessage(role transcript.Role, text string) []byte {
	return object("role", role.String(), "content", text)
}

func (common) takesText(*Request, transcript.Block) bool { return true }

func (common) freeForm(*Request, *transcript.Block) bool { return false }

func (common) resultTokens(r *Request, c Counter, blk *transcript.Block) int {
	return r.bodyTokens(c, blk)
}

func (common) saidTokens(_ *Request, c Counter, _ *transcript.Block, text string) int {
	return c.Count(lend(text))
}

// memberIs reports whether the string member of an object is the word, however it is written.
func (r *Request) memberIs(object transcript.Span, name, word string) bool {
	m, ok := jsonspan.Find(r.raw, jsonspan.Span(object), name)
	return ok && r.raw[m.Value.Start] == '"' && string(jsonspan.Decode(nil, r.raw[m.Value.Start+1:m.Value.End-1])) == word
}
