package rules

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Scope is what the rules that remove something have in common. Many goroutines may read
// it.
type Scope struct {
	// Globs of tools that are left alone, besides those that hold plans, tasks, skills and questions. Default: none.
	ProtectTools []string `json:"protect_tools,omitempty"`
	// Globs of files whose exchanges are left alone; ** stands for any number of folders. Default: none.
	ProtectPaths []string `json:"protect_paths,omitempty"`
	// How many exchanges at the end are left alone. Default: 0, none.
	KeepLast int `json:"keep_last,omitempty"`
	// Tools beside those of [Table], or in place of those of the same name. Default: none.
	Table []Tool `json:"table,omitempty"`
}

// What is done with what a rule found.
const (
	// modeClear puts a placeholder in the place of what was said. It is the default.
	modeClear = "clear"
	// modeDrop removes the whole exchange.
	modeDrop = "drop"
	// modeArguments, of error-purging only, clears the arguments and keeps what the
	// tool said about them.
	modeArguments = "arguments"
)

// A trait is what a guard knows of a tool's name.
type trait struct {
	Tool
	name      string // as it is written
	key       string // in lower case
	protected bool
	pathOnly  bool // nothing but the path is ever asked for
}

// known is a tool's name, looked up in a history.
type known struct {
	*trait
	number int // names that differ in case only have the same
}

// A guard is a scope made ready, once for all histories.
type guard struct {
	Scope
	known  map[string]Tool // those of the scope, by name in lower case
	steers []toolNames     // what is protected: the standard names, and those of the scope

	traits sync.Map     // by name as it is written: they are the same in every history
	many   atomic.Int32 // how many of them there are
}

// mostTraits bounds what is kept of names, which anybody may make up.
const mostTraits = 1 << 10

// trait looks a name up.
func (g *guard) trait(name string) *trait {
	if t, ok := g.traits.Load(name); ok {
		return t.(*trait)
	}
	t := &trait{name: strings.Clone(name), key: strings.ToLower(name)}
	var own bool
	if t.Tool, own = g.known[t.key]; !own {
		t.Tool = standardTools()[t.key]
	}
	if t.Kind == "" {
		t.Kind = kindOther
	}
	t.pathOnly = (t.Kind == kindWrite || t.Kind == kindEdit) && t.Command == "" && t.Patch == ""
	t.protected = name == "" || slices.ContainsFunc(g.steers, func(n toolNames) bool { return n.has(t.key) })
	if len(name) <= 128 && g.many.Load() < mostTraits {
		g.many.Add(1)
		g.traits.Store(t.name, t)
	}
	return t
}

func (s Scope) guard() *guard {
	return &guard{Scope: s, known: toolsByName(s.Table), steers: []toolNames{standardNames(), namesOf(s.ProtectTools)}}
}

// A program makes a guard for each rule whenever it starts; what all of them have in common is made once.
var (
	standardTools = sync.OnceValue(func() map[string]Tool { return toolsByName(table) })
	standardNames = sync.OnceValue(func() toolNames { return namesOf(protectedTools) })
)

func toolsByName(list []Tool) map[string]Tool {
	known := make(map[string]Tool, len(list))
	for _, t := range list {
		known[strings.ToLower(t.Name)] = t
	}
	return known
}

// toolNames are names of tools, in lower case, and globs, which are no plain names.
type toolNames struct {
	exact map[string]bool
	globs []string
}

func namesOf(list []string) toolNames {
	n := toolNames{exact: make(map[string]bool, len(list))}
	for _, name := range list {
		if strings.ContainsAny(name, `*?[\`) {
			n.globs = append(n.globs, name)
		} else {
			n.exact[strings.ToLower(name)] = true
		}
	}
	return n
}

// has tells whether a name in lower case is one of them.
func (n toolNames) has(key string) bool {
	return n.exact[key] || slices.ContainsFunc(n.globs, func(glob string) bool { return matchTool(glob, key) })
}

// A sight is what a rule sees of one history.
type sight struct {
	*guard
	r     *wire.Request
	t     *transcript.Transcript
	names map[string]*known // by name as it is written
	keys  map[string]int
	near  [64]*known        // those that were looked up last, by the length and the ends of their names
	args  []byte            // of the call that was looked at last
	text  []byte            // of the result that was looked at last
	paths map[string]string // cleaned, by how they are written: a few files are named again and again

	texts texts // that rules word
}

func (g *guard) sightOf(r *wire.Request) *sight {
	return &sight{guard: g, r: r, t: r.Transcript(), names: make(map[string]*known), keys: make(map[string]int), paths: make(map[string]string)}
}

func (s *sight) tool(name string) *known {
	// A few tools are called, or asked for, again and again.
	at := len(name)
	if at > 0 {
		at += 5*int(name[0]) + int(name[at-1])
	}
	near := &s.near[at%len(s.near)]
	if k := *near; k != nil && k.name == name {
		return k
	}
	if k, ok := s.names[name]; ok {
		*near = k
		return k
	}
	k := &known{trait: s.trait(name)}
	n, ok := s.keys[k.key]
	if !ok {
		n = len(s.keys)
		s.keys[k.key] = n
	}
	k.number = n
	s.names[name] = k
	return k
}

// whole reports whether an exchange is complete and the client's own.
func whole(x *transcript.Exchange) bool {
	return x.State == transcript.Whole && !x.Server && x.Call != transcript.NoBlock && len(x.Results) == 1
}

// exchanges yields what may count for or against something: whole exchanges of
// tools that are not protected. The index is that of the transcript.
func (s *sight) exchanges(yield func(i int, x *transcript.Exchange) bool) {
	all := s.t.Exchanges()
	for i := range all {
		if x := &all[i]; whole(x) && !s.tool(x.Tool).protected && !yield(i, x) {
			return
		}
	}
}

// message returns the message of an exchange's call.
func (s *sight) message(i int) int { return s.t.Block(s.t.Exchanges()[i].Call).Message }

// spared reports whether an exchange may not be touched: it is one of the last, or
// its file is protected.
func (s *sight) spared(i int, file string) bool {
	return i >= len(s.t.Exchanges())-s.KeepLast || s.guards(file)
}

// guards reports whether a file is protected.
func (s *sight) guards(file string) bool {
	return file != "" && slices.ContainsFunc(s.ProtectPaths, func(g string) bool { return matchPath(g, file) })
}

// A use is what a call asks for.
type use struct {
	kind   string
	file   string // "" if it names none, or several
	target []byte // what it runs, as it is written; good until the next call is looked at
	lines  span
	odd    bool // there are arguments that may change what is read
	note   bool // the arguments have been cleared
	sure   bool // the file was read to its end and something follows
}

// A span is the lines of a read, both ends included. Where a tool stops by itself
// is not known exactly: it shows all up to sure and nothing behind last.
type span struct{ first, sure, last int }

// use reads the arguments of a call. Those that have been cleared say nothing.
func (s *sight) use(k *known, args []byte) use {
	if isNote(args) {
		return use{kind: k.Kind, note: true}
	}
	return s.readUse(k, args)
}

// readUse reads arguments as they are.
func (s *sight) readUse(k *known, args []byte) use {
	u := use{kind: k.Kind}
	patch, rank, limit, end := "", len(pathNames), -1, -1
	if i := space(args, 0); i < len(args) && args[i] != '{' {
		patch = string(args)
	}
	for m := scan(args); m.next(); {
		v := m.value
		switch {
		case k.Patch != "" && (string(m.key) == k.Patch || string(m.key) == "patch"):
			patch = unquote(v)
		case k.Command != "" && string(m.key) == k.Command:
			if kind, ok := k.Commands[unquote(v)]; ok {
				u.kind = kind
			}
		case k.Path != "" && string(m.key) == k.Path && v[0] == '"':
			u.file = s.path(v)
		case k.Path == "" && v[0] == '"' && m.is(pathNames):
			if i := m.rank(pathNames); i <= rank {
				rank, u.file = i, s.path(v)
			}
			if k.pathOnly && m.at < len(args) {
				u.sure = true
				return u // what follows may be long
			}
		case k.Kind == kindRun && m.is(commandNames):
			u.target = v
		case k.Kind != kindRead && k.Command == "":
			u.odd = true // nobody asks for its lines
		case m.named(k.Start, startNames):
			n, ok := number(v)
			u.lines.first, u.odd = n, u.odd || !ok || n < 0
		case m.named(k.Limit, limitNames):
			n, ok := number(v)
			limit, u.odd = n, u.odd || !ok || n < 0
		case m.named(k.End, endNames):
			n, ok := number(v)
			end, u.odd = n, u.odd || !ok || n < -1
		case m.is(rangeNames):
			first, last, ok := pairOf(v)
			u.lines.first, end, u.odd = first, last, u.odd || !ok
		case !m.is(proseNames):
			u.odd = true
		}
	}
	if k.Patch != "" {
		if files := patchFiles(patch); len(files) == 1 {
			u.file = cleanPath(files[0])
		}
	}
	u.lines.ends(limit, end, k.Lines)
	return u
}

// path reads the path that is the value of an argument, a string.
func (s *sight) path(v []byte) string {
	p, ok := s.paths[string(v)]
	if !ok {
		as := string(v)
		if len(as) < 2 || strings.IndexByte(as, '\\') >= 0 {
			p = unquote(v)
		} else {
			p = as[1 : len(as)-1]
		}
		p = cleanPath(p)
		s.paths[as] = p
	}
	return p
}

// ends works out where a read stops; -1 is not given.
func (l *span) ends(limit, end, most int) {
	switch {
	case end >= 0:
		l.sure, l.last = end, end
	case limit >= 0:
		l.sure, l.last = l.first+limit-1, l.first+limit-1
	case most < 0:
		l.sure, l.last = math.MaxInt, math.MaxInt
	default:
		if most == 0 {
			most = defaultLines
		}
		l.sure, l.last = l.first+most-1, math.MaxInt
	}
}

// pairOf reads [first, last].
func pairOf(v []byte) (first, last int, ok bool) {
	v = bytes.TrimSpace(v)
	if len(v) < 2 || v[0] != '[' {
		return 0, 0, false
	}
	a, b, found := bytes.Cut(v[1:len(v)-1], []byte(","))
	first, ok1 := number(bytes.TrimSpace(a))
	last, ok2 := number(bytes.TrimSpace(b))
	return first, last, found && ok1 && ok2 && first >= 0 && last >= -1
}
