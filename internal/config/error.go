package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Error is one thing that is wrong with a configuration. Many goroutines may read it.
type Error struct {
	File    string
	Line    int    // from 1; 0 if it is about no place in the file
	Column  int    // from 1, in characters
	Path    string // of the key, such as rules.recency.after.0; "" is the whole file
	Message string
	Hint    string // what to write instead; may be ""
}

// Error gives everything in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		b.WriteByte(':')
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", e.Line, e.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Errors is everything that is wrong with a configuration, in the order of the
// file. It is never empty.
type Errors []*Error

// Error gives one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first one.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, err := range e {
		all[i] = err
	}
	return all
}

// sorted puts errors into the order of the file and drops repetitions.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	seen := make(map[Error]bool)
	return slices.DeleteFunc(e, func(err *Error) bool {
		again := seen[*err]
		seen[*err] = true
		return again
	})
}
