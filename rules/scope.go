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

// Scope holds the options that all removing rules share.
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

// Modes of the removing rules.
const (
	// modeClear, the default, replaces content by a placeholder.
	modeClear = "clear"
	// modeDrop removes the exchange.
	modeDrop = "drop"
	// modeArguments, of error-purging only, clears the arguments and keeps the result.
	modeArguments = "arguments"
)

// toolTrait holds the properties of a tool's name.
type toolTrait struct {
	Tool
	name            string // as written
	key             string // in lower case
	isProtected     bool
	onlyPathMatters bool // a write or an edit: only the path is needed
}

// numberedTool is a tool that a history calls.
type numberedTool struct {
	*toolTrait
	number int // equal for names that differ only in case
}

// compiledScope is a scope prepared for use with all histories.
type compiledScope struct {
	Scope
	ownTools       map[string]Tool // those of the scope, by name in lower case
	protectedNames []nameSet       // what is protected: the standard names, and those of the scope

	traitCache   sync.Map     // by name as it is written: they are the same in every history
	cachedTraits atomic.Int32 // how many of them there are
}

// mostTraits bounds traitCache, because requests may contain any names.
const mostTraits = 1 << 10

// lookUpTrait returns the properties of a name.
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

// nameSet is a set of tool names, in lower case, and globs.
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

// contains reports whether a name in lower case matches.
func (n nameSet) contains(key string) bool {
	return n.exact[key] || slices.ContainsFunc(n.globs, func(glob string) bool { return matchTool(glob, key) })
}

// historyView is the view that a rule has of one history. It caches lookups.
type historyView struct {
	*compiledScope
	r              *wire.Request
	t              *transcript.Transcript
	tools          map[string]*numberedTool // by name as it is written
	toolNumbers    map[string]int
	recentTools    [64]*numberedTool // the latest lookups, by length, first and last byte of the name
	argumentBuffer []byte            // of the call that was looked at last
	textBuffer     []byte            // of the result that was looked at last
	pathCache      map[string]string // cleaned, by how they are written: a few files are named again and again

	arena stringArena // that rules word
}

func (g *compiledScope) view(r *wire.Request) *historyView {
	return &historyView{compiledScope: g, r: r, t: r.Transcript(), tools: make(map[string]*numberedTool), toolNumbers: make(map[string]int), pathCache: make(map[string]string)}
}

func (s *historyView) lookUpTool(name string) *numberedTool {
	// The same few tools are looked up again and again.
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

// isWholeExchange reports whether an exchange is complete and run by the client.
func isWholeExchange(x *transcript.Exchange) bool {
	return x.State == transcript.Whole && !x.Server && x.Call != transcript.NoBlock && len(x.Results) == 1
}

// eachExchange yields the whole exchanges of unprotected tools, with their index in the transcript.
func (s *historyView) eachExchange(yield func(i int, x *transcript.Exchange) bool) {
	all := s.t.Exchanges()
	for i := range all {
		if x := &all[i]; isWholeExchange(x) && !s.lookUpTool(x.Tool).isProtected && !yield(i, x) {
			return
		}
	}
}

// callMessage returns the index of the message with an exchange's call.
func (s *historyView) callMessage(i int) int { return s.t.Block(s.t.Exchanges()[i].Call).Message }

// isSpared reports whether an exchange is one of the last KeepLast, or its file is protected.
func (s *historyView) isSpared(i int, file string) bool {
	return i >= len(s.t.Exchanges())-s.KeepLast || s.isProtectedFile(file)
}

// isProtectedFile reports whether a file is protected.
func (s *historyView) isProtectedFile(file string) bool {
	return file != "" && slices.ContainsFunc(s.ProtectPaths, func(g string) bool { return matchPath(g, file) })
}

// callUse describes what a call asks for.
type callUse struct {
	kind              string
	file              string // "" if it names none, or several
	target            []byte // what it runs, as it is written; good until the next call is looked at
	lines             lineRange
	hasOtherArguments bool // there are arguments that may change what is read
	isCleared         bool // the arguments have been cleared
	isPathFinal       bool // the file was read to its end and something follows
}

// lineRange is the lines of a read, both ends included. If a tool stops at a limit of its own, the
// exact end is unknown: the read shows all lines up to sureEnd and none after lastPossible.
type lineRange struct{ first, sureEnd, lastPossible int }

// parseCall parses the arguments of a call, unless they have been cleared.
func (s *historyView) parseCall(k *numberedTool, args []byte) callUse {
	if isClearedArguments(args) {
		return callUse{kind: k.Kind, isCleared: true}
	}
	return s.parseArguments(k, args)
}

// parseArguments parses arguments, including cleared ones.
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
			u.hasOtherArguments = true // other tools are not asked for lines of a file
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

// cleanedPath returns the cleaned path in a JSON string.
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

// setEnd sets the end of a read from its arguments and the tool's own limit; -1 is an absent
// argument.
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

// parseRange parses [first, last].
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
