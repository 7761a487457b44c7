package dialect

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/pare-llm/pare/transcript"
)

// A Dialect is a wire shape. The zero value asks for detection. Any number of
// goroutines may use it.
type Dialect uint8

const (
	Auto Dialect = iota
	Anthropic
	OpenAIChat
	OpenAIResponses
	Gemini
	Bedrock
	GeminiInteractions

	dialects // how many there are
)

// grammars has a row for each dialect. A new one needs its constant, its row here and
// in pens, and four files of its own: parse, check, write and rules.
var grammars = [dialects]*grammar{
	Auto:               {name: "auto"},
	Anthropic:          &anthropicGrammar,
	OpenAIChat:         &chatGrammar,
	OpenAIResponses:    &responsesGrammar,
	Gemini:             &geminiGrammar,
	Bedrock:            &bedrockGrammar,
	GeminiInteractions: &interactionsGrammar,
}

func (d Dialect) String() string { return grammars[d].name }

// Dialects returns all dialects.
func Dialects() []Dialect {
	var all []Dialect
	for d := Auto + 1; d < dialects; d++ {
		all = append(all, d)
	}
	return all
}

// dialectAliases are other names people use for a dialect: those of vendors that have one only.
var dialectAliases = map[string]Dialect{
	"claude": Anthropic, "anthropic-messages": Anthropic, "messages": Anthropic,
	"chat": OpenAIChat, "chat-completions": OpenAIChat, "responses": OpenAIResponses,
	"google": Gemini, "vertex": Gemini, "interactions": GeminiInteractions,
	"aws": Bedrock, "converse": Bedrock, "bedrock-converse": Bedrock,
}

// ParseDialect returns the dialect of that name, or of a vendor that has one only.
func ParseDialect(name string) (Dialect, error) {
	for _, d := range Dialects() {
		if d.String() == name {
			return d, nil
		}
	}
	if d, ok := dialectAliases[strings.ToLower(name)]; ok {
		return d, nil
	}
	var names []string
	for _, d := range Dialects() {
		names = append(names, d.String())
	}
	return Auto, fmt.Errorf("unknown dialect %q; the dialects are %s", name, strings.Join(names, ", "))
}

// List returns the member of a body that holds the history.
func (d Dialect) List() string { return grammars[d].list }

// modelInURL reports whether requests name their model in the URL and not in the body.
func (d Dialect) modelInURL() bool { return grammars[d].modelInURL }

// contextEdits reports whether a request can ask the provider to drop thinking that is bound
// to something else, and to clear old results by itself.
func (d Dialect) contextEdits() bool { return grammars[d].contextEdits }

// textMessage writes a message in which a role says text; that of Auto is one of OpenAIChat, which
// several others read, too.
func (d Dialect) textMessage(role transcript.Role, text string) []byte {
	if d == Auto {
		d = OpenAIChat
	}
	return grammars[d].textMessage(role, text)
}

// A vendor is a row of the table that maps model names to profiles. The first
// row with a matching pattern wins.
type vendor struct {
	name    string
	doc     string
	dialect []Dialect
	models  func() *regexp.Regexp // nil: never derived from a model's name
}

// pairsOnly is the profile that minds nothing but pairs.
const pairsOnly = "pairs"

// Vendors on each dialect. "other" is for models that no row knows: somebody's
// imitation of the dialect.
var vendors = []vendor{
	{"anthropic", "Claude on Anthropic's own API", []Dialect{Anthropic}, lazily(`claude|^$`)},
	{"deepseek", "DeepSeek, on its own API or behind a gateway", []Dialect{Anthropic, OpenAIChat, OpenAIResponses}, lazily(`deepseek`)},
	{"template", "open models behind a chat template (vLLM, llama.cpp, Ollama)", []Dialect{OpenAIChat}, lazily(`gguf|gemma|(mistral|mixtral|devstral|ministral|magistral).*-\d+b`)},
	{"mistral", "Mistral's hosted API", []Dialect{OpenAIChat}, lazily(`mistral|ministral|mixtral|codestral|pixtral|magistral|devstral`)},
	{"moonshot", "Moonshot's Kimi models", []Dialect{OpenAIChat}, lazily(`kimi|moonshot`)},
	{"minimax", "MiniMax models", []Dialect{OpenAIChat}, lazily(`minimax`)},
	{"groq", "models served by Groq", []Dialect{OpenAIChat}, lazily(`^groq/|-versatile$|-instant$`)},
	{"cerebras", "models served by Cerebras", []Dialect{OpenAIChat}, lazily(`^cerebras/`)},
	{"xai", "xAI's Grok models", []Dialect{OpenAIChat}, lazily(`grok`)},
	{"qwen", "Alibaba's Qwen models", []Dialect{OpenAIChat}, lazily(`qwen|^qwq`)},
	{"openai", "OpenAI's own API and Azure", []Dialect{OpenAIChat, OpenAIResponses}, lazily(`^$|gpt-\d|^(.*/|openai\.)?(o[134]([-.]|$)|chatgpt|codex|computer-use)|^(azure|openai)/`)},
	{"gemini", "Gemini on Google's API and Vertex", []Dialect{Gemini, GeminiInteractions}, lazily(`gemini|lyria|^(deep-research|antigravity|computer-use)|^$`)},
	{"bedrock", "the Converse API of AWS", []Dialect{Bedrock}, lazily(``)},
	{pairsOnly, "a list that a program holds: whoever sends it writes it anew, so pairs alone are minded", []Dialect{Anthropic}, nil},
	{"other", "an imitation of the dialect by a vendor that no profile knows", []Dialect{Anthropic, OpenAIChat, OpenAIResponses, Gemini, GeminiInteractions}, lazily(``)},
}

// lazily compiles a pattern when it is first needed: most programs need few of them, and
// all of them would take half as long as a program takes to start.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
