// Package proxy stands between a client and the provider of a model: it reads the history
// of a request, repairs what the provider would refuse, makes it fit the window of the
// model, and sends it on. A request with nothing to repair leaves byte for byte as it came,
// and replies are never touched but for the headers that say what was done.
//
// There are three ways in, all with the same engine below:
//
//   - [Transport] is an http.RoundTripper, for any Go client that takes an http.Client;
//   - [Middleware] has the shape that the SDKs of Anthropic and OpenAI take;
//   - [Handler] is a server for clients in any language: it knows which path belongs to
//     which provider.
//
// Whatever is in doubt goes on as it came: see [Record.Skipped]. What happened to a request is a
// [Record].
package proxy
