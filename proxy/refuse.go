package proxy

import (
	"encoding/json"
	"net/http"
)

// Refuse answers a request in the place of its upstream, in the shape of that vendor's own
// errors: for those who let in only some of the requests.
func Refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	name, _ := route(r)
	refuse(w, name, status, message)
}

// refuse answers in the place of an upstream, in the shape of its own errors, so that
// clients can show the sentence.
func refuse(w http.ResponseWriter, upstream string, status int, message string) {
	var body any
	switch upstream {
	case "anthropic":
		kind := "api_error"
		switch {
		case status == http.StatusUnauthorized:
			kind = "authentication_error"
		case status < 500:
			kind = "invalid_request_error"
		}
		body = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
	case "gemini":
		kind := "UNAVAILABLE"
		switch {
		case status == http.StatusUnauthorized:
			kind = "UNAUTHENTICATED"
		case status < 500:
			kind = "INVALID_ARGUMENT"
		}
		body = map[string]any{"error": map[string]any{"code": status, "message": message, "status": kind}}
	case "bedrock":
		body = map[string]any{"message": message}
	default:
		kind := "server_error"
		if status < 500 {
			kind = "invalid_request_error"
		}
		body = map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": nil}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and numbers
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}
