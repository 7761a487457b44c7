package main

import (
	"net/http"
	"os"
	"time"

	"github.com/pare-llm/pare/paretest"
)

type mockCmd struct {
	Listen     string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where to listen: HOST:PORT, or a port of this machine; 0 picks a free one. Default: 127.0.0.1:0."`
	Strict     bool   `help:"Also refuse what any vendor would refuse."`
	MaxTokens  *int   `placeholder:"N" help:"Refuse a history of more than N tokens, as pare count estimates them. Default: no limit."`
	RequireKey bool   `help:"Refuse requests without the headers that the provider wants: a key, and anthropic-version. Any key will do."`
	Record     string `placeholder:"FILE" help:"Append every request to FILE as a line of JSON: method, path, headers without keys, body as base64."`
}

func (*mockCmd) listensFirst() {}

// Help returns the detailed help of the command.
func (c *mockCmd) Help() string {
	return `For example:

    pare mock --listen 127.0.0.1:8899
    pare mock --max-tokens 100000 --record requests.jsonl

Point a client at it: ANTHROPIC_BASE_URL=http://127.0.0.1:8899, with any key. It answers
on the providers' own paths in the shape of their APIs: Anthropic Messages,
OpenAI Chat Completions and Responses, Gemini and its interactions, Bedrock Converse and
InvokeModel; in one piece, or streamed when asked. A history that the provider would
refuse gets the provider's status, body and sentence, and one that is too long its
overflow error. The first line on standard error says where it listens. Ctrl-C or
SIGTERM ends it when all requests have been answered, and a second one at once.`
}

func (c *mockCmd) run(env *environment) int {
	if err := checkPositive("--max-tokens", c.MaxTokens); err != nil {
		return env.failUsage(err, "mock")
	}
	m := &paretest.Mock{Strict: c.Strict, MaxTokens: valueOrZero(c.MaxTokens), RequireKey: c.RequireKey, Unpack: proxyx.Unpack}
	if c.Record != "" {
		if err := env.claimOutput("--record", c.Record); err != nil {
			return env.failUsage(err, "mock")
		}
		// Recorded requests contain conversations, so only the user may read them.
		f, err := os.OpenFile(c.Record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return env.fail(err.Error(), "")
		}
		defer f.Close()
		m.Record = f
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // the JavaScript SDK of AWS uses HTTP/2
	return env.serveUntilSignal(c.Listen, server, 10*time.Second)
}
