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
type toolTrait struct {
	Tool
	name            string // as it is written
	key             string // in lower case
	isProtected     bool
	onlyPathMatters bool // nothing but the path is ever asked for
}

// known is a tool's name, looked up in a history.
type numberedTool struct {
	*toolTrait
	number int // names that differ in case only have the same
}

// A guard is a scope made ready, once for all histories.
type compiledScope struct {
	Scope
	ownTools       map[string]Tool // those of the scope, by name in lower case
	protectedNames []nameSet       // what is protected: the standard names, and those of the scope

	traitCache   sync.Map     // by name as it is written: they are the same in every history
	cachedTraits atomic.Int32 // how many of them there are
}

// mostTraits bounds what is kept of names, which anybody may make up.
const mostTraits = 1 << 10

// trait looks a name up.
func (g *compiledScope) lookUpTrait(name string) *toolTrait {
	if t, ok := g.traitCache.Load(name); ok {
		return t.(*toolTrait)
	}
	t := &toolTrait{name: strings.Clone(name), key: strings.ToLower(name)}
	var own bool
	if t.Tool, own = g.ownTools[t.key]; !own {
		t.Tool = standardTools()[t.key]
	}
	if t.Kind == "" {
		t.Kind = kindOther
	}
	t.onlyPathMatters = (t.Kind == kindWrite || t.Kind == kindEdit) && t.Command == "" && t.Patch == ""
	t.isProtected = name == "" || slices.ContainsFunc(g.protectedNames, func(n nameSet) bool { return n.contains(t.key) })
	if len(name) <= 128 && g.cachedTraits.Load() < mostTraits {
		g.cachedTraits.Add(1)
		g.traitCache.Store(t.name, t)
	}
	return t
}

func (s Scope) compile() *compiledScope {
	return &compiledScope{Scope: s, ownTools: toolsByName(s.Table), protectedNames: []nameSet{standardNames(), namesOf(s.ProtectTools)}}
}

// A program makes a guard for each rule whenever it starts; what all of them have in common is made once.
var (
	standardTools = sync.OnceValue(func() map[string]Tool { return toolsByName(knownTools) })
	standardNames = sync.OnceValue(func() nameSet { return namesOf(protectedTools) })
)

func toolsByName(list []Tool) map[string]Tool {
	known := make(map[string]Tool, len(list))
	for _, t := range list {
		known[strings.ToLower(t.Name)] = t
	}
	return known
}

// toolNames are names of tools, in lower case, and globs, which are no plain names.
type nameSet struct {
	exact map[string]bool
	globs []string
}

func namesOf(list []string) nameSet {
	n := nameSet{exact: make(map[string]bool, len(list))}
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
func (n nameSet) contains(key string) bool {
	return n.exact[key] || slices.ContainsFunc(n.globs, func(glob string) bool { return matchTool(glob, key) })
}

// A sight is what a rule sees of one history.
type historyView struct {
	*compiledScope
	r              *wire.Request
	t              *transcript.Transcript
	tools          map[string]*numberedTool // by name as it is written
	toolNumbers    map[string]int
	recentTools    [64]*numberedTool // those that were looked up last, by the length and the ends of their names
	argumentBuffer []byte            // of the call that was looked at last
	textBuffer     []byte            // of the result that was looked at last
	pathCache      map[string]string // cleaned, by how they are written: a few files are named again and again

	arena stringArena // that rules word
}

func (g *compiledScope) view(r *wire.Request) *historyView {
	return &historyView{compiledScope: g, r: r, t: r.Transcript(), tools: make(map[string]*numberedTool), toolNumbers: make(map[string]int), pathCache: make(map[string]string)}
}

func (s *historyView) lookUpTool(name string) *numberedTool {
	// A few tools are called, or asked for, again and again.
	at := len(name)
	if at > 0 {
		at += 5*int(name[0]) + int(name[at-1])
	}
	near := &s.recentTools[at%len(s.recentTools)]
	if k := *near; k != nil && k.name == name {
		return k
	}
	if k, ok := s.tools[name]; ok {
		*near = k
		return k
	}
	k := &numberedTool{toolTrait: s.lookUpTrait(name)}
	n, ok := s.toolNumbers[k.key]
	if !ok {
		n = len(s.toolNumbers)
		s.toolNumbers[k.key] = n
	}
	k.number = n
	s.tools[name] = k
	return k
}

// whole reports whether an exchange is complete and the client's own.
func isWholeExchange(x *transcript.Exchange) bool {
	return x.State == transcript.Whole && !x.Server && x.Call != transcript.NoBlock && len(x.Results) == 1
}

// exchanges yields what may count for or against something: whole exchanges of
// tools that are not protected. The index is that of the transcript.
func (s *historyView) eachExchange(yield func(i int, x *transcript.Exchange) bool) {
	all := s.t.Exchanges()
	for i := range all {
		if x := &all[i]; isWholeExchange(x) && !s.lookUpTool(x.Tool).isProtected && !yield(i, x) {
			return
		}
	}
}

// message returns the message of an exchange's call.
func (s *historyView) callMessage(i int) int { return s.t.Block(s.t.Exchanges()[i].Call).Message }

// spared reports whether an exchange may not be touched: it is one of the last, or
// its file is protected.
func (s *historyView) isSpared(i int, file string) bool {
	return i >= len(s.t.Exchanges())-s.KeepLast || s.isProtectedFile(file)
}

// guards reports whether a file is protected.
func (s *historyView) isProtectedFile(file string) bool {
	return file != "" && slices.ContainsFunc(s.ProtectPaths, func(g string) bool { return matchPath(g, file) })
}

// A use is what a call asks for.
type callUse struct {
	kind              string
	file              string // "" if it names none, or several
	target            []byte // what it runs, as it is written; good until the next call is looked at
	lines             lineRange
	hasOtherArguments bool // there are arguments that may change what is read
	isCleared         bool // the arguments have been cleared
	isPathFinal       bool // the file was read to its end and something follows
}

// A span is the lines of a read, both ends included. Where a tool stops by itself
// is not known exactly: it shows all up to sure and nothing behind last.
type lineRange struct{ first, sureEnd, lastPossible int }

// use reads the arguments of a call. Those that have been cleared say nothing.
func (s *historyView) parseCall(k *numberedTool, args []byte) callUse {
	if isClearedArguments(args) {
		return callUse{kind: k.Kind, isCleared: true}
	}
	return s.parseArguments(k, args)
}

// readUse reads arguments as they are.
func (s *historyView) parseArguments(k *numberedTool, args []byte) callUse {
	u := callUse{kind: k.Kind}
	patch, rank, limit, end := "", len(pathNames), -1, -1
	if i := skipSpace(args, 0); i < len(args) && args[i] != '{' {
		patch = string(args)
	}
	for m := scanMembers(args); m.next(); {
		v := m.value
		switch {
		case k.Patch != "" && (string(m.key) == k.Patch || string(m.key) == "patch"):
			patch = unquoteString(v)
		case k.Command != "" && string(m.key) == k.Command:
			if kind, ok := k.Commands[unquoteString(v)]; ok {
				u.kind = kind
			}
		case k.Path != "" && string(m.key) == k.Path && v[0] == '"':
			u.file = s.cleanedPath(v)
		case k.Path == "" && v[0] == '"' && m.isOneOf(pathNames):
			if i := m.rank(pathNames); i <= rank {
				rank, u.file = i, s.cleanedPath(v)
			}
			if k.onlyPathMatters && m.at < len(args) {
				u.isPathFinal = true
				return u // what follows may be long
			}
		case k.Kind == kindRun && m.isOneOf(commandNames):
			u.target = v
		case k.Kind != kindRead && k.Command == "":
			u.hasOtherArguments = true // nobody asks for its lines
		case m.isNamed(k.Start, startNames):
			n, ok := parseLineNumber(v)
			u.lines.first, u.hasOtherArguments = n, u.hasOtherArguments || !ok || n < 0
		case m.isNamed(k.Limit, limitNames):
			n, ok := parseLineNumber(v)
			limit, u.hasOtherArguments = n, u.hasOtherArguments || !ok || n < 0
		case m.isNamed(k.End, endNames):
			n, ok := parseLineNumber(v)
			end, u.hasOtherArguments = n, u.hasOtherArguments || !ok || n < -1
		case m.isOneOf(rangeNames):
			first, last, ok := parseRange(v)
			u.lines.first, end, u.hasOtherArguments = first, last, u.hasOtherArguments || !ok
		case !m.isOneOf(proseNames):
			u.hasOtherArguments = true
		}
	}
	if k.Patch != "" {
		if files := patchFiles(patch); len(files) == 1 {
			u.file = cleanPath(files[0])
		}
	}
	u.lines.setEnd(limit, end, k.Lines)
	return u
}

// path reads the path that is the value of an argument, a string.
func (s *historyView) cleanedPath(v []byte) string {
	p, ok := s.pathCache[string(v)]
	if !ok {
		as := string(v)
		if len(as) < 2 || strings.IndexByte(as, '\\') >= 0 {
			p = unquoteString(v)
		} else {
			p = as[1 : len(as)-1]
		}
		p = cleanPath(p)
		s.pathCache[as] = p
	}
	return p
}

// ends works out where a read stops; -1 is not given.
func (l *lineRange) setEnd(limit, end, most int) {
	switch {
	case end >= 0:
		l.sureEnd, l.lastPossible = end, end
	case limit >= 0:
		l.sureEnd, l.lastPossible = l.first+limit-1, l.first+limit-1
	case most < 0:
		l.sureEnd, l.lastPossible = math.MaxInt, math.MaxInt
	default:
		if most == 0 {
			most = defaultLines
		}
		l.sureEnd, l.lastPossible = l.first+most-1, math.MaxInt
	}
}

// pairOf reads [first, last].
func parseRange(v []byte) (first, last int, ok bool) {
	v = bytes.TrimSpace(v)
	if len(v) < 2 || v[0] != '[' {
		return 0, 0, false
	}
	a, b, found := bytes.Cut(v[1:len(v)-1], []byte(","))
	first, ok1 := parseLineNumber(bytes.TrimSpace(a))
	last, ok2 := parseLineNumber(bytes.TrimSpace(b))
	return first, last, found && ok1 && ok2 && first >= 0 && last >= -1
}
