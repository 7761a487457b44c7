package wire

import (
	"fmt"
	"strings"

	"github.com/pare-llm/pare/transcript"
)

// A Dialect is a wire shape. The zero value asks for detection.
type Dialect uint8

const (
	Auto Dialect = iota
	Anthropic
	OpenAIChat
	OpenAIResponses
	Gemini
	Bedrock
)

var dialectNames = [...]string{"auto", "anthropic", "openai-chat", "openai-responses", "gemini", "bedrock"}

func (d Dialect) String() string { return dialectNames[d] }

// Dialects returns all dialects.
func Dialects() []Dialect {
	return []Dialect{Anthropic, OpenAIChat, OpenAIResponses, Gemini, Bedrock}
}

// ParseDialect returns the dialect of that name.
func ParseDialect(name string) (Dialect, error) {
	for _, d := range Dialects() {
		if d.String() == name {
			return d, nil
		}
	}
	return Auto, fmt.Errorf("unknown dialect %q; the dialects are %s", name, strings.Join(dialectNames[1:], ", "))
}

// list returns the name of the field that holds the history.
func (d Dialect) list() string {
	switch d {
	case OpenAIResponses:
		return "input"
	case Gemini:
		return "contents"
	}
	return "messages"
}

// role returns the role of that name, or Unknown.
func (d Dialect) role(name string) transcript.Role {
	switch name {
	case "user":
		return transcript.User
	case "assistant":
		if d != Gemini {
			return transcript.Assistant
		}
	case "model":
		if d == Gemini {
			return transcript.Assistant
		}
	case "system":
		if d != Gemini && d != Bedrock {
			return transcript.System
		}
	case "developer":
		if d == OpenAIChat || d == OpenAIResponses {
			return transcript.System
		}
	case "tool":
		if d == OpenAIChat {
			return transcript.Tool
		}
	case "function":
		switch d {
		case OpenAIChat:
			return transcript.Tool
		case Gemini:
			return transcript.User
		}
	}
	return transcript.Unknown
}
