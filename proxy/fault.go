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

// guard calls a function of the caller's and returns its panic as an error, or nil.
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

// planning is the part to blame for a panic that belongs to nothing of the caller's.
const planningPart = "a part of planning"

// panicked puts a name to a panic.
func faultFromPanic(p any) *pare.FaultError {
	if f, ok := p.(*pare.FaultError); ok {
		return f
	}
	return &pare.FaultError{Part: planningPart, Err: fmt.Errorf("it panicked: %v", p), Stack: debug.Stack()}
}

// blaming is the outcome of a plan that failed.
func (o planResult) withFault(err error) planResult {
	o = o.withSkip(skipError, err.Error())
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return o // nobody has failed
	}
	fault := &pare.FaultError{Part: planningPart, Err: err}
	errors.As(err, &fault)
	o.faults = append(slices.Clip(o.faults), fault)
	return o
}

// withoutCode is a policy without what programs and configurations put into one: rules, a
// counter, a sink, words for stubs, a summarizer, an order of their own. What is removed is
// archived as before.
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

// call calls a function of the caller's. One that panics ends neither the request nor the
// program: the record and the log name it.
func (x *exchange) callback(part string, do func()) (ok bool) {
	fault := guard(part, do)
	x.transport.recordFaults(&x.record, fault)
	return fault == nil
}

// blame names what failed, and was done without, in the record of a request and in the log.
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

// faults are the names of what has failed, so that the log has each of them once and not with
// every request. Many goroutines may use it; nil remembers nothing.
type loggedFaults struct {
	mu    sync.Mutex
	named map[string]bool
}

// maxFaults bounds the names: those of panics may have anything in them.
const maxFaults = 1000

// first reports whether a name is new.
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

// forget begins again, for another policy.
func (f *loggedFaults) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.named)
}

// secret is that of an access key, if it is known.
func (t *Transport) secret(came *http.Request, accessKey string) (secret string, ok bool) {
	if t.Secret == nil {
		return "", false
	}
	// Without it the request goes on as it was signed.
	t.recordFaults(&Record{}, guard("callback Secret", func() { secret, ok = t.Secret(came, accessKey) }))
	return secret, ok
}
