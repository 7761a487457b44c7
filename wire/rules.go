package wire

import (
	"slices"
	"strings"
)

// table holds the rules of all dialects.
var table = slices.Concat(anthropicRules, chatRules, responsesRules, geminiRules, bedrockRules, shapeRules())

// shapeRules are the rules that every dialect has in common.
func shapeRules() []Rule {
	var all []Rule
	for _, d := range Dialects() {
		for _, r := range []Rule{
			{ID: "wrong-type", Slug: "wrong-type", on: wrongType, Doc: "a value has another JSON type than the wire format says", Says: "{path}: {arg}", Mend: "not repaired, reported"},
			{ID: "role-missing", Slug: "field-missing", on: roleMissing, Doc: "a message has no role", Says: "{path}.role: Field required", Mend: "not repaired, reported"},
			{ID: "type-missing", Slug: "field-missing", on: typeMissing, Doc: "a block has no type", Says: "{path}.type: Field required", Mend: "drop the block"},
			{ID: "field-missing", Slug: "field-missing", on: fieldMissing, Doc: "a required member is missing", Says: "{path}.{arg}: Field required", Mend: "drop the block"},
			{ID: "unknown-role", Slug: "unknown-role", on: unknownRole, Doc: "a message has a role that the dialect does not know", Says: "{path}.role: unexpected role {arg}", Mend: "map it to a role"},
			{ID: "lone-surrogate", Slug: "lone-surrogate", on: loneSurrogate, Doc: "an escape is half of a UTF-16 pair", Says: "The request body is not valid JSON: no low surrogate in string ({arg})", Mend: "replace the half by U+FFFD", Source: "anthropics/claude-code#56064"},
			{ID: "duplicate-key", Slug: "duplicate-key", Severity: Portability, on: duplicateKey, Doc: "a key stands twice in one object; the last one wins, but not with every parser", Says: "{path}: duplicate key ({arg})", Mend: "drop the earlier member"},
		} {
			if r.Source == "" {
				r.Source = "the wire format's own schema"
			}
			if r.on == unknownRole && d != Anthropic && d != Bedrock {
				continue // these have rows of their own
			}
			r.ID, r.dialect = d.String()+"/"+r.ID, d
			all = append(all, r)
		}
	}
	return all
}

// Conditions on profiles.

func vendorIs(names ...string) func(*Profile) bool {
	return func(p *Profile) bool { return slices.Contains(names, p.Name) }
}

func modelHas(parts ...string) func(*Profile) bool {
	return func(p *Profile) bool {
		return slices.ContainsFunc(parts, func(s string) bool { return strings.Contains(strings.ToLower(p.Model), s) })
	}
}

func bedrockFamilyIs(names ...string) func(*Profile) bool {
	return func(p *Profile) bool { return slices.Contains(names, p.Family) }
}

func notBedrockFamily(name string) func(*Profile) bool {
	return func(p *Profile) bool { return p.Family != name }
}

// claudeWithoutPrefill: Claude 4.6 and later, and Mythos from its preview on.
func claudeWithoutPrefill(p *Profile) bool { return p.atLeast(4, 6) || p.Family == "mythos" }

func claudeWithPrefill(p *Profile) bool { return !claudeWithoutPrefill(p) }

// claudeWithoutSystemRole: system messages came with Opus 4.8, Fable 5, Mythos 5
// and Sonnet 5.5; unknown models are given the benefit of the doubt.
func claudeWithoutSystemRole(p *Profile) bool {
	switch p.Family {
	case "opus":
		return p.before(4, 8)
	case "sonnet", "haiku":
		return p.before(5, 5)
	}
	return p.before(5, 0)
}

func bedrockOldClaude(p *Profile) bool { return p.Family == "claude" && p.before(3, 5) }
func bedrockNoPrefill(p *Profile) bool { return p.Family == "claude" && claudeWithoutPrefill(p) }
func bedrockPrefill(p *Profile) bool   { return p.Family == "claude" && !claudeWithoutPrefill(p) }

func geminiThree(p *Profile) bool          { return p.atLeast(3, 0) }
func geminiThreeOrUnknown(p *Profile) bool { return !p.before(3, 0) }
func geminiTwoOrUnknown(p *Profile) bool   { return !p.atLeast(3, 0) }
func geminiUnknown(p *Profile) bool        { return p.Major == 0 }

// openAILike: OpenAI and those whose imitation is close.
func openAILike(p *Profile) bool { return p.Name == "openai" || p.Name == "other" }

// notEmptyContentVendors: all but those that call null content empty.
func notEmptyContentVendors(p *Profile) bool {
	return p.Name != "deepseek" && p.Name != "mistral" && p.Name != "moonshot"
}

// openAIWithoutReasoning: the GPT-3.5 and GPT-4 families.
func openAIWithoutReasoning(p *Profile) bool {
	m := strings.ToLower(p.Model)
	return p.Name == "openai" && (strings.Contains(m, "gpt-4") || strings.Contains(m, "gpt-3.5"))
}

func groqWithoutReasoning(p *Profile) bool {
	m := strings.ToLower(p.Model)
	return p.Name == "groq" && !strings.Contains(m, "gpt-oss") && !strings.Contains(m, "qwen") && !strings.Contains(m, "deepseek-r1")
}

// mistralUnknown: the tokenizer decides, which a name does not tell; where not even
// a model is named, the strictest rule holds.
func mistralUnknown(p *Profile) bool {
	return p.Name == "mistral" && p.Model == ""
}

// templateUnknown: some templates want names on tool messages; where no model is
// named, the strictest rule holds.
func templateUnknown(p *Profile) bool { return p.Name == "template" && p.Model == "" }

// notOther: vendors that are known to want ids; some imitations live without.
func notOther(p *Profile) bool { return p.Name != "other" }
