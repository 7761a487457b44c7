package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/pare-llm/pare"
)

// guard calls a callback and returns its panic as a fault, or nil.
func guard(part string, call func()) (fault *pare.FaultError) {
	defer func() {
		if p := recover(); p != nil {
			f := faultFromPanic(p)
			fault = &pare.FaultError{Part: part, Err: f.Err, Stack: f.Stack}
		}
	}()
	call()
	return nil
}

// planningPart is the part to blame for panics outside of callbacks.
const planningPart = "a part of planning"

// faultFromPanic returns a recovered panic as a fault.
func faultFromPanic(p any) *pare.FaultError {
	if f, ok := p.(*pare.FaultError); ok {
		return f
	}
	return &pare.FaultError{Part: planningPart, Err: fmt.Errorf("it panicked: %v", p), Stack: debug.Stack()}
}

// withFault returns the result of a plan that failed.
func (o planResult) withFault(err error) planResult {
	o = o.withSkip(skipError, err.Error())
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return o // canceled: no part has failed
	}
	fault := &pare.FaultError{Part: planningPart, Err: err}
	errors.As(err, &fault)
	o.faults = append(slices.Clip(o.faults), fault)
	return o
}

// withoutCallbacks returns a policy without the functions that programs and configurations
// provide: rules, counter, sink, stub texts, summarizer and order. The archive stays.
func withoutCallbacks(p *pare.Policy) *pare.Policy {
	bare := *p
	bare.Rules, bare.Compact, bare.Sink, bare.Counter, bare.Repair.Stub = nil, nil, nil, nil, nil
	if p.Window != nil {
		w := *p.Window
		w.Rules, w.ColdRules, w.Priority, w.Cache = nil, nil, nil, nil
		bare.Window = &w
	}
	return &bare
}

// callback calls a function of the caller. If it panics, the record and the log name it, and the
// request continues.
func (x *exchange) callback(part string, do func()) (ok bool) {
	fault := guard(part, do)
	x.transport.recordFaults(&x.record, fault)
	return fault == nil
}

// recordFaults adds faults to a record and to the log.
func (t *Transport) recordFaults(rec *Record, faults ...*pare.FaultError) {
	for _, f := range faults {
		if f == nil {
			continue
		}
		if !slices.Contains(rec.Faults, f.Part) {
			rec.Faults = append(slices.Clip(rec.Faults), f.Part)
		}
		name := f.Part
		if name == planningPart {
			name += ": " + f.Err.Error() // which may be anything
		}
		if t.faults.first(name) {
			t.log().Error(f.Part+" failed, and is left out", "id", rec.ID, "error", f.Err, "stack", string(f.Stack))
		}
	}
}

// loggedFaults is the set of faults that were logged, so that the log has each of them once. A
// nil set remembers nothing.
type loggedFaults struct {
	mu    sync.Mutex
	named map[string]bool
}

// maxFaults bounds the set, because texts of panics can be arbitrary.
const maxFaults = 1000

// first adds a fault and reports whether it is new.
func (f *loggedFaults) first(part string) bool {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.named[part] || len(f.named) == maxFaults {
		return false
	}
	if f.named == nil {
		f.named = make(map[string]bool)
	}
	f.named[part] = true
	return true
}

// forget clears the set, for another policy.
func (f *loggedFaults) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.named)
}

// secret returns the secret of an access key, if it is known.
func (t *Transport) secret(came *http.Request, accessKey string) (secret string, ok bool) {
	if t.Secret == nil {
		return "", false
	}
	// Without a secret, the request keeps its signature.
	t.recordFaults(&Record{}, guard("callback Secret", func() { secret, ok = t.Secret(came, accessKey) }))
	return secret, ok
}
