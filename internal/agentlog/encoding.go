package agentlog

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/pare-llm/pare/wire"
)

// encodingRule is the damage of invalid UTF-8 in a line that is otherwise JSON.
const encodingRule = "broken-encoding"

// replacesBytesNote explains why invalid UTF-8 is harmless to some agents.
const replacesBytesNote = "the agent reads a replacement character in their place"

// replacementChar is the character that JavaScript decodes invalid UTF-8 to.
var replacementChar = []byte("\uFFFD")

// An invalidRun is a run of invalid UTF-8 and the place of its replacement character.
type invalidRun struct {
	at    int // of the replacement, in the decoded bytes
	size  int // of the invalid bytes
	line  int
	shift int // offset in the file minus offset in the decoded bytes, for everything after it
}

// decodeInvalid replaces invalid UTF-8 in lines, or in a document, that become valid JSON this way.
// Other lines stay as they are. It returns nil if nothing was replaced.
func decodeInvalid(raw []byte) ([]byte, []invalidRun) {
	if utf8.Valid(raw) {
		return nil, nil
	}
	if out, all := replaceInvalid(nil, raw, 0, nil); len(all) > 0 {
		if _, ok := soleValue(out); ok {
			for i, line, at := 0, 1, 0; i < len(all); i++ {
				line += bytes.Count(out[at:all[i].at], []byte{'\n'})
				at, all[i].line = all[i].at, line
			}
			return out, all
		}
	}
	var out []byte
	var all []invalidRun
	line, done := 0, 0
	for at, end := range lines(raw) {
		line++
		if utf8.Valid(raw[at:end]) {
			continue
		}
		text, _ := replaceInvalid(nil, raw[at:end], line, nil)
		if slices.ContainsFunc(valuesOf(text), func(v value) bool { return !v.ok || text[v.span.Start] != '{' }) {
			continue
		}
		out = append(out, raw[done:at]...)
		out, all = replaceInvalid(out, raw[at:end], line, all)
		done = end
	}
	if all == nil {
		return nil, nil
	}
	return append(out, raw[done:]...), all
}

// replaceInvalid appends text to out with a replacement character for each run of invalid UTF-8.
func replaceInvalid(out, text []byte, line int, all []invalidRun) ([]byte, []invalidRun) {
	for len(text) > 0 {
		n := indexInvalid(text)
		out, text = append(out, text[:n]...), text[n:]
		bad := 0
		for bad < len(text) {
			if r, size := utf8.DecodeRune(text[bad:]); r != utf8.RuneError || size > 1 {
				break
			}
			bad++
		}
		if bad > 0 {
			all = append(all, invalidRun{at: len(out), size: bad, line: line})
			out, text = append(out, replacementChar...), text[bad:]
		}
	}
	return out, all
}

// indexInvalid returns the offset of the first invalid byte, or the length of text.
func indexInvalid(text []byte) int {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// readDecoded reads a file with invalid UTF-8 again after decoding it. It returns l itself if all
// bytes are valid.
func (l *Log) readDecoded(spec formatSpec) *Log {
	if len(l.damage) == 0 { // all lines were read
		return l
	}
	text, patches := decodeInvalid(l.raw)
	if patches == nil {
		return l
	}
	shift := 0
	for i := range patches {
		shift += patches[i].size - len(replacementChar)
		patches[i].shift = shift
	}
	repeated := newLog(l.Format, newSource(l.name, text, l.options))
	repeated.original, repeated.patches = l.raw, patches
	repeated.reader.read(repeated)
	line := 0
	for _, p := range patches {
		if p.line == line { // one finding per line
			continue
		}
		line = p.line
		repeated.damageAt(p.at, line, encodingRule)
		if spec.lenientUTF8 {
			repeated.markHarmless(replacesBytesNote)
		}
	}
	return repeated
}

// originalOffset converts an offset in the decoded bytes to one in the file.
func (l *Log) originalOffset(offset int) int {
	i, _ := slices.BinarySearchFunc(l.patches, offset, func(p invalidRun, at int) int { return cmp.Compare(p.at, at) })
	if i == 0 {
		return offset
	}
	return offset + l.patches[i-1].shift
}

// beginDecodedFix returns the starting point of a fix with decoded bytes. If the agent decodes them
// itself, no repair is needed, and the file changes only for other reasons.
func (l *Log) beginDecodedFix(kept *Fixed, cur *Log, o Options) (next Fixed, bare *Log) {
	next, bare = *kept, cur
	if l.patches == nil || o.AppendOnly {
		return next, bare
	}
	e := &edits{file: l}
	for i := 0; i < len(l.patches); {
		line, n, bytes := l.patches[i].line, 0, 0
		for ; i < len(l.patches) && l.patches[i].line == line; i++ {
			n, bytes = n+l.patches[i].size, bytes+len(replacementChar)-l.patches[i].size
		}
		e.addChange(Change{Line: line, Change: wire.Change{Action: wire.ActionEdit, Rule: encodingRule, Bytes: bytes}}, "bytes that are no UTF-8 become a replacement character (%d in this line)", n)
	}
	next.Raw, next.Changes = l.raw, append(slices.Clip(kept.Changes), e.changes...)
	if r, _ := l.Format.spec(); r.lenientUTF8 {
		return next, bare
	}
	*kept = next
	without := *cur
	without.damage = slices.DeleteFunc(slices.Clone(cur.damage), func(f Finding) bool { return f.Rule == encodingRule })
	return next, &without
}

// keepEncoding restores the invalid bytes after an append-only fix, which keeps every byte.
func (l *Log) keepEncoding(kept *Fixed, o Options) {
	if l.patches != nil && o.AppendOnly && bytes.HasPrefix(kept.Raw, l.raw) {
		kept.Raw = slices.Concat(l.original, kept.Raw[len(l.raw):])
	}
}
