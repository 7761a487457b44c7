// Package benchdata makes request bodies for benchmarks and tests: invented, but
// with the proportions of real agent sessions. The same size gives the same
// bytes on every machine.
package benchdata

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
)

// Anthropic returns a Messages API body of about size bytes, at least the fixed
// head and one turn. Each turn is a user's or a model's text, thinking, one to
// three parallel calls and, in the next message, their results. Quotes are about
// 4 % of the bytes and backslashes about 6 %, as in sessions full of JSON output.
func Anthropic(size int) []byte {
	w := writer{rng: rand.New(rand.NewPCG(1, 2))}
	w.out = make([]byte, 0, size+size/8+64<<10)
	w.raw(`{"model":"claude-sonnet-4-5","max_tokens":8192,"stream":true,"temperature":0.7,"system":[{"type":"text","text":`)
	w.quote(w.text(w.prose, 3000))
	w.raw(`,"cache_control":{"type":"ephemeral"}}],"tools":[`)
	for i, name := range tools {
		if i > 0 {
			w.raw(",")
		}
		w.raw(`{"name":"` + name + `","description":`)
		w.quote(w.text(w.prose, 600))
		w.raw(`,"input_schema":{"type":"object","properties":{"path":{"type":"string","description":"Absolute path"},` +
			`"limit":{"type":"integer","minimum":0,"default":2000},"content":{"type":"string"}},"required":["path"],"additionalProperties":false}}`)
	}
	w.raw(`],"messages":[{"role":"user","content":`)
	w.quote(w.text(w.prose, 400))
	w.raw("}")
	for done := false; !done; done = len(w.out) >= size {
		w.turn()
	}
	w.raw("]}")
	return w.out
}

var tools = []string{"Read", "Write", "Edit", "Bash", "Grep", "Glob", "WebFetch", "Task"}

// A writer appends a body; text is built in buf and quoted from there.
type writer struct {
	rng   *rand.Rand
	out   []byte
	buf   []byte
	calls int
	ascii bool // quote as clients do that write everything beyond ASCII as \u
}

func (w *writer) raw(s string) { w.out = append(w.out, s...) }

// turn appends an assistant message and the user message that answers its calls.
func (w *writer) turn() {
	w.ascii = w.rng.IntN(16) == 0
	w.raw(`,{"role":"assistant","content":[{"type":"thinking","thinking":`)
	w.quote(w.text(w.prose, 100+w.rng.IntN(900)))
	w.raw(`,"signature":"` + strings.Repeat("EqQBCkYIBxgCKkD9", 20) + `"},{"type":"text","text":`)
	w.quote(w.text(w.prose, 40+w.rng.IntN(300)))
	w.raw("}")
	first := w.calls
	for range 1 + w.rng.IntN(3) {
		w.raw(fmt.Sprintf(`,{"type":"tool_use","id":"toolu_%024d","name":%q,"input":{"path":"/src/pkg%d/file_%d.go","limit":%d,"content":`,
			w.calls, tools[w.rng.IntN(len(tools))], w.rng.IntN(40), w.rng.IntN(900), w.rng.IntN(3000)))
		w.quote(w.text(w.code, 50+w.rng.IntN(500)))
		w.raw("}}")
		w.calls++
	}
	w.raw(`]},{"role":"user","content":[`)
	for id := first; id < w.calls; id++ {
		if id > first {
			w.raw(",")
		}
		w.raw(fmt.Sprintf(`{"type":"tool_result","tool_use_id":"toolu_%024d","is_error":%t,"content":[{"type":"text","text":`, id, w.rng.IntN(12) == 0))
		kind := [...]func(){w.code, w.json, w.log, w.prose, w.json, w.log, w.prose}[w.rng.IntN(7)]
		w.quote(w.text(kind, 500+w.rng.IntN(19_500)))
		w.raw("}]}")
	}
	w.raw("]}")
}

// text calls line until n bytes are there. They are good until the next call.
func (w *writer) text(line func(), n int) []byte {
	w.buf = w.buf[:0]
	for len(w.buf) < n {
		line()
	}
	return w.buf
}

var words = strings.Fields(`the request reads a file and returns its first lines before parser fails with an error
in handler because context was cancelled while waiting for response so we should retry after closing connection
token budget message index block result function value pointer buffer scanner naïve café größer 設定 ファイル → ✓ 🚀`)

// word prefers the start of the list, because ASCII words are much more common.
func (w *writer) word() string {
	n := len(words)
	if w.rng.IntN(8) > 0 {
		n -= 8
	}
	return words[w.rng.IntN(n)]
}

func (w *writer) prose() {
	for range 8 + w.rng.IntN(10) {
		w.buf = append(append(w.buf, w.word()...), ' ')
	}
	w.buf = append(w.buf[:len(w.buf)-1], ".\n"...)
}

func (w *writer) code() {
	name, other := w.word(), w.word()
	indent := "\t\t\t"[:w.rng.IntN(4)]
	switch w.rng.IntN(4) {
	case 0:
		w.buf = fmt.Appendf(w.buf, "%sif %s := read(%s); %s != nil && n < %d {\n", indent, name, other, name, w.rng.IntN(99))
	case 1:
		w.buf = fmt.Appendf(w.buf, "%sreturn fmt.Errorf(\"%s %s: %%w\\n\", err)\n", indent, name, other)
	case 2:
		w.buf = fmt.Appendf(w.buf, "%s// %s the %s of %s before it leaves\n", indent, name, other, w.word())
	default:
		w.buf = fmt.Appendf(w.buf, "%s%s[\"%s\"] = append(%s, %d)\n\n", indent, name, other, other, w.rng.IntN(999))
	}
}

// json appends the output of a tool that prints JSON, some of it with JSON in a string.
func (w *writer) json() {
	if w.rng.IntN(12) == 0 {
		w.buf = fmt.Appendf(w.buf, `{"id": %d, "event": "%s", "body": "{\"name\": \"%s\", \"path\": \"C:\\\\%s\", \"ok\": true}\n"}`+"\n",
			w.rng.IntN(1e6), w.word(), w.word(), w.word())
		return
	}
	w.buf = fmt.Appendf(w.buf, "  {\"%s\": \"%s %s\", \"line\": %d, \"note\": \"%s %s %s %s\"},\n",
		w.word(), w.word(), w.word(), w.rng.IntN(5000), w.word(), w.word(), w.word(), w.word())
}

func (w *writer) log() {
	level := [...]string{"INFO", "WARN", "\x1b[31mERROR\x1b[0m"}[min(w.rng.IntN(12)/5, 2)]
	w.buf = fmt.Appendf(w.buf, "2026-01-%02dT%02d:%02d:%02d.%03dZ %s [worker-%d] %s %s %s duration=%dms\n",
		1+w.rng.IntN(28), w.rng.IntN(24), w.rng.IntN(60), w.rng.IntN(60), w.rng.IntN(1000), level, w.rng.IntN(16), w.word(), w.word(), w.word(), w.rng.IntN(9000))
}

// quote appends text as a JSON string.
func (w *writer) quote(text []byte) {
	w.out = append(w.out, '"')
	for _, r := range string(text) {
		switch {
		case r == '"' || r == '\\':
			w.out = append(w.out, '\\', byte(r))
		case r == '\n':
			w.out = append(w.out, `\n`...)
		case r == '\t':
			w.out = append(w.out, `\t`...)
		case r < ' ' || r > '~' && w.ascii:
			for _, u := range utf16.AppendRune(nil, r) {
				w.out = fmt.Appendf(w.out, `\u%04x`, u)
			}
		default:
			w.out = append(w.out, string(r)...)
		}
	}
	w.out = append(w.out, '"')
}
