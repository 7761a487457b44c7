package screen

// A Palette paints what it is for, or leaves everything as it is if it is false.
type Palette bool

// Paint puts a text between the codes of a terminal.
func (p Palette) Paint(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p Palette) Bold(s string) string   { return p.Paint("1", s) }
func (p Palette) Faint(s string) string  { return p.Paint("2", s) }
func (p Palette) Fault(s string) string  { return p.Paint("1;31", s) }
func (p Palette) Advice(s string) string { return p.Paint("1;33", s) }
func (p Palette) Place(s string) string  { return p.Paint("36", s) }
func (p Palette) Good(s string) string   { return p.Paint("32", s) }
