// Package proxy repairs requests to LLM providers while they are sent. It reads the history in a
// request, repairs everything that the provider would reject, fits it into the window of the model
// and forwards it. A request without findings is forwarded byte for byte; replies only get
// additional headers.
//
// There are three ways to use it:
//
//   - [Transport] is an http.RoundTripper for Go clients that take an http.Client;
//   - [Middleware] has the form that the SDKs of Anthropic and OpenAI take;
//   - [Handler] is a server for clients in any language.
//
// If anything is in doubt, the original request is sent; see [Record.Skipped]. If the provider
// refuses a request for a reason that Pare can avoid, the request is planned again and sent once
// more. A [Record] describes the result. All types may be used by multiple goroutines.
package proxy
