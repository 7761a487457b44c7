// Command c is Pare as a C library; pare.h says how it is called. It is built with
// -buildmode=c-shared.
package main

/*
#include <stdlib.h>
#include "pare.h"

static inline long long callCount(pare_callbacks *c, char *text, size_t len) { return c->count(c->user, text, len); }
static inline char *callRule(pare_callbacks *c, char *in, size_t len, size_t *n) { return c->rule(c->user, in, len, n); }
static inline char *callSummarize(pare_callbacks *c, char *in, size_t len, size_t *n) { return c->summarize(c->user, in, len, n); }
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/pare-llm/pare/internal/engine"
)

func main() {} // a library has none, and the Go tool wants one

// pareGoCall does a call, in memory of the caller's.
//
//export pareGoCall
func pareGoCall(call, body *C.char, bodyLen C.size_t, options *C.char, optionsLen C.size_t, cb *C.pare_callbacks, result *C.pare_result) C.int {
	r, err := engine.Call(C.GoString(call), borrow(body, bodyLen), borrow(options, optionsLen), callbacks(cb))
	if err != nil {
		var e *engine.Error
		if !errors.As(err, &e) {
			e = &engine.Error{Type: "failed", Message: err.Error()}
		}
		result.error, result.error_len = lend(e.JSON())
		return 1
	}
	result.body, result.body_len = lend(r.Body)
	result.report, result.report_len = lend(r.Report)
	return 0
}

// borrow reads memory of the caller's without a copy.
func borrow(p *C.char, n C.size_t) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n)) }

// lend copies into memory that the caller frees, with a zero byte behind it.
func lend(b []byte) (*C.char, C.size_t) {
	if b == nil {
		return nil, 0
	}
	p := C.malloc(C.size_t(len(b) + 1))
	to := unsafe.Slice((*byte)(p), len(b)+1)
	copy(to, b)
	to[len(b)] = 0
	return (*C.char)(p), C.size_t(len(b))
}

var errCallback = errors.New("it returned an error")

func callbacks(cb *C.pare_callbacks) (c engine.Callbacks) {
	if cb == nil {
		return c
	}
	if cb.count != nil {
		c.Count = func(text []byte) (int, error) {
			n := C.callCount(cb, bytesOf(text), C.size_t(len(text)))
			if n < 0 {
				return 0, errCallback
			}
			return int(n), nil
		}
	}
	if cb.rule != nil {
		c.Rule = func(in []byte) ([]byte, error) {
			var n C.size_t
			return taken(C.callRule(cb, bytesOf(in), C.size_t(len(in)), &n), n)
		}
	}
	if cb.summarize != nil {
		c.Summarize = func(in []byte) ([]byte, error) {
			var n C.size_t
			return taken(C.callSummarize(cb, bytesOf(in), C.size_t(len(in)), &n), n)
		}
	}
	return c
}

// bytesOf is where bytes lie, for as long as a callback runs.
func bytesOf(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

// taken is the answer of a callback, whose memory is freed.
func taken(p *C.char, n C.size_t) ([]byte, error) {
	if p == nil {
		return nil, errCallback
	}
	defer C.free(unsafe.Pointer(p))
	return append([]byte{}, borrow(p, n)...), nil
}
