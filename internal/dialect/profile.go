package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Profile is whose rules apply to a request: a vendor, and what its model's name says
// about the model. Rules ask it, they never look at names themselves. Many goroutines
// may read it.
type Profile struct {
	Name  string // the vendor, for example "anthropic" or "deepseek"
	Model string // as the request names it; "" if it does not
	// Family is the model family where rules depend on it: on Claude "opus",
	// "sonnet", …; on Bedrock the maker of the model behind it; else "".
	Family string
	// Major and Minor are the model's version; Major 0 means unknown.
	Major, Minor int
}

// aliases are other names people use for a profile.
var aliases = map[string]string{
	"claude": "anthropic", "gpt": "openai", "chatgpt": "openai", "azure": "openai", "kimi": "moonshot", "grok": "xai", "google": "gemini", "vertex": "gemini", "aws": "bedrock",
	"chat-template": "template", "templates": "template", "vllm": "template", "ollama": "template", "llama.cpp": "template",
	"openai-chat": "openai", "openai-responses": "openai", "gemini-interactions": "gemini",
}

// Profiles lists the names of the profiles of a dialect, or of all dialects.
func Profiles(d Dialect) []string {
	var names []string
	for _, v := range vendors {
		if d == Auto || slices.Contains(v.dialect, d) {
			names = append(names, v.name)
		}
	}
	return names
}

// ResolveProfile returns the profile of that name, or if it is "" the one that
// the model's name implies, or else the dialect's own vendor.
func ResolveProfile(d Dialect, name, model string) (Profile, error) {
	p := Profile{Model: model}
	lower := strings.ToLower(model)
	typed := name
	if to, ok := aliases[strings.ToLower(name)]; ok {
		name = to
	}
	for _, v := range vendors {
		if !slices.Contains(v.dialect, d) {
			continue
		}
		if v.name == strings.ToLower(name) || (name == "" && v.models != nil && v.models().MatchString(lower)) {
			p.Name = v.name
			break
		}
	}
	if p.Name == "" {
		elsewhere := ""
		for _, v := range vendors {
			if v.name == strings.ToLower(name) { // a dialect's, and not of this one
				elsewhere = fmt.Sprintf("; %s is a profile of %v", v.name, v.dialect)
			}
		}
		return p, fmt.Errorf("unknown profile %q for %s; the profiles are %s%s", typed, d, strings.Join(Profiles(d), ", "), elsewhere)
	}
	grammars[d].version(&p, lower)
	return p, nil
}

// readClaude reads family and version of a Claude model, on whatever dialect.
func (p *Profile) readClaude(model string) {
	if strings.Contains(model, "claude") {
		p.Family, p.Major, p.Minor = claude(model)
	}
}

var claudeName = lazily(`claude-(?:(opus|sonnet|haiku|fable|mythos|instant)-)?v?(\d)(?:[-.](\d)(?:\D|$))?(?:-(opus|sonnet|haiku))?`)

// claude takes a Claude model's name apart: claude-sonnet-4-5-20250929,
// claude-3-7-sonnet-latest, claude-fable-5.1. A date is not a minor version.
func claude(model string) (family string, major, minor int) {
	m := claudeName().FindStringSubmatch(model)
	if m == nil {
		if strings.Contains(model, "mythos-preview") {
			return "mythos", 0, 0
		}
		return "", 0, 0
	}
	family = m[1]
	if family == "" {
		family = m[4]
	}
	major, _ = strconv.Atoi(m[2])
	minor, _ = strconv.Atoi(m[3])
	return family, major, minor
}

// version reads the number behind prefix: gemini-2.5-flash, gemini-3-pro.
func version(model, prefix string) (major, minor int) {
	_, rest, ok := strings.Cut(model, prefix)
	if !ok {
		return 0, 0
	}
	digits := func() int {
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		v, _ := strconv.Atoi(rest[:n])
		rest = rest[n:]
		return v
	}
	major = digits()
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		minor = digits()
	}
	return major, minor
}

// atLeast reports whether the model's version is known and not lower.
func (p *Profile) atLeast(major, minor int) bool {
	return p.Major > major || p.Major == major && p.Minor >= minor
}

// before reports whether the model's version is known and lower.
func (p *Profile) before(major, minor int) bool {
	return p.Major > 0 && !p.atLeast(major, minor)
}
