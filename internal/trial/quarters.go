package trial

// Quarters counts a token for every four bytes, and a few for marks. Many goroutines may use it.
type Quarters struct{}

// Count counts a text.
func (Quarters) Count(text []byte) int { return (len(text) + 3) / 4 }

// CountJSON counts the bytes of a JSON value in the same way.
func (Quarters) CountJSON(raw []byte) int { return (len(raw) + 3) / 4 }

// Media counts 300 for every picture, file or sound.
func (Quarters) Media(string, []byte, bool) int { return 300 }

// Overhead counts the marks around messages and tools.
func (Quarters) Overhead(messages, tools int) int { return 3 + 4*messages + 8*tools }
