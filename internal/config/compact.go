package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/summary"
)

// A Compaction says how what is taken out is summarized. Many goroutines may read it.
type Compaction struct {
	// Who writes the summary: "extract" (lines are copied out, no model is asked), "endpoint" (a model) or "archive" (nobody: a note names what the archive keeps). Default: extract, or endpoint if there is one.
	By string `json:"by,omitempty" enum:"extract,endpoint,archive"`
	// The API of the model that is to write the summary: its root, such as "https://api.openai.com". Default: none.
	Endpoint string `json:"endpoint,omitempty"`
	// The style of the API: "openai" or "anthropic". Default: openai.
	API string `json:"api,omitempty" enum:"openai,anthropic"`
	// The model that writes the summary. Default: none.
	Model string `json:"model,omitempty"`
	// The environment variable that holds the key of the API. Default: none, no key is sent.
	KeyEnv string `json:"key_env,omitempty"`
	// Let the conversation, and the key, go to another machine over http://, unencrypted. Default: false, only this machine may be asked so.
	PlainHTTP bool `json:"plain_http,omitempty"`
	// How many messages at the end stay at least. Default: 12.
	MinKeep int `json:"min_keep,omitempty" min:"1"`
	// If there is no other place, cut inside one unbroken run of tool use. Default: false.
	Inside bool `json:"inside,omitempty"`
	// Leave histories of at most so many tokens alone. Default: 0, none.
	Above int `json:"above,omitempty"`
	// How long a summary may be, in tokens. Default: 2000.
	MaxSummary int `json:"max_summary,omitempty" min:"1"`
	// How long to wait for a summary, such as "30s". Default: 2m.
	Timeout Duration `json:"timeout,omitempty"`
	// Summarize the user's first message, too; otherwise it stays before the summary. Default: false.
	FoldTask bool `json:"fold_task,omitempty"`
	// The share of all bytes that must be retained, in the summary or archived; otherwise nothing is done. Default: 0, no share.
	Conserve float64 `json:"conserve,omitempty" max:"1"`
}

// A Duration is a time written as Go does, such as "1m30s".
type Duration time.Duration

// MarshalText writes the shortest form that says the same.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *Duration) read(s *source, v *value, path string) {
	const hint = `write a time such as "30s" or "2m"`
	if v.kind != text {
		s.fail(path, hint, "%s is no time", s.shown(v))
		return
	}
	t, err := time.ParseDuration(v.text)
	switch {
	case err != nil:
		s.fail(path, hint, "%s is no time", s.shown(v))
	case t <= 0:
		s.fail(path, hint, "%s is too short", s.shown(v))
	default:
		*d = Duration(t)
	}
}

func (Duration) shape() (types []string, pattern string) { return []string{"string"}, "" }

// An Archive says where what is taken out is kept. Many goroutines may read it.
type Archive struct {
	// The file that keeps what is removed, a JSON line each; placeholders name the line. What it holds already stays.
	File string `json:"file" required:"\"removed.jsonl\""`
}

// checkFile reports an archive that has no name.
func (a *Archive) checkFile(s *source) {
	hint := "write " + s.assign("file", `"removed.jsonl"`)
	switch {
	case s.failed("archive.file"), s.failed("archive"):
	case s.has("archive.file"):
		s.fail("archive.file", hint, "an archive needs a name")
	default:
		s.fail("archive", hint, "file is missing")
	}
}

// A Stop says how far a conversation may go that passes through the proxy: what is above a limit is
// not sent, and the client is told so. Many goroutines may read it.
type Stop struct {
	// The limits, such as "95%" of the room in the window, "150000" tokens, "200 turns" of the person, or "$5" by list prices. Default: none.
	Above []string `json:"above,omitempty"`
}

// Limits are what Above says.
func (s *Stop) Limits() (all []fullness.Limit) {
	if s == nil {
		return nil
	}
	for _, text := range s.Above {
		if l, ok := fullness.ParseLimit(text); ok {
			all = append(all, l)
		}
	}
	return all
}

// checkLimits reports limits that nobody understands.
func (s *Stop) checkLimits(from *source) {
	for _, text := range s.Above {
		if _, ok := fullness.ParseLimit(text); !ok {
			from.fail("stop.above", `for example ["95%", "200 turns", "$5"]`, "%q is neither a share nor a number of tokens or turns, nor dollars", text)
		}
	}
}

// A Remember says how long the conversations that pass through the proxy are kept in the store.
// Many goroutines may read it.
type Remember struct {
	// How many days a conversation is kept that nobody goes on with. Default: 30.
	Days int `json:"days,omitempty" min:"1" max:"36500"`
	// How many megabytes all of them may have; the oldest go first. Default: 1000.
	MaxMegabytes int `json:"max_megabytes,omitempty" min:"1" max:"1000000"`
}

// Check says what counts as broken. Many goroutines may read it.
type Check struct {
	// Also check what any other vendor of the dialect would refuse. Default: false.
	Strict bool `json:"strict,omitempty"`
	// Report what providers accept although it costs quality or money, too. Default: false.
	Advice bool `json:"advice,omitempty"`
}

// by is who writes the summary.
func (c *Compaction) by() string {
	switch {
	case c.By == "" && c.Endpoint != "":
		return "endpoint"
	case c.By == "":
		return "extract"
	}
	return c.By
}

// compactor makes what the engine takes, without a summarizer, and reports what does
// not go together.
func (c *Compaction) compactor(s *source, archived bool) *pare.Compactor {
	s.choose("compact.by", c.By, "extract", "endpoint", "archive")
	s.choose("compact.api", c.API, "openai", "anthropic")
	s.atLeast("compact.min_keep", c.MinKeep, 0)
	s.atLeast("compact.above", c.Above, 0)
	s.atLeast("compact.max_summary", c.MaxSummary, 0)
	s.atLeast("compact.timeout", int(c.Timeout), 0)
	if !(c.Conserve >= 0 && c.Conserve <= 1) && !s.failed("compact.conserve") { // not a number is neither
		s.fail("compact.conserve", "write 0 to 1", "%v is no share", c.Conserve)
	}
	switch {
	case c.by() == "endpoint":
		c.checkEndpoint(s)
	case c.by() == "archive" && !archived:
		s.fail("compact.by", "write [archive] with file = \"removed.jsonl\", too", "without an archive, what is removed would be lost")
	}
	for _, o := range []struct{ key, value string }{{"endpoint", c.Endpoint}, {"api", c.API}, {"model", c.Model}, {"key_env", c.KeyEnv}} {
		if o.value != "" && c.by() != "endpoint" && !s.failed("compact.by") {
			s.failKey("compact."+o.key, "set "+s.assign("by", `"endpoint"`)+", or remove it", "%s is about a model that writes the summary", o.key)
		}
	}
	if c.PlainHTTP && c.by() != "endpoint" && !s.failed("compact.by") {
		s.failKey("compact.plain_http", "set "+s.assign("by", `"endpoint"`)+", or remove it", "plain_http is about a model that writes the summary")
	}
	if c.MaxSummary > 0 && c.by() == "archive" {
		s.failKey("compact.max_summary", "remove it", "there is no summary")
	}
	return &pare.Compactor{
		MinKeep: c.MinKeep, Inside: c.Inside, Above: c.Above, MaxTokens: c.MaxSummary, Timeout: time.Duration(c.Timeout),
		Options: pare.CompactOptions{FoldTask: c.FoldTask, MinConserved: c.Conserve},
	}
}

func (c *Compaction) checkEndpoint(s *source) {
	if c.Endpoint == "" && !s.failed("compact.endpoint") {
		s.fail("compact", "write "+s.assign("endpoint", `"https://api.openai.com"`), "endpoint is missing, which says whom to ask")
	}
	if c.Model == "" && !s.failed("compact.model") {
		s.fail("compact", "write "+s.assign("model", `"gpt-5-mini"`), "model is missing, which says whom to ask")
	}
	if c.Endpoint == "" || c.Model == "" {
		return
	}
	hint := "write the address of the API, such as \"https://api.openai.com\""
	_, err := c.endpoint("")
	if errors.Is(err, summary.ErrPlainHTTP) {
		hint = "write https://, or " + s.assign("plain_http", "true") + " if that network is yours"
	}
	if err != nil {
		s.fail("compact.endpoint", hint, "%s", unnamed(err))
	}
}

// unnamed is what an error of the endpoint's says: the key in front of it names it already.
func unnamed(err error) string { return strings.TrimPrefix(err.Error(), "endpoint: ") }

func (c *Compaction) endpoint(key string) (pare.Summarizer, error) {
	return summary.Endpoint(summary.EndpointOptions{URL: c.Endpoint, API: c.API, Model: c.Model, Key: key, PlainHTTP: c.PlainHTTP})
}

// summarizer finds who writes the summaries. Nil is for nobody.
func (c *Compaction) summarizer(s *source, getenv func(string) string) pare.Summarizer {
	switch c.by() {
	case "archive":
		return nil
	case "endpoint":
	default:
		return summary.Extract(summary.ExtractOptions{})
	}
	key := ""
	if c.KeyEnv != "" {
		if key = getenv(c.KeyEnv); key == "" {
			s.fail("compact.key_env", fmt.Sprintf("set %s, or remove it if the API wants no key", c.KeyEnv), "the environment variable %s is not set", c.KeyEnv)
		}
	}
	made, err := c.endpoint(key)
	if err != nil {
		s.fail("compact.endpoint", "", "%s", unnamed(err))
	}
	return made
}
