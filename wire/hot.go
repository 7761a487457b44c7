package wire

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A Parser reads requests one after the other, in the same memory, so that in the long
// run one costs no allocation. It is made for a path that every request takes and that
// nearly always has nothing to do. The zero value is ready. It is for one goroutine; a
// sync.Pool of them serves many.
type Parser struct {
	p parser
	r Request
	b transcript.Builder
	c checker
}

// A Glance is what can be told of a request without keeping anything of it. It is a value
// that many goroutines may use.
type Glance struct {
	Clean        bool   // Check would find nothing, and Repair would do nothing
	Delta        string // the member that names the conversation on the server which the request continues; "": it has its whole history
	StartsThread bool   // the server is asked to hold the conversation from this request on
	Dialect      Dialect
	Profile      Profile // its Model is the one that the request names, or else the one of the options
	Messages     int
	Calls        int // and strays
	Turns        int
	Asked        int // how often the person spoke
	MaxOutput    int // tokens that the reply may have; 0: it does not say
	Fingerprint  [16]byte
}

// check reads and checks a request body and keeps nothing of it: raw may be changed
// afterwards. Its error is that of [Parse]. Whoever wants to know what is wrong with a
// request that is not clean parses it again.
func (p *Parser) check(raw []byte, o Options, c CheckOptions) (Glance, error) {
	return p.glance(raw, o, c)
}

// checkOrParse is Glance for those who go on with a request that is not clean: it is returned, too, as
// [Parse] would return it. If the request is clean, it is nil, and nothing of it was kept. The
// Fingerprint is left out.
func (p *Parser) checkOrParse(raw []byte, o Options, c CheckOptions) (Glance, *Request, error) {
	p.p.lent = false
	names := p.p.names
	g, err := p.judge(raw, o, checker{o: c})
	var kept *Request
	switch {
	case err != nil:
	case g.Clean:
		p.p.cutAgain(names)
	default:
		kept = p.detach()
	}
	p.drop()
	return g, kept, err
}

// detach returns the request that was parsed last in memory of its own.
func (p *Parser) detach() *Request {
	r, own := new(Request), p.p.pages.clone()
	*r = p.r
	r.where, r.extra, r.frame, r.notes, r.ties = own.where, own.extra, own.frame, own.notes, own.ties[:len(r.ties)]
	r.t = p.b.Copy(transcript.Index{Raw: r.raw, Messages: own.messages, Blocks: own.blocks, Ties: own.ties})
	r.borrowed, r.found = false, &verdict{p.c.o, p.c.sorted()}
	r.head.trim()
	p.p.head, p.p.chunk = head{}, 0 // the request has them
	return r
}

func (p *Parser) glance(raw []byte, o Options, c CheckOptions) (Glance, error) {
	p.p.lent = true
	g, err := p.judge(raw, o, checker{o: c, glance: true})
	if err == nil {
		g.Fingerprint = p.r.fingerprint()
	}
	p.drop()
	return g, err
}

// judge reads a request and checks it by c.
func (p *Parser) judge(raw []byte, o Options, c checker) (Glance, error) {
	r, err := p.parse(raw, o)
	if err != nil {
		return Glance{}, err
	}
	c.Request, c.checkRoom = r, p.c.checkRoom
	p.c = c
	p.c.run()
	return Glance{
		Clean: !p.c.dirty && len(p.c.found) == 0, Delta: r.head.delta, StartsThread: r.head.startsThread, Dialect: r.Dialect, Profile: r.Profile,
		Messages: len(r.t.Messages()), Calls: len(r.t.Exchanges()), Turns: transcriptx.Turns(r.t),
		Asked: transcriptx.Asked(r.t, len(r.t.Messages())), MaxOutput: r.MaxOutputTokens(),
	}, nil
}

// Parse is like the function of that name, but the request, its transcript and what is
// taken from them are good until the next call only. Findings, paths and names are not
// bound to that.
func (p *Parser) Parse(raw []byte, o Options) (*Request, error) {
	p.p.lent = false
	return p.parse(raw, o)
}

func (p *Parser) parse(raw []byte, o Options) (*Request, error) {
	prof, err := p.p.read(raw, &o)
	if err != nil {
		return nil, err
	}
	p.p.finish(&p.r, prof, p.b.Build)
	p.r.borrowed = true
	if err := p.r.adopt(o); err != nil {
		return nil, err
	}
	return &p.r, nil
}

// roomy is how many blocks, messages or notes a parser keeps room for.
const roomy = 1 << 16

// large reports whether the room of a parser is not worth keeping.
func (p *pages) large() bool {
	return cap(p.blocks) > roomy || cap(p.messages) > roomy || cap(p.notes) > roomy
}

// drop lets go of the bytes that were lent, and of the room that one large body took.
func (p *Parser) drop() {
	if p.p.large() {
		*p = Parser{}
		return
	}
	clear(p.p.blocks)
	clear(p.p.notes)
	p.p.reset(nil, Auto, jsonspan.Structural)
	p.b.Drop()
	p.r, p.c.Request, p.c.found, p.c.seen, p.c.called = Request{}, nil, nil, nil, nil
	clear(p.c.ids)
}
