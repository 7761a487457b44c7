package dialect

import (
	"slices"
	"strings"
)

// Conditions are properties of a request that are not in its body and that rules depend on. The zero
// value knows none of them. It is a value that many goroutines may use.
type Conditions struct {
	Path    string // of the URL
	Version string // the anthropic-version header, a date
	Betas   string // the anthropic-beta header: names, separated by commas
	// AllBetas says that a beta which neither Betas nor the body names is not sent.
	AllBetas bool
}

// ReadConditions returns the conditions that the address and the headers of a request give. The names
// of headers may be in any case.
func ReadConditions(address string, header map[string][]string) Conditions {
	path, _, _ := strings.Cut(address, "?")
	c := Conditions{Path: path}
	for name, values := range header {
		switch strings.ToLower(name) {
		case "anthropic-version":
			c.Version = strings.TrimSpace(strings.Join(values, ","))
		case "anthropic-beta":
			c.Betas, c.AllBetas = strings.Join(values, ","), true
		}
	}
	return c
}

// or returns the conditions with those of other where c knows none.
func (c Conditions) or(other Conditions) Conditions {
	if c.Path == "" {
		c.Path = other.Path
	}
	if c.Version == "" {
		c.Version = other.Version
	}
	if c.Betas == "" && !c.AllBetas {
		c.Betas, c.AllBetas = other.Betas, other.AllBetas
	}
	return c
}

// lacksBeta reports whether it is known that a request names none of the betas that match.
func (r *Request) lacksBeta(matches func(string) bool) bool {
	sent := r.o.Conditions
	if !r.head.betasGiven && !sent.AllBetas || slices.ContainsFunc(r.head.betas, matches) {
		return false
	}
	for name := range strings.SplitSeq(sent.Betas, ",") {
		if matches(strings.TrimSpace(name)) {
			return false
		}
	}
	return true
}

// Conditions of rules on the whole request. The first sentence of the comment of each is its name in
// docs/rules.md; NAME is its argument.

// versionFrom: anthropic-version NAME or later.
func versionFrom(date string) func(*Request) bool {
	return func(r *Request) bool {
		v := r.o.Conditions.Version
		return len(v) == len(date) && v >= date // dates compare as texts
	}
}

// pathEnds: paths that end in NAME.
func pathEnds(end string) func(*Request) bool {
	return func(r *Request) bool { return strings.HasSuffix(strings.TrimRight(r.o.Conditions.Path, "/"), end) }
}

// withoutBeta: the beta NAME is not named.
func withoutBeta(prefix string) func(*Request) bool {
	return func(r *Request) bool {
		return r.lacksBeta(func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
}

// withContextEdits: context_management is set.
func withContextEdits(r *Request) bool { return r.head.contextEdits }
