package benchdata

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// A Shape is the dialect of a dense body.
type Shape uint8

const (
	Messages  Shape = iota // Anthropic's Messages API
	Chat                   // OpenAI's Chat Completions
	Responses              // OpenAI's Responses
)

func (s Shape) String() string { return [...]string{"anthropic", "openai-chat", "openai-responses"}[s] }

// Shapes are all of them.
var Shapes = []Shape{Messages, Chat, Responses}

// Dense returns a body of about size bytes that has much to index: some 340 messages for
// each megabyte in the Messages API, ids drawn at random, and one to five parallel calls
// whose results have 0.6 to 20 KB, most of them few. Quotes are about 4 % of the bytes and
// backslashes about 6 %.
func Dense(shape Shape, size int) []byte {
	w := dense{writer: writer{rng: rand.New(rand.NewPCG(3, 4)), out: make([]byte, 0, size+size/8+64<<10)}, shape: shape}
	w.head()
	for done := false; !done; done = len(w.out) >= size {
		w.exchange()
	}
	w.raw("]}")
	return w.out
}

type dense struct {
	writer
	shape Shape
}

func (w *dense) head() {
	ask := `{"role":"user","content":`
	switch w.shape {
	case Messages:
		w.raw(`{"model":"claude-sonnet-4-5","max_tokens":8192,"system":"You are a careful engineer.","messages":[`)
	case Chat:
		w.raw(`{"model":"gpt-4.1","messages":[{"role":"system","content":"You are a careful engineer."},`)
	case Responses:
		w.raw(`{"model":"gpt-4.1","instructions":"You are a careful engineer.","input":[`)
		ask = `{"type":"message","role":"user","content":`
	}
	w.raw(ask)
	w.quote(w.text(w.prose, 400))
	w.raw("}")
}

// exchange appends the assistant's text and calls, and the results.
func (w *dense) exchange() {
	ids := make([]string, 1+min(w.rng.IntN(5), w.rng.IntN(5)))
	for i := range ids {
		ids[i] = w.id()
	}
	switch w.shape {
	case Messages:
		w.raw(`,{"role":"assistant","content":[{"type":"text","text":`)
		w.quote(w.text(w.prose, 40+w.rng.IntN(200)))
		w.raw("}")
	case Chat:
		w.raw(`,{"role":"assistant","content":`)
		w.quote(w.text(w.prose, 40+w.rng.IntN(200)))
		w.raw(`,"tool_calls":[`)
	case Responses:
		w.raw(`,{"type":"message","role":"assistant","content":[{"type":"output_text","text":`)
		w.quote(w.text(w.prose, 40+w.rng.IntN(200)))
		w.raw("}]}")
	}
	for i, id := range ids {
		w.call(i, id)
	}
	switch w.shape {
	case Messages:
		w.raw(`]},{"role":"user","content":[`)
	case Chat:
		w.raw("]}")
	}
	for i, id := range ids {
		w.result(i, id)
	}
	if w.shape == Messages {
		w.raw("]}")
	}
}

func (w *dense) call(i int, id string) {
	name, path, limit := tools[w.rng.IntN(len(tools))], fmt.Sprintf("/src/pkg%d/file_%d.go", w.rng.IntN(8), w.rng.IntN(30)), w.rng.IntN(3000)
	switch w.shape {
	case Messages:
		w.raw(fmt.Sprintf(`,{"type":"tool_use","id":"toolu_%s","name":%q,"input":{"path":%q,"limit":%d}}`, id, name, path, limit))
	case Chat:
		if i > 0 {
			w.raw(",")
		}
		w.raw(fmt.Sprintf(`{"id":"call_%s","type":"function","function":{"name":%q,"arguments":"{\"path\":\"%s\",\"limit\":%d}"}}`, id, name, path, limit))
	case Responses:
		w.raw(fmt.Sprintf(`,{"type":"function_call","call_id":"call_%s","name":%q,"arguments":"{\"path\":\"%s\",\"limit\":%d}"}`, id, name, path, limit))
	}
}

func (w *dense) result(i int, id string) {
	w.ascii = w.rng.IntN(16) == 0
	// Most results are short: the size is spread evenly over its logarithm, twice.
	u := w.rng.Float64() * w.rng.Float64()
	text := w.text([...]func(){w.code, w.json, w.log, w.prose, w.json, w.log, w.prose, w.code, w.prose}[w.rng.IntN(9)], int(650*math.Pow(30, u)))
	switch w.shape {
	case Messages:
		if i > 0 {
			w.raw(",")
		}
		w.raw(`{"type":"tool_result","tool_use_id":"toolu_` + id + `","content":`)
	case Chat:
		w.raw(`,{"role":"tool","tool_call_id":"call_` + id + `","content":`)
	case Responses:
		w.raw(`,{"type":"function_call_output","call_id":"call_` + id + `","output":`)
	}
	w.quote(text)
	w.raw("}")
}

// id returns 22 letters and digits.
func (w *dense) id() string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 22)
	for i := range id {
		id[i] = alphabet[w.rng.IntN(len(alphabet))]
	}
	return string(id)
}
