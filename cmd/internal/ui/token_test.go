package ui

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestDefectR7Token: without the token nobody gets anything, wherever it is left out.
func TestDefectR7Token(t *testing.T) {
	const token = "SECRETTOKEN"
	h := Handler(Live{Token: token, Load: func() (*Page, error) { return &Page{}, nil }})
	for path, want := range map[string]int{
		"/" + token + "/": 200, "/" + token + "/data.json": 200,
		"/": 403, "/data.json": 403, "/events": 403, "/SECRETTOKE/": 403, "/SECRETTOKENS/": 403, "/secrettoken/": 403, "//": 403, "/x/" + token + "/": 403, "/" + token + "x/data.json": 403,
		"/?token=" + token: 403, "/" + token + "/other": 404,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}
