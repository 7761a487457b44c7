package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
)

// A sheet is a file of lines, each with its newline, and the places of its calls and results,
// the last one first.
type lineFile struct {
	lines          [][]byte
	calls, results []int
}

// sheetOf reads the session file below a folder, by the words that calls and results have.
func sheetOf(c *campaign, file, call, result string) (s lineFile, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return s, false
	}
	s.lines = slices.Collect(bytes.Lines(data))
	for i, line := range slices.Backward(s.lines) {
		var tight bytes.Buffer
		if !c.spoken(line) || json.Compact(&tight, line) != nil {
			continue
		}
		if bytes.Contains(tight.Bytes(), []byte(call)) {
			s.calls = append(s.calls, i)
		}
		if bytes.Contains(tight.Bytes(), []byte(result)) {
			s.results = append(s.results, i)
		}
	}
	return s, s.calls != nil && s.results != nil
}

// call and result are the last ones.
func (s lineFile) call() int   { return s.calls[0] }
func (s lineFile) result() int { return s.results[0] }

// without leaves a line out.
func (s lineFile) without(i int) [][]byte { return slices.Delete(slices.Clone(s.lines), i, i+1) }

// with inserts a line before another one.
func (s lineFile) with(i int, line []byte) [][]byte {
	return slices.Insert(slices.Clone(s.lines), i, line)
}

// instead replaces a line.
func (s lineFile) instead(i int, line []byte) [][]byte {
	return slices.Replace(slices.Clone(s.lines), i, i+1, line)
}

// half is the first half of a line, without a newline.
func half(line []byte) []byte { return slices.Clone(line[:len(line)/2]) }

// open is a line without its newline.
func open(line []byte) []byte { return bytes.TrimRight(slices.Clone(line), "\r\n") }

// lineDamages are those of a file of lines, by the words that calls and results have.
func lineDamages(call, result string) []damage {
	var all []damage
	for _, d := range []struct {
		name   string
		change func(s lineFile) [][]byte // nil: there is nothing to do it to
	}{
		{"result lost", func(s lineFile) [][]byte { return s.without(s.result()) }},
		{"earlier result lost", func(s lineFile) [][]byte {
			if len(s.results) < 2 {
				return nil
			}
			return s.without(s.results[1])
		}},
		{"call lost", func(s lineFile) [][]byte { return s.without(s.call()) }},
		{"cut off behind the call", func(s lineFile) [][]byte { return s.lines[:s.call()+1] }},
		{"result twice", func(s lineFile) [][]byte { return s.with(s.result(), s.lines[s.result()]) }},
		{"torn in the result", func(s lineFile) [][]byte { return append(s.lines[:s.result():s.result()], half(s.lines[s.result()])) }},
		{"result without its last byte", func(s lineFile) [][]byte {
			line := open(s.lines[s.result()])
			return s.instead(s.result(), append(line[:len(line)-1], '\n'))
		}},
		{"newline lost behind the call", func(s lineFile) [][]byte { return s.instead(s.call(), open(s.lines[s.call()])) }},
		{"torn line behind the call", func(s lineFile) [][]byte {
			return s.instead(s.call(), slices.Concat(open(s.lines[s.call()]), half(s.lines[s.result()]), []byte("\n")))
		}},
		{"call again at the end", func(s lineFile) [][]byte { return s.with(len(s.lines), s.lines[s.call()]) }},
		{"all twice", func(s lineFile) [][]byte { return append(slices.Clone(s.lines), s.lines...) }},
		{"all but the head twice", func(s lineFile) [][]byte { return append(slices.Clone(s.lines), s.lines[1:]...) }},
		{"head lost", func(s lineFile) [][]byte { return s.without(0) }},
		{"head torn", func(s lineFile) [][]byte { return s.instead(0, append(half(s.lines[0]), '\n')) }},
		{"head again in the middle", func(s lineFile) [][]byte { return s.with(s.call(), s.lines[0]) }},
		{"head of another session in the middle", func(s lineFile) [][]byte { return s.with(s.call(), elsewhere(s.lines[0])) }},
		{"other line ends", func(s lineFile) [][]byte {
			now := slices.Clone(s.lines)
			for i := range now {
				now[i] = append(open(now[i]), '\r', '\n')
			}
			return now
		}},
		{"bytes that are no text in the result", func(s lineFile) [][]byte { return s.instead(s.result(), invalidLine(s.lines[s.result()])) }},
		{"bytes that are no text in a prompt", func(s lineFile) [][]byte {
			i := slices.IndexFunc(s.lines[1:], func(line []byte) bool { return asked.Match(line) })
			if i < 0 {
				return nil
			}
			return s.instead(i+1, invalidLine(s.lines[i+1]))
		}},
		{"torn in a letter behind the call", func(s lineFile) [][]byte {
			return s.with(s.call()+1, append(half(s.lines[s.result()]), 0xc3, '\n'))
		}},
		{"zeros at the end", func(s lineFile) [][]byte { return s.with(len(s.lines), make([]byte, 600)) }},
		{"byte order mark", func(s lineFile) [][]byte { return s.with(0, mark) }},
		{"open call on another branch", func(s lineFile) [][]byte {
			fork := forked(s.lines[s.call()])
			if fork == nil {
				return nil
			}
			return s.with(s.call(), fork)
		}},
	} {
		all = append(all, damage{d.name, func(c *campaign, dir string) bool {
			file := c.newest(seat{dir: dir})
			s, ok := sheetOf(c, file, call, result)
			if !ok {
				return false
			}
			now := d.change(s)
			st, err := os.Stat(file)
			if now == nil || err != nil || os.WriteFile(file, bytes.Join(now, nil), 0o644) != nil {
				return false
			}
			return os.Chtimes(file, st.ModTime(), st.ModTime()) == nil
		}})
	}
	return all
}

// asked matches the user's prompts, in all formats.
var asked = regexp.MustCompile(`"(role|type)":"user(\.message)?".*"(text|content)":"prompt `)

// invalidLine returns a line with invalid UTF-8 after its first word.
func invalidLine(line []byte) []byte {
	at := marks.FindIndex(line)
	if at == nil {
		return nil
	}
	return slices.Concat(line[:at[1]], []byte{0xff, 0xfe}, line[at[1]:])
}

// uuids are the ids of lines and of sessions.
var uuids = regexp.MustCompile(`"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"`)

// elsewhere is a line with other uuids: that of another session.
func elsewhere(line []byte) []byte {
	return uuids.ReplaceAllFunc(line, func(id []byte) []byte {
		return append([]byte{'"', other(id[1])}, id[2:]...)
	})
}

// other is another digit of an id.
func other(digit byte) byte {
	if digit == 'f' {
		return 'e'
	}
	return 'f'
}

// forked is a line with a call as another branch holds it: it links to the same line, and its
// own id and those of its calls are others. nil: the lines of the file have no links.
func forked(line []byte) []byte {
	var o object
	if json.Unmarshal(line, &o) != nil {
		return nil
	}
	name, linked := "uuid", o["parentUuid"] != nil
	if !linked {
		name, linked = "id", o["parentId"] != nil
	}
	message, ok := o["message"].(object)
	blocks, _ := message["content"].([]any)
	if !linked || !ok {
		return nil
	}
	id, _ := o[name].(string)
	if id == "" {
		return nil
	}
	o[name] = string(other(id[0])) + id[1:]
	if _, ok := message["id"]; ok {
		message["id"] = "msg_other"
	}
	for _, b := range blocks {
		if block, ok := b.(object); ok && block["id"] != nil {
			block["id"] = "other_call"
		}
	}
	return append(raw(o), '\n')
}
