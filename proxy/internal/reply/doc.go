// Package reply reads what a model said in a reply of its provider. The result is a list of
// elements as the provider accepts them in the history of the next request.
//
// Each dialect has a format, which reads replies in one piece and replies that were streamed.
// The framing of a stream follows from its content type: server-sent events, the event stream
// of AWS, or a JSON list. Elements that the provider sends but rejects in a request, such as
// empty texts, are left out.
package reply
