package dialect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
)

// A zooCase is an incident of the zoo.
type zooCase struct{ corpus.Incident }

func (z *zooCase) body() []byte { return z.Body() }

func zoo(t testing.TB) (all []zooCase) {
	t.Helper()
	for _, z := range corpus.Zoo(t) {
		all = append(all, zooCase{z})
	}
	return all
}

// report returns the findings as sorted "rule path" lines.
func report(t *testing.T, body []byte, o Options, co CheckOptions) []string {
	t.Helper()
	r, err := Parse(body, o)
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, body)
	}
	lines := []string{}
	for _, f := range r.Check(co) {
		lines = append(lines, f.Rule+" "+f.Path)
	}
	slices.Sort(lines)
	return lines
}

func (z *zooCase) want() []string {
	lines := []string{}
	for _, v := range z.Expect.Violations {
		lines = append(lines, v.Rule+" "+v.Path)
	}
	slices.Sort(lines)
	return lines
}

func TestZoo(t *testing.T) {
	for _, z := range zoo(t) {
		t.Run(z.ID, func(t *testing.T) {
			want := z.want()
			if z.Status == "legacy" || !z.Expect.Static {
				want = []string{}
			}
			if got := report(t, z.body(), Options{}, CheckOptions{}); !slices.Equal(got, want) {
				t.Errorf("findings %q, want %q", got, want)
			}
			if r, err := Parse(z.body(), Options{}); err == nil && r.Dialect.String() != z.Dialect {
				t.Errorf("detected %s, want %s", r.Dialect, z.Dialect)
			}
			if z.Status != "legacy" || !z.Expect.Static {
				return
			}
			got := report(t, z.body(), Options{}, CheckOptions{Strict: true})
			for _, w := range z.want() {
				if !slices.Contains(got, w) {
					t.Errorf("strict findings %q lack %q", got, w)
				}
			}
		})
	}
}

// undecidable are the six fixtures that need more than the request.
var undecidable = []string{
	"anthropic/thinking-prefix-binding", "anthropic/thinking-gap", "anthropic/fallback-turn-echo",
	"openai-responses/item-without-reasoning", "openai-responses/encrypted-content", "gemini/thought-signature-corrupt",
}

// strictOnly are the rules that requests which a provider accepted contradict: they
// are reported only when asked for what is valid everywhere.
var strictOnly = []string{
	"anthropic/content-after-tool-use", "openai-chat/arguments-string", "mistral/role-order",
	"deepseek/reasoning-content-required", "moonshot/reasoning-content-required", "xai/empty-content",
}

// optionsOf reads the profile a fixture is meant for off its rule.
func optionsOf(t *testing.T, f corpus.Fixture, body []byte) Options {
	vendor, _, _ := strings.Cut(f.Rule, "/")
	if d, err := ParseDialect(vendor); err == nil {
		return Options{Dialect: d}
	}
	o := Options{Dialect: OpenAIChat, Profile: vendor}
	if strings.Contains(f.Rule, "responses") {
		o.Dialect = OpenAIResponses
	}
	return o
}

func TestFixtures(t *testing.T) {
	for i, f := range corpus.Fixtures(t) {
		t.Run(fmt.Sprintf("%d-%s", i, strings.ReplaceAll(f.Rule, "/", "-")), func(t *testing.T) {
			for _, body := range [][]byte{f.Good, f.Accept} {
				if body == nil {
					continue
				}
				if got := report(t, body, optionsOf(t, f, body), CheckOptions{}); len(got) > 0 {
					t.Errorf("legal: findings %q in %s", got, body)
				}
			}
			if f.Bad == nil || slices.Contains(undecidable, f.Rule) {
				return
			}
			want := wantSlug(t, f.Rule)
			co := CheckOptions{Strict: slices.Contains(strictOnly, f.Rule)}
			if got := report(t, f.Bad, optionsOf(t, f, f.Bad), co); !hasSlug(got, want) {
				t.Errorf("bad: findings %q with %+v, want one of %q in %s", got, co, want, f.Bad)
			}
			if got := report(t, f.Bad, optionsOf(t, f, f.Bad), CheckOptions{}); co.Strict && hasSlug(got, want) {
				t.Errorf("bad: reported without strict: %q in %s", got, f.Bad)
			}
		})
	}
}

func hasSlug(lines, slugs []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		slug, _, _ := strings.Cut(l, " ")
		return slices.Contains(slugs, slug)
	})
}

// wantSlug returns the slugs under which a catalogue rule is reported.
func wantSlug(t *testing.T, id string) []string {
	var slugs []string
	for _, r := range Find(id) {
		slugs = append(slugs, r.Slug)
	}
	switch id {
	case "anthropic/compaction-threshold-prefix": // the orphan in the ignored prefix
		slugs = append(slugs, "orphan-result")
	case "anthropic/tool-result-not-first", "openai-chat/tool-without-call": // where a call is open it is displaced
		slugs = append(slugs, "displaced-result")
	}
	if slugs == nil {
		t.Fatalf("no rule %s", id)
	}
	return slugs
}
