package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// modelPrefixes are the prefixes of model names, by maker.
var modelPrefixes = map[string][]string{
	"Anthropic": {"claude"},
	"Google":    {"gemini"},
	"OpenAI":    {"gpt", "o1", "o3", "o4", "chatgpt", "codex"},
}

// dialectMakers are the makers of dialects with one maker. The other dialects are used by many, and
// gateways prefix models with their maker: openai/gpt-5.
var dialectMakers = map[wire.Dialect]string{wire.Anthropic: "Anthropic", wire.Gemini: "Google", wire.GeminiInteractions: "Google", wire.OpenAIResponses: "OpenAI"}

// makerOf returns the maker of a model without a gateway's prefix, or "" if it is unknown.
func makerOf(model string) string {
	m, _ := tokens.Lookup(model)
	name := strings.ToLower(model)
	if m.Prefix == "" || strings.Contains(name, "/") {
		return ""
	}
	for maker, words := range modelPrefixes {
		for _, w := range words {
			if strings.HasPrefix(name, w) && strings.HasPrefix(m.Prefix, w) {
				return maker
			}
		}
	}
	return ""
}

// checkModelSpeaksDialect returns an error if the model does not accept requests in the dialect of
// r. The error lists the parts that a conversion would have to translate.
func checkModelSpeaksDialect(r *wire.Request, model string) error {
	maker := makerOf(model)
	if of, ok := dialectMakers[r.Dialect]; !ok || maker == "" || maker == of {
		return nil
	}
	n := make(map[transcript.Kind]int)
	for _, b := range r.Transcript().Blocks() {
		n[b.Kind]++
	}
	var holds []string
	for _, k := range []struct {
		kind transcript.Kind
		what string
	}{{transcript.Call, "calls"}, {transcript.Result, "results"}, {transcript.Thinking, "blocks of reasoning, which only its own maker can read"}, {transcript.Media, "pictures or files"}} {
		if n[k.kind] > 0 {
			holds = append(holds, fmt.Sprintf("%d %s", n[k.kind], k.what))
		}
	}
	what := ""
	if len(holds) > 0 {
		what = "; what would not come along as it is: " + strings.Join(holds, ", ")
	}
	return fmt.Errorf("%w: %s does not speak %s, the dialect of the session%s; name a model that does, or begin a session in another dialect", ErrUsage, model, r.Dialect, what)
}

// replaceModel replaces the model in an object that names one.
func replaceModel(d wire.Dialect, object []byte, model string) ([]byte, error) {
	if len(object) == 0 || dialect.ModelInURL(d) {
		return object, nil
	}
	if _, named := jsonedit.Find(object, "model"); !named {
		return object, nil
	}
	return setMember(object, "model", jsonedit.Quote(model))
}

// checkModelChange returns an error if a session cannot continue with a model.
func (s *Store) checkModelChange(ctx context.Context, key Key, model string) error {
	session, err := s.Session(ctx, key)
	if err != nil || model == session.Model || makerOf(model) == "" {
		return err
	}
	_, _, r, _, err := s.readWindow(ctx, key, WindowOptions{})
	if err != nil {
		return nil
	}
	return checkModelSpeaksDialect(r, model)
}

// setModel changes the model, also in the base and settings unless c replaces them.
func (s *Session) setModel(c Update) error {
	d, err := s.dialect()
	if err != nil {
		return err
	}
	s.Model = *c.Model
	if c.Base == nil {
		if s.Base, err = replaceModel(d, s.Base, s.Model); err != nil {
			return err
		}
	}
	if c.Settings == nil {
		s.Settings, err = replaceModel(d, s.Settings, s.Model)
	}
	return err
}
