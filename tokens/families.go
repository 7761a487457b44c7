package tokens

// A family is what models share that make the same tokens of the same text.
type family struct {
	name    string
	weights *grid
	// margin, in thousandths, lifts the first percentile of the held out texts to
	// the true count.
	margin int
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

// The first family is the default.
var families = []family{
	{"default", weightsDefault.grid(), 1100, claudeLarge, frame{3, 5, 60, 20}},
	{"o200k", weightsO200k.grid(), 1100, patches32, frame{3, 4, 12, 12}},
	{"gemini", weightsGemini.grid(), 1100, gemini3, frame{3, 4, 20, 20}},
	// Nobody outside knows the vocabularies of Claude 3 and later. The old one is
	// the nearest there is, and the margin is wider.
	{"claude", weightsClaude.grid(), 1200, claudeSmall, frame{5, 5, 350, 20}},
	// From Opus 4.7 on the same text makes about 30 % more tokens.
	{"claude-4.7", weightsClaude.grid(), 1560, claudeLarge, frame{5, 5, 400, 20}},
}

func familyOf(name string) *family {
	for i := range families {
		if families[i].name == name {
			return &families[i]
		}
	}
	return &families[0]
}
