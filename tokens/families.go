package tokens

import "sync"

// A family is what models share that make the same tokens of the same text.
type family struct {
	name    string
	weights func() *pairs
	// margin, in thousandths, lifts the first percentile of the texts to the true
	// count; that of OpenAI's models also every recorded request.
	margin int
	// over, in thousandths, is how far above the true count the estimate of a whole
	// request can be; see least.
	over   int
	vision vision // of models that say nothing else
	frame  frame
}

// A frame is what a request costs beside its content.
type frame struct {
	request, message int
	// tools is the instruction that a vendor adds when there are tools, tool the
	// dress of each.
	tools, tool int
}

// Two families share one vocabulary, and so one table.
var claudePairs = sync.OnceValue(weightsClaude.pairs)

// The first family is the default.
var families = []family{
	{"default", sync.OnceValue(weightsDefault.pairs), 1100, 1800, claudeLarge, frame{3, 5, 60, 20}},
	{"o200k", sync.OnceValue(weightsO200k.pairs), 1038, 1500, patches32, frame{3, 4, 12, 12}},
	{"cl100k", sync.OnceValue(weightsCL100k.pairs), 1034, 1500, tiles85, frame{3, 4, 12, 12}},
	{"gemini", sync.OnceValue(weightsGemini.pairs), 1100, 1800, gemini3, frame{3, 4, 20, 20}},
	// Nobody outside knows the vocabularies of Claude 3 and later. The old one is
	// the nearest there is, and the margin is wider.
	{"claude", claudePairs, 1200, 1400, claudeSmall, frame{5, 5, 350, 20}},
	// From Opus 4.7 on the same text makes about 30 % more tokens.
	{"claude-4.7", claudePairs, 1560, 1400, claudeLarge, frame{5, 5, 400, 20}},
}

func familyOf(name string) *family {
	for i := range families {
		if families[i].name == name {
			return &families[i]
		}
	}
	return &families[0]
}
