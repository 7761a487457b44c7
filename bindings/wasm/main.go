//go:build js && wasm

// Command wasm is Pare for JavaScript: it leaves a function pareCall with its host, which
// bindings/js makes a module of.
package main

import (
	"errors"
	"syscall/js"

	"github.com/pare-llm/pare/internal/engine"
)

func main() {
	js.Global().Set("pareCall", js.FuncOf(call))
	select {}
}

// body is where bodies lie: memory that was grown once is not given back anyway.
var body []byte

// call is pareCall(name, body, options, callbacks): a name, a Uint8Array, JSON or "", an object with the
// functions count, rule and summarize or undefined. It returns [body, report, error], each undefined
// if there is none.
func call(_ js.Value, args []js.Value) any {
	n := args[1].Get("length").Int()
	if cap(body) < n {
		body = make([]byte, n)
	}
	body = body[:n]
	js.CopyBytesToGo(body, args[1])
	r, err := engine.Call(args[0].String(), body, []byte(args[2].String()), callbacks(args[3]))
	if err != nil {
		var e *engine.Error
		if !errors.As(err, &e) {
			e = &engine.Error{Type: "failed", Message: err.Error()}
		}
		return []any{js.Undefined(), js.Undefined(), string(e.JSON())}
	}
	return []any{bytesOut(r.Body), text(r.Report), js.Undefined()}
}

func bytesOut(b []byte) js.Value {
	if b == nil {
		return js.Undefined()
	}
	out := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(out, b)
	return out
}

func text(b []byte) js.Value {
	if b == nil {
		return js.Undefined()
	}
	return js.ValueOf(string(b))
}

// callbacks are functions of the caller's. One that fails returns undefined, and its caller knows why: an
// exception would end the program.
func callbacks(of js.Value) (c engine.Callbacks) {
	if of.Type() != js.TypeObject {
		return c
	}
	if f := of.Get("count"); f.Type() == js.TypeFunction {
		c.Count = func(text []byte) (int, error) {
			if n := f.Invoke(string(text)); n.Type() == js.TypeNumber {
				return n.Int(), nil
			}
			return 0, errCallback
		}
	}
	ask := func(name string) func([]byte) ([]byte, error) {
		f := of.Get(name)
		if f.Type() != js.TypeFunction {
			return nil
		}
		return func(in []byte) ([]byte, error) {
			if out := f.Invoke(string(in)); out.Type() == js.TypeString {
				return []byte(out.String()), nil
			}
			return nil, errCallback
		}
	}
	c.Rule, c.Summarize = ask("rule"), ask("summarize")
	return c
}

var errCallback = errors.New("it threw an exception")
