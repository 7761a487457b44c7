package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/pare-llm/pare/wire"
)

// writeRefusal answers a request in the place of its upstream, in the shape of that vendor's own
// errors: for those who let in only some of the requests.
func writeRefusal(w http.ResponseWriter, r *http.Request, status int, message string) {
	name, path := route(r)
	writeError(w, name, path, status, message)
}

// errorDialect returns the vendor whose form of errors the client expects.
func errorDialect(upstream, path string) string {
	switch upstream {
	case "anthropic", "openai", "gemini", "bedrock":
		return upstream
	}
	d, _ := wire.ParseURL(path)
	return d.String()
}

// writeError writes an error in the form that the client's SDK understands.
func writeError(w http.ResponseWriter, upstream, path string, status int, message string) {
	var body any
	switch errorDialect(upstream, path) {
	case "anthropic":
		kind := "api_error"
		switch {
		case status == http.StatusUnauthorized:
			kind = "authentication_error"
		case status < 500:
			kind = "invalid_request_error"
		}
		body = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
	case "gemini", "gemini-interactions":
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
		w.Header().Set("X-Amzn-Errortype", awsError(status)) // SDKs take it for the kind of an error
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

// awsError returns the AWS error type for a status.
func awsError(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "AccessDeniedException"
	case status == http.StatusNotFound:
		return "ResourceNotFoundException"
	case status < 500:
		return "ValidationException"
	}
	return "ServiceUnavailableException"
}
