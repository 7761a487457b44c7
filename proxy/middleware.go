package proxy

import "net/http"

// Middleware returns a [Transport] as middleware for the Go SDKs of Anthropic and OpenAI
// (option.WithMiddleware). t may be nil; its Base is not used. It runs inside of the SDK's
// retries, once per attempt, and does not change the request that the SDK retries.
func Middleware(t *Transport) func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	var with Transport
	if t != nil {
		with = *t
	}
	with.faults = new(loggedFaults)
	return func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		one := with
		one.Base = roundTripFunc(next)
		return one.RoundTrip(req)
	}
}

// A roundTripFunc is a function that sends a request.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
