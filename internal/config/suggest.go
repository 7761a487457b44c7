package config

import (
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/suggest"
)

// pick words a hint that names the choice closest to what was written, or else all
// of them.
func pick(written string, choices []string) string {
	if near := suggest.Nearest(written, choices); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return oneOf(choices)
}

// oneOf lists choices.
func oneOf(choices []string) string {
	switch len(choices) {
	case 0:
		return ""
	case 1:
		return "write " + quoted(choices)
	}
	return "write one of " + quoted(choices)
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(q, ", ")
}
