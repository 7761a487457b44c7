package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/wire"
)

type explainCmd struct {
	Text  []string `arg:"" optional:"" help:"A word of a report, such as orphan-call; or the error of a provider: its text, a file with it, or - for standard input. Default: list all words."`
	JSON  bool     `name:"json" help:"Print JSON: one object per word and line."`
	Color string   `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help returns the detailed help of the command.
func (c *explainCmd) Help() string {
	return `For example:

    pare explain                                  list all words
    pare explain orphan-call                      a fault
    pare explain "messages.6: tool_use ids were found without tool_result blocks"
    pare explain error.json                       what a provider answered
    pare explain anthropic/tool-use-without-result
    pare explain clear-results                    a step of pare trim, as receipts name it
    pare explain --json orphan-result | jq -r '.providers[].says'

For a fault, and for each provider: what breaks the rule, what the provider answers then,
how pare repairs it, and where that is documented. An error that was pasted leads to its
rule, its cause and the command that helps.`
}

func (c *explainCmd) run(env *environment) int {
	style := env.newStyle(env.stdout, c.Color)
	word := strings.Join(c.Text, " ")
	words, rules := findWords(word)
	if len(words) == 0 {
		return c.explainError(env, style, word)
	}
	var out []byte
	switch {
	case c.JSON:
		for _, t := range words {
			if word == "" {
				rules = dialect.Find(t.Word)
			}
			out = append(out, encodeLine(toWordJSON(t, rules))...)
		}
	case word == "":
		out = style.RenderWordList(wordKinds, words)
	default:
		for _, t := range words {
			out = append(out, style.RenderWord(t, rules)...)
		}
	}
	return env.writeOutput(out)
}

// findWords returns the meanings of a word and the rules of providers about it. For "" it returns
// all words.
func findWords(word string) ([]picture.Word, []wire.Rule) {
	rules := dialect.Find(word)
	switch {
	case word == "":
		return listWords(), nil
	case len(rules) > 0: // a fault, or the rule of one provider about it
		words := findMeanings(rules[0].Slug)
		for i := range words {
			if words[i].Fault {
				words[i].Steps = listWaysOut(rules)
			}
		}
		return words, rules
	}
	return findMeanings(word), nil
}

// listWaysOut returns the next steps for a fault that a provider rejects.
func listWaysOut(rules []wire.Rule) []string {
	if !slices.ContainsFunc(rules, func(rule wire.Rule) bool { return rule.Severity == "refused" }) {
		return nil
	}
	steps := providerError{Refusal: refusal.Refusal{Rule: rules[0].Slug}}.listSteps()
	steps = steps[:len(steps)-1] // the last step is pare explain itself
	if by := unfixableAdvice[rules[0].Slug]; by != "" {
		steps = append(steps, "where that cannot repair it: "+by)
	}
	return steps
}

// explainError explains an error of a provider, from text or from the file that text names.
func (c *explainCmd) explainError(env *environment, style picture.Style, text string) int {
	raw := []byte(text)
	name := text
	if text == source.Stdin || len(c.Text) == 1 && isRegularFile(text) {
		var err error
		if raw, err = readErrorText(env, text); err != nil {
			p := newProblem(err)
			return env.fail(name+": "+p.Message, p.hint)
		}
	}
	providerErr, ok := parseProviderError(raw)
	switch {
	case !ok && string(raw) != text && dialect.IsRequest(raw):
		return env.fail(name+" is a request, not an error", screen.NewCommand("pare", "check").Files(name).String()+" reports what is wrong with it")
	case !ok && (string(raw) != text || strings.Contains(text, " ")):
		return env.fail("no provider's error is recognised in this", "pare explain lists the words of reports; pare check FILE checks the request that was refused")
	case !ok:
		return c.reportUnknownWord(env, text)
	case c.JSON:
		return env.writeOutput(encodeLine(errorJSON{Rule: providerErr.Rule, ID: providerErr.Source, Path: providerErr.path, Cause: providerErr.cause, Next: providerErr.listSteps()}))
	}
	return env.writeOutput(style.RenderRefusal(picture.Refusal{Title: providerErr.formatTitle(), Cause: providerErr.cause, Steps: providerErr.listSteps(), Foreign: providerErr.isForeign, Rules: dialect.Find(providerErr.Source)}))
}

// An errorJSON is the output of --json for an error of a provider.
type errorJSON struct {
	Rule  string   `json:"rule"`
	ID    string   `json:"id,omitempty"`
	Path  string   `json:"path,omitempty"`
	Cause string   `json:"cause"`
	Next  []string `json:"next"`
}

func isRegularFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// readErrorText reads the first maxErrorText bytes of a file.
func readErrorText(env *environment, path string) ([]byte, error) {
	r := env.stdin
	if path != source.Stdin {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	return io.ReadAll(io.LimitReader(r, maxErrorText))
}

// reportUnknownWord prints that a word is not known, with the most similar word.
func (c *explainCmd) reportUnknownWord(env *environment, word string) int {
	names := wordNames()
	if strings.Contains(word, "/") {
		names = nil
		for _, rule := range wire.Rules() {
			names = append(names, rule.ID)
		}
	}
	hint := suggest.Sentence(word, names)
	if hint == "" {
		hint = "pare explain lists all words; pare rules lists the rules of your pare.toml"
	}
	return env.fail(fmt.Sprintf("unknown term %q", word), hint)
}

// A wordJSON is the output of --json for a word.
type wordJSON struct {
	Rule      string     `json:"rule"`
	Kind      string     `json:"kind"`
	Meaning   string     `json:"meaning"`
	More      string     `json:"more,omitempty"`
	Providers []ruleJSON `json:"providers"`
}

type ruleJSON struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Severity string `json:"severity"`
	Broken   string `json:"broken"`
	Says     string `json:"says"`
	Mend     string `json:"mend"`
	Source   string `json:"source"`
}

func toWordJSON(word picture.Word, rules []wire.Rule) wordJSON {
	r := wordJSON{Rule: word.Word, Kind: word.Kind, Meaning: word.Meaning, More: cmp.Or(word.Repair, word.More), Providers: []ruleJSON{}}
	if !word.Fault {
		return r
	}
	for _, row := range rules {
		r.Providers = append(r.Providers, ruleJSON{row.ID, row.Provider(), row.Severity, row.Doc, row.Says, row.Repair, row.Source})
	}
	return r
}
