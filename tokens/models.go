package tokens

import "strings"

// A Model is what is known of the models whose names begin with Prefix. It is a value
// that many goroutines may use.
type Model struct {
	Prefix string
	Family string // of the estimator; empty: default
	Window int    // tokens of input and output together
	Output int    // the most that a reply can have
	// Apart is set where a reply does not count against the window.
	Apart bool

	vision *vision // nil: that of the family
}

// maxReserve is room enough for a reply of an agent that sets no limit itself.
const maxReserve = 32_000

// reserve is the room to leave for a reply to a request that sets no limit itself:
// the greatest reply, but at most 32,000 tokens and a quarter of the window.
func (m Model) reserve() int { return min(m.Output, maxReserve, m.Window/4) }

// Input is the room for a request whose reply may have output tokens; zero is
// Reserve.
func (m Model) Input(output int) int {
	if m.Apart {
		return m.Window
	}
	if output <= 0 {
		output = m.reserve()
	}
	return max(m.Window-output, 0)
}

// Estimator is the estimator of the model.
func (m Model) Estimator() Estimator {
	return Estimator{family: familyOf(m.Family), vision: m.vision}
}

// For returns the estimator of a model, by its name on the wire. An unknown or empty
// name gets the default, which is fitted to the hungriest of the open vocabularies.
func For(model string) Estimator {
	m, _ := findModel(model, nil)
	return m.Estimator()
}

// Lookup returns the properties of a model by its name on the wire, with or without a
// provider before it ("us.anthropic.claude-…", "openai/gpt-5"). The longest prefix
// wins, and one of own before an equal one of the built-in table.
//
// known reports whether the window is that of the model: own names it, or the
// table has its exact name, apart from route, date, "-latest" and version. For any other
// name the window is a guess, that of the family or 128,000 tokens: a request must not be cut to
// it. Prefix is empty for a name of no known family.
func Lookup(model string, own ...Model) (m Model, known bool) {
	m, isOwn := findModel(model, own)
	return m, isOwn || m.Prefix != "" && hasExactWindow(strings.ToLower(model))
}

// findModel returns the row with the longest prefix of a model's name, and whether it is one of own.
func findModel(model string, own []Model) (m Model, isOwn bool) {
	model = canonical(model)
	m = Model{Window: 128_000, Output: 16_384}
	for i := range own {
		if len(own[i].Prefix) > len(m.Prefix) && begins(model, canonical(own[i].Prefix)) {
			m, isOwn = own[i], true
		}
	}
	for i := range models { // whose prefixes are canonical
		if len(models[i].Prefix) > len(m.Prefix) && begins(model, models[i].Prefix) {
			m, isOwn = models[i], false
		}
	}
	return m, isOwn
}

// canonical writes Claude's versions as Anthropic does: other hosts put a point.
func canonical(model string) string {
	model = strings.ToLower(model)
	if strings.Contains(model, "claude") {
		model = strings.ReplaceAll(model, ".", "-")
	}
	return model
}

// begins tells whether prefix begins the name or a part of it.
func begins(model, prefix string) bool {
	for from := 0; ; {
		at := strings.Index(model[from:], prefix)
		if at < 0 {
			return false
		}
		at += from
		if at == 0 || strings.IndexByte("/.:-_@ ", model[at-1]) >= 0 {
			return true
		}
		from = at + 1
	}
}

// models are the families in use in November 2026, from the vendors' pages. Where
// hosts differ it has the smaller window. Names that only a version tells apart
// fall back on the shorter prefix above them.
var models = []Model{
	{Prefix: "claude", Family: "claude-4.7", Window: 200_000, Output: 64_000},
	{Prefix: "claude-2", Family: "claude", Window: 100_000, Output: 4096},
	{Prefix: "claude-3", Family: "claude", Window: 200_000, Output: 4096},
	{Prefix: "claude-3-5", Family: "claude", Window: 200_000, Output: 8192},
	{Prefix: "claude-3-7", Family: "claude", Window: 200_000, Output: 64_000},
	{Prefix: "claude-haiku-4", Family: "claude", Window: 200_000, Output: 64_000},
	{Prefix: "claude-sonnet-4", Family: "claude", Window: 200_000, Output: 64_000},
	{Prefix: "claude-sonnet-4-6", Family: "claude", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-opus-4", Family: "claude", Window: 200_000, Output: 32_000},
	{Prefix: "claude-opus-4-5", Family: "claude", Window: 200_000, Output: 64_000},
	{Prefix: "claude-opus-4-6", Family: "claude", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-opus-4-7", Family: "claude-4.7", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-opus-4-8", Family: "claude-4.7", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-haiku-5", Family: "claude-4.7", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-sonnet-5", Family: "claude-4.7", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-opus-5", Family: "claude-4.7", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-fable-5", Family: "claude-4.7", Window: 1_000_000, Output: 128_000},
	{Prefix: "claude-mythos", Family: "claude-4.7", Window: 1_000_000, Output: 128_000},

	{Prefix: "gpt", Family: "o200k", Window: 128_000, Output: 16_384},
	{Prefix: "gpt-3.5", Family: "cl100k", Window: 16_385, Output: 4096},
	{Prefix: "gpt-4", Family: "cl100k", Window: 8192, Output: 4096},
	{Prefix: "gpt-4-turbo", Family: "cl100k", Window: 128_000, Output: 4096},
	{Prefix: "gpt-4o", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tiles85},
	{Prefix: "gpt-4o-mini", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tilesMini},
	{Prefix: "gpt-4.1", Family: "o200k", Window: 1_047_576, Output: 32_768, vision: &tiles85},
	{Prefix: "gpt-4.1-mini", Family: "o200k", Window: 1_047_576, Output: 32_768, vision: &patchesMini},
	{Prefix: "gpt-4.1-nano", Family: "o200k", Window: 1_047_576, Output: 32_768, vision: &patchesNano},
	{Prefix: "gpt-4.5", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tiles85},
	{Prefix: "gpt-5", Family: "o200k", Window: 400_000, Output: 128_000, vision: &tiles70},
	{Prefix: "gpt-5-chat", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tiles70},
	{Prefix: "gpt-5-mini", Family: "o200k", Window: 400_000, Output: 128_000, vision: &patchesMini},
	{Prefix: "gpt-5-nano", Family: "o200k", Window: 400_000, Output: 128_000, vision: &patchesNano},
	{Prefix: "gpt-5.1-chat", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tiles70},
	{Prefix: "gpt-5.2-chat", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tiles70},
	{Prefix: "gpt-5.3-chat", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tiles70},
	{Prefix: "gpt-5.3-codex-spark", Family: "o200k", Window: 128_000, Output: 32_000, vision: &tiles70},
	{Prefix: "gpt-5.4", Family: "o200k", Window: 1_050_000, Output: 128_000, vision: &patches32},
	{Prefix: "gpt-5.4-mini", Family: "o200k", Window: 400_000, Output: 128_000, vision: &patches32},
	{Prefix: "gpt-5.4-nano", Family: "o200k", Window: 400_000, Output: 128_000, vision: &patches32},
	{Prefix: "gpt-5.5", Family: "o200k", Window: 1_050_000, Output: 128_000, vision: &patches32},
	{Prefix: "gpt-5.6", Family: "o200k", Window: 1_050_000, Output: 128_000, vision: &patches32},
	{Prefix: "gpt-6", Family: "o200k", Window: 1_050_000, Output: 128_000, vision: &patches32},
	{Prefix: "gpt-oss", Family: "o200k", Window: 131_072, Output: 65_536},
	{Prefix: "chatgpt", Family: "o200k", Window: 128_000, Output: 16_384, vision: &tiles85},
	{Prefix: "codex", Family: "o200k", Window: 200_000, Output: 100_000, vision: &patchesO4},
	{Prefix: "gpt-4-32k", Family: "cl100k", Window: 32_768, Output: 4096},
	{Prefix: "o1-mini", Family: "o200k", Window: 128_000, Output: 65_536, vision: &tiles75},
	{Prefix: "o1-preview", Family: "o200k", Window: 128_000, Output: 32_768, vision: &tiles75},
	{Prefix: "o1", Family: "o200k", Window: 200_000, Output: 100_000, vision: &tiles75},
	{Prefix: "o3", Family: "o200k", Window: 200_000, Output: 100_000, vision: &tiles75},
	{Prefix: "o4-mini", Family: "o200k", Window: 200_000, Output: 100_000, vision: &patchesO4},

	{Prefix: "gemini", Family: "gemini", Window: 1_000_000, Output: 65_536, Apart: true},
	{Prefix: "gemini-1.5", Family: "gemini", Window: 1_000_000, Output: 8192, Apart: true, vision: &gemini2},
	{Prefix: "gemini-2", Family: "gemini", Window: 1_048_576, Output: 8192, Apart: true, vision: &gemini2},
	{Prefix: "gemini-2.5", Family: "gemini", Window: 1_048_576, Output: 65_536, Apart: true, vision: &gemini2},
	{Prefix: "gemini-3", Family: "gemini", Window: 1_048_576, Output: 65_536, Apart: true},
	{Prefix: "gemma", Family: "gemini", Window: 128_000, Output: 8192},
	{Prefix: "gemma-3", Family: "gemini", Window: 131_072, Output: 8192},
	{Prefix: "gemma-4", Family: "gemini", Window: 262_144, Output: 32_768},

	{Prefix: "deepseek", Window: 128_000, Output: 8192},
	{Prefix: "deepseek-flash", Window: 1_000_000, Output: 384_000},
	{Prefix: "deepseek-v4", Window: 1_000_000, Output: 384_000},
	{Prefix: "mistral", Window: 128_000, Output: 128_000},
	{Prefix: "mistral-large", Window: 262_144, Output: 262_144},
	{Prefix: "mistral-large-2411", Window: 131_072, Output: 16_384},
	{Prefix: "mistral-medium", Window: 262_144, Output: 262_144},
	{Prefix: "mistral-medium-2505", Window: 131_072, Output: 131_072},
	{Prefix: "mistral-small-2603", Window: 256_000, Output: 256_000},
	{Prefix: "open-mistral-7b", Window: 8000, Output: 8000},
	{Prefix: "mixtral", Window: 32_000, Output: 32_000},
	{Prefix: "codestral", Window: 256_000, Output: 4096},
	{Prefix: "devstral", Window: 128_000, Output: 128_000},
	{Prefix: "devstral-2512", Window: 262_144, Output: 262_144},
	{Prefix: "magistral", Window: 128_000, Output: 16_384},
	{Prefix: "ministral", Window: 128_000, Output: 128_000},
	{Prefix: "pixtral", Window: 128_000, Output: 128_000},
	{Prefix: "kimi", Window: 131_072, Output: 16_384},
	{Prefix: "kimi-k2", Window: 262_144, Output: 65_536},
	{Prefix: "kimi-k2-0711", Window: 131_072, Output: 16_384},
	{Prefix: "kimi-k3", Window: 1_048_576, Output: 65_536},
	{Prefix: "glm", Window: 128_000, Output: 96_000},
	{Prefix: "glm-4.6", Window: 200_000, Output: 128_000},
	{Prefix: "glm-4.7", Window: 200_000, Output: 128_000},
	{Prefix: "glm-5", Window: 200_000, Output: 128_000},
	{Prefix: "glm-5.2", Window: 1_000_000, Output: 128_000},
	{Prefix: "glm-5.3", Window: 1_000_000, Output: 128_000},
	{Prefix: "qwen", Window: 131_072, Output: 8192},
	{Prefix: "qwen3-coder", Window: 262_144, Output: 65_536},
	{Prefix: "qwen3-max", Window: 262_144, Output: 65_536},
	{Prefix: "minimax", Window: 200_000, Output: 128_000},
	{Prefix: "minimax-m3", Window: 1_000_000, Output: 128_000},
	{Prefix: "grok", Window: 131_072, Output: 8192},
	{Prefix: "grok-4", Window: 256_000, Output: 30_000},
	{Prefix: "grok-4.20", Window: 2_000_000, Output: 30_000},
	{Prefix: "grok-4.5", Window: 500_000, Output: 30_000},
	{Prefix: "grok-4.6", Window: 500_000, Output: 30_000},
	{Prefix: "grok-4.7", Window: 500_000, Output: 30_000},
	{Prefix: "grok-4.3", Window: 1_000_000, Output: 30_000},
	{Prefix: "llama", Window: 128_000, Output: 8192},
}

// exactFor returns the encoding of a model of OpenAI, or false if its vocabulary is
// not published.
func exactFor(model string) (*Encoding, bool) {
	m, _ := findModel(model, nil)
	switch {
	case m.Family == "o200k":
		return o200k, true
	case strings.HasPrefix(m.Prefix, "gpt-"):
		return cl100k, true
	}
	return nil, false
}
