package jsonspan

// OneLine returns JSON without line breaks and the indent behind them, which can stand
// between its parts only.
func OneLine(raw []byte) []byte {
	one := make([]byte, 0, len(raw))
	indent := false
	for _, c := range raw {
		indent = c == '\n' || c == '\r' || indent && (c == ' ' || c == '\t')
		if !indent {
			one = append(one, c)
		}
	}
	return one
}
