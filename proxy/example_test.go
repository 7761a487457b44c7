package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/pare-llm/pare/proxy"
)

// provider stands in for a provider that refuses calls without results.
func provider() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "tool_result") {
			http.Error(w, "tool_use ids were found without tool_result blocks", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, "answered")
	}))
}

// One line makes an http.Client safe, and with it every SDK that takes one.
func ExampleTransport() {
	api := provider()
	defer api.Close()
	client := &http.Client{Transport: &proxy.Transport{}}

	resp, err := client.Post(api.URL+"/v1/messages", "application/json", strings.NewReader(errorReader))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Println(string(text), resp.Header.Get("Pare-Rules"))
	// Output: answered orphan-call
}

// The SDKs of Anthropic and OpenAI take this by option.WithMiddleware.
func ExampleMiddleware() {
	api := provider()
	defer api.Close()
	middleware := proxy.Middleware(nil)

	req, _ := http.NewRequest("POST", api.URL+"/v1/messages", strings.NewReader(errorReader))
	resp, err := middleware(req, http.DefaultTransport.RoundTrip)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Println(string(text), resp.Header.Get("Pare-Rules"))
	// Output: answered orphan-call
}
