package jsonspan

// Valid checks one whole document in strict mode. Unlike a scan it also refuses
// flaws: duplicate keys and lone surrogates.
func Valid(data []byte) error {
	s := Borrow(data, Strict)
	defer s.Return()
	s.Skip()
	s.End()
	if err := s.Err(); err != nil {
		return err
	}
	if len(s.flaws) == 0 {
		return nil
	}
	f := s.flaws[0]
	reason := "this key stands twice in its object"
	if f.Kind == LoneSurrogate {
		reason = "half of a surrogate pair"
	}
	return &SyntaxError{Offset: f.Offset, Pointer: PointerAt(data, f.Offset), Reason: reason}
}
