package paretest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/pare-llm/pare/paretest"
)

// An agent lost the result of a call. The stand-in answers what the provider would.
func ExampleMock() {
	server := httptest.NewServer(&paretest.Mock{})
	defer server.Close()
	body := `{"model":"gpt-5.1","messages":[
		{"role":"user","content":"fix it"},
		{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"Read","arguments":"{}"}}]},
		{"role":"user","content":"go on"}]}`
	answer, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	fmt.Printf("%s\n%.115s…\n", answer.Status, said)
	// Output:
	// 400 Bad Request
	// {"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 't…
}
