package screen

// A Palette paints text with terminal colors, or leaves it as it is if it is false. Values that are
// not a Text are made safe in both cases.
type Palette bool

// Paint returns a text between the escape codes of a style.
func (p Palette) Paint(code Text, s any) Text {
	t := Join([]any{s}, "")
	if !p || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

func (p Palette) Bold(s any) Text   { return p.Paint("1", s) }
func (p Palette) Faint(s any) Text  { return p.Paint("2", s) }
func (p Palette) Fault(s any) Text  { return p.Paint("1;31", s) }
func (p Palette) Advice(s any) Text { return p.Paint("1;33", s) }
func (p Palette) Place(s any) Text  { return p.Paint("36", s) }
func (p Palette) Good(s any) Text   { return p.Paint("32", s) }
