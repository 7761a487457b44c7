package dialect

import (
	"cmp"
	"slices"
	"strings"
)

// table holds the rules of all dialects: their own, then what they have in common.
var table = func() (all []Rule) {
	for _, d := range Dialects() {
		own := grammars[d].rules
		for _, r := range slices.Concat(own, shapeRules(d, own)) {
			r.dialect, r.Severity = d, cmp.Or(r.Severity, severityRefused)
			all = append(all, r)
		}
	}
	return all
}()

// shapeRules are the rules that every dialect has in common. Where it has a row of its
// own on a role that it does not know, that one says more.
func shapeRules(d Dialect, own []Rule) (all []Rule) {
	ownRole := slices.ContainsFunc(own, func(r Rule) bool { return r.on == unknownRole })
	for _, r := range []Rule{
		{ID: "wrong-type", Slug: "wrong-type", on: wrongType, Doc: "a value has another JSON type than the wire format says", Says: "{path}: {arg}", Repair: "write it as the type that is wanted, where that is clear; else not repaired, reported"},
		{ID: "role-missing", Slug: "field-missing", on: roleMissing, Doc: "a message has no role", Says: "{path}.role: Field required", Repair: "give it the role that what it holds leaves; else not repaired, reported"},
		{ID: "type-missing", Slug: "field-missing", on: typeMissing, Doc: "a block has no type", Says: "{path}.type: Field required", Repair: "drop the block"},
		{ID: "field-missing", Slug: "field-missing", on: fieldMissing, Doc: "a required member is missing", Says: "{path}.{arg}: Field required", Repair: "drop the block"},
		{ID: "unknown-role", Slug: "unknown-role", on: unknownRole, Doc: "a message has a role that the dialect does not know", Says: "{path}.role: unexpected role {arg}", Repair: "map a role by its name, or by what the message holds; else not repaired, reported"},
		{ID: "lone-surrogate", Slug: "lone-surrogate", on: loneSurrogate, Doc: "an escape is half of a UTF-16 pair", Says: "The request body is not valid JSON: no low surrogate in string ({arg})", Repair: "replace the half by U+FFFD", Source: "anthropics/claude-code#56064"},
		{ID: "duplicate-key", Slug: "duplicate-key", on: duplicateKey, Doc: "a key stands twice in one object; parsers differ on which one counts", Says: "{path}: duplicate key ({arg})", Repair: "drop the copy, if both say the same; else not repaired, reported"},
	} {
		if r.Source == "" {
			r.Source = "the wire format's own schema"
		}
		if r.on == unknownRole && ownRole {
			continue
		}
		r.ID = d.String() + "/" + r.ID
		all = append(all, r)
	}
	return all
}

// Conditions on profiles; those of one dialect stand with its rows. The first sentence
// of the comment of each is what docs/rules.md calls them; NAME is what they are given.

// vendorIs: profile NAME.
func vendorIs(names ...string) func(*Profile) bool {
	return func(p *Profile) bool { return slices.Contains(names, p.Name) }
}

// modelHas: models named …NAME….
func modelHas(parts ...string) func(*Profile) bool {
	return func(p *Profile) bool {
		return slices.ContainsFunc(parts, func(s string) bool { return strings.Contains(strings.ToLower(p.Model), s) })
	}
}
