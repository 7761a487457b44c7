package replay

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A need is a call for which the model has been told something earlier: it asks for
// the same again, or it edits a file that it was shown. Sources are the blocks that
// told it, each of them enough.
type need struct {
	edit    bool
	sources []transcript.BlockID
}

// needs lists those of a history, by the message they stand in.
func needs(r *wire.Request) map[int][]need {
	t := r.Transcript()
	all := make(map[int][]need)
	m := memory{told: make(map[string][]answer), changed: make(map[string]int), lastChange: -1, shown: make(map[string][]transcript.BlockID)}
	for i, x := range t.Exchanges() {
		if x.State != transcript.Whole || x.Server || x.Call == transcript.NoBlock || len(x.Results) != 1 {
			continue
		}
		q := ask(t, x)
		at := t.Block(x.Call).Message
		failed := t.Block(x.Results[0]).Failed
		if q.kind == rules.KindWrite || q.kind == rules.KindEdit {
			if seen := m.shown[q.file]; q.kind == rules.KindEdit && len(seen) > 0 {
				all[at] = append(all[at], need{true, slices.Clip(seen)})
			}
			if q.kind == rules.KindWrite && !failed && q.file != "" {
				m.shown[q.file] = append(m.shown[q.file], x.Call) // it wrote the text itself
			}
			m.changed[q.file], m.lastChange = i, i
			continue
		}
		if again := m.recall(&q); len(again) > 0 {
			all[at] = append(all[at], need{false, again})
		}
		if !failed {
			m.keep(&q, answer{x.Results[0], i})
		}
	}
	return all
}

// A question is what a call asks for.
type question struct {
	kind  rules.Kind
	exact string // the tool and its arguments
	file  string // "" if it names none
	whole bool   // nothing but the file is named
}

func ask(t *transcript.Transcript, x transcript.Exchange) question {
	tool := kinds()[strings.ToLower(x.Tool)]
	args := wire.Canonical(wire.Arguments(t, x.Call))
	q := question{kind: tool.Kind, exact: x.Tool + "\x00" + string(args)}
	if command, ok := wire.Argument(t, x.Call, tool.Command); ok && tool.Commands[command] != "" {
		q.kind = tool.Commands[command]
	}
	for _, name := range append([]string{tool.Path}, pathNames...) {
		if file, ok := wire.Argument(t, x.Call, name); ok && file != "" {
			q.file = file
			break
		}
	}
	// One member and no more; a name with a colon only makes the file a part.
	q.whole = q.file != "" && bytes.Count(args, []byte(`":`)) == 1
	return q
}

// pathNames are the usual names of the argument that names a file.
var pathNames = []string{"file_path", "filePath", "path", "absolute_path", "target_file", "filename", "file"}

// kinds tells what tools do, by name in lower case.
var kinds = sync.OnceValue(func() map[string]rules.Tool {
	all := make(map[string]rules.Tool)
	for _, t := range rules.Table() {
		all[strings.ToLower(t.Name)] = t
	}
	return all
})

// A memory is what the model was told, and when that became old.
type memory struct {
	told       map[string][]answer
	changed    map[string]int                  // by file: the last exchange that changed it
	lastChange int                             // the last exchange that changed any
	shown      map[string][]transcript.BlockID // by file: what shows some of its text
}

// An answer is a result and the exchange that it belongs to.
type answer struct {
	result   transcript.BlockID
	exchange int
}

// recall returns the answers to a question that still hold: for a file that was
// read, since that file was changed; for all else, since any was.
func (m *memory) recall(q *question) (results []transcript.BlockID) {
	since := m.lastChange
	keys := []string{q.exact}
	if q.kind == rules.KindRead && q.file != "" {
		since = -1
		if at, ok := m.changed[q.file]; ok {
			since = at
		}
		keys = append(keys, readKey+q.file)
	}
	for _, key := range keys {
		for _, a := range m.told[key] {
			if a.exchange > since {
				results = append(results, a.result)
			}
		}
	}
	return results
}

func (m *memory) keep(q *question, a answer) {
	m.told[q.exact] = append(m.told[q.exact], a)
	if q.kind == rules.KindRead && q.file != "" {
		m.shown[q.file] = append(m.shown[q.file], a.result)
	}
	if q.kind == rules.KindRead && q.whole {
		m.told[readKey+q.file] = append(m.told[readKey+q.file], a)
	}
}

// readKey leads the keys of files that were read as a whole.
const readKey = "\x00"

// lost counts the needs none of whose sources is in sight, in full, in what is sent
// instead of the history.
func lost(whole *transcript.Transcript, v *view, all []need) (again, edits int) {
	for _, n := range all {
		switch {
		case v.showsAny(whole, n.sources):
		case n.edit:
			edits++
		default:
			again++
		}
	}
	return again, edits
}

// showsAny reports whether what one of some blocks of the history says is in sight. It compares
// what blocks say, because ids may be given anew: first where they should be, the latest of which
// is most likely to, then everywhere, which takes as long as there are blocks; a history has few
// that are needed again and gone.
func (v *view) showsAny(whole *transcript.Transcript, sources []transcript.BlockID) bool {
	sent := v.r.Transcript()
	for k := len(sources) - 1; k >= 0; k-- {
		m := whole.Block(sources[k]).Message
		for _, j := range [2]int{v.madeOf(m), m - (len(v.of.Transcript().Messages()) - v.n)} {
			if j >= 0 && j < v.n {
				if m := &sent.Messages()[j]; says(sent, sent.Blocks()[m.First:m.End], whole, sources[k:k+1]) {
					return true
				}
			}
		}
	}
	return says(sent, sent.Blocks(), whole, sources)
}

// says reports whether one of some blocks of what is sent says what one of the sources does.
func says(sent *transcript.Transcript, among []transcript.Block, whole *transcript.Transcript, sources []transcript.BlockID) bool {
	said, long := make([]transcript.Block, 0, 8), uint64(0)
	for _, s := range sources {
		is := whole.Block(s)
		said, long = append(said, is), long|1<<(uint(is.Body.Len())%64)
	}
	for i := range among {
		b := &among[i]
		if long>>(uint(b.Body.Len())%64)&1 == 0 {
			continue
		}
		for j := range said {
			if is := &said[j]; b.Kind == is.Kind && b.Body.Len() == is.Body.Len() && bytes.Equal(sent.Bytes(b.Body), whole.Bytes(is.Body)) {
				return true
			}
		}
	}
	return false
}
