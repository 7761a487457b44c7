package proxy

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestRecordsTruncateLongTexts: what a client writes does not grow the records of a thousand requests,
// and a header that is no trace is not kept.
func TestRecordsTruncateLongTexts(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for in, want := range map[string]string{
		trace: trace, trace + "-more": trace, "": "", "sk-secret": "", "00-sk-secret0123456789abcdefghijklm-00f067aa0ba902b7-01": "",
		strings.ToUpper(trace): "", strings.ReplaceAll(trace, "-", "0"): "", strings.Repeat("-", 55): "",
	} {
		if got := traceparent(in); got != want {
			t.Errorf("traceparent %q is kept as %q", in, got)
		}
	}
	for _, long := range []string{strings.Repeat("m", 1<<20), strings.Repeat("é", 1<<20), strings.Repeat("x\xff", 1<<20)} {
		r := Record{Model: long, Path: "/" + long, Trace: long}
		r.truncate()
		if len(r.Model) > maxModelName || len(r.Path) > maxPath || r.Trace != "" {
			t.Errorf("%d, %d, %d bytes are kept", len(r.Model), len(r.Path), len(r.Trace))
		}
		if utf8.ValidString(long) && !utf8.ValidString(r.Model+r.Path) {
			t.Errorf("%q is cut inside a letter", r.Model)
		}
	}
	r := Record{Model: "claude-sonnet-4-5", Path: "/v1/messages", Trace: trace}
	if was := r; func() bool { r.truncate(); return r.Model != was.Model || r.Path != was.Path || r.Trace != was.Trace }() {
		t.Errorf("%+v is cut", r)
	}
}
