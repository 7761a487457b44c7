package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// makers are the first words of models, by who makes them.
var modelPrefixes = map[string][]string{
	"Anthropic": {"claude"},
	"Google":    {"gemini"},
	"OpenAI":    {"gpt", "o1", "o3", "o4", "chatgpt", "codex"},
}

// own are the dialects that are one maker's. Others are spoken by many, and so is that of a gateway, where
// models have the name of their maker in front: openai/gpt-5.
var dialectMakers = map[wire.Dialect]string{wire.Anthropic: "Anthropic", wire.Gemini: "Google", wire.GeminiInteractions: "Google", wire.OpenAIResponses: "OpenAI"}

// madeBy is the maker of a model of which the plain name is given; "": it is not known.
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

// takes is an error if a request is to go to a model that does not speak its dialect, with what it holds that
// would have to be translated.
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

// rename makes a request, or what stands around one, name another model where it names one.
func replaceModel(d wire.Dialect, object []byte, model string) ([]byte, error) {
	if len(object) == 0 || wirex.ModelInURL(d) {
		return object, nil
	}
	if _, named := jsonedit.Find(object, "model"); !named {
		return object, nil
	}
	return setMember(object, "model", jsonedit.Quote(model))
}

// modelChanges is an error if a session cannot go on with another model.
func (s *Store) checkModelChange(ctx context.Context, key Key, model string) error {
	session, err := s.Session(ctx, key)
	if err != nil || model == session.Model || makerOf(model) == "" {
		return err
	}
	_, _, r, _, err := s.readWindow(ctx, key, WindowOptions{})
	if err != nil {
		return nil // it has no messages, or they cannot be read: that is told where they are sent
	}
	return checkModelSpeaksDialect(r, model)
}

// renamed makes what goes around the messages of a session name its new model, unless it is changed as well.
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
