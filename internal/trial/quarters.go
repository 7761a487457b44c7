package trial

// QuarterCounter counts a token for every four bytes, and a few for messages and tools.
type QuarterCounter struct{}

// Count counts a text.
func (QuarterCounter) Count(text []byte) int { return (len(text) + 3) / 4 }

// CountJSON counts the bytes of a JSON value in the same way.
func (QuarterCounter) CountJSON(raw []byte) int { return (len(raw) + 3) / 4 }

// Media counts 300 for every picture, file or sound.
func (QuarterCounter) Media(string, []byte, bool) int { return 300 }

// Overhead counts the marks around messages and tools.
func (QuarterCounter) Overhead(messages, tools int) int { return 3 + 4*messages + 8*tools }
