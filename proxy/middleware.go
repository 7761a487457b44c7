package proxy

import "net/http"

// Middleware is a [Transport] in the shape that the Go SDKs of Anthropic and OpenAI take
// (option.WithMiddleware); t may be nil, and its Base is not used. It runs inside of their
// retries, once for each attempt, and leaves the request that they try again with as it is.
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

// A tripper is a function that sends a request.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
