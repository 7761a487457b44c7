package proxy

import "strings"

// Limits for texts that come from outside, in bytes. There are thousands of records, and clients
// choose these texts.
const (
	maxModelName = 512 // of a model
	maxPath      = 2 << 10
)

// truncate shortens texts that come from outside.
func (r *Record) truncate() {
	r.Model, r.Path, r.Trace = truncate(r.Model, maxModelName), truncate(r.Path, maxPath), traceparent(r.Trace)
}

// truncate returns the beginning of a text as a copy, so that the rest does not stay in memory.
func truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}

// traceparent returns a valid traceparent, or "". Other contents of the header may be secret.
func traceparent(h string) string {
	const form = "00-00000000000000000000000000000000-0000000000000000-00"
	if len(h) < len(form) {
		return ""
	}
	for i := range form {
		if form[i] == '-' != (h[i] == '-') || !strings.ContainsRune("0123456789abcdef-", rune(h[i])) {
			return ""
		}
	}
	return h[:len(form)]
}
