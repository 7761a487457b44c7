package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A Line is an item as a line of JSON, with what is known of where it is from. The bytes
// of the item stand in it as they are, under "raw", for the id is made from them. Those
// that take several lines are put on one, and "exact" has the true bytes, in base64. Many
// goroutines may read it.
type Line struct {
	Item
	Archive string // the name of all items that a note in the history stands for; "": none does
	Source  string // the file it is from; "": there is only one
	Number  int    // its line there; zero: it is not one of many
}

type head struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Archive string `json:"archive,omitempty"`
	Source  string `json:"source,omitempty"`
	Line    int    `json:"line,omitempty"`
	Exact   []byte `json:"exact,omitempty"`
}

// mark is how every line begins.
var mark = []byte(`{"id":"` + prefix)

// ErrNoArchive is the error for a file that is none.
var ErrNoArchive = errors.New("it exists already and is no archive")

// Append appends the line, with its end.
func (l Line) Append(dst []byte) []byte {
	h := head{l.ID, l.Path, l.Archive, l.Source, l.Number, nil}
	raw := l.Raw
	if bytes.ContainsAny(raw, "\r\n") {
		h.Exact, raw = raw, jsonspan.OneLine(raw)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		panic(err) // our own type
	}
	dst = append(dst, bytes.TrimRight(b.Bytes(), "}\n")...)
	dst = append(append(dst, `,"raw":`...), raw...)
	return append(dst, '}', '\n')
}

// readable reports whether bytes can stand in a line: they are JSON.
func readable(raw []byte) bool {
	var s jsonspan.Scanner
	s.Reset(raw, jsonspan.Strict)
	s.Skip()
	s.End()
	return s.Err() == nil
}

// ParseLine reads a line, and compares the bytes with the id.
func ParseLine(line []byte) (Line, error) {
	if !bytes.HasPrefix(line, mark) {
		return Line{}, ErrNoArchive
	}
	var in struct {
		head
		Raw json.RawMessage `json:"raw"`
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return Line{}, fmt.Errorf("line of an archive: %w", err)
	}
	raw := []byte(in.Raw)
	if in.Exact != nil {
		raw = in.Exact
	}
	if !names(in.ID, raw) {
		return Line{}, fmt.Errorf("line of an archive: %s is not the id of its bytes", in.ID)
	}
	return Line{Item{in.ID, in.Path, raw}, in.Archive, in.Source, in.Line}, nil
}
