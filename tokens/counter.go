package tokens

// A Text counts the tokens of texts. An [*Encoding] is one, and so is an Estimator. Many
// goroutines may call it, so it must be safe for that.
type Text interface {
	Count(text []byte) int
	CountJSON(raw []byte) int // of what the content of a JSON string decodes to
}

// A Func is a counter of one's own, of decoded text, as a Text.
type Func func(text []byte) int

// Count calls f.
func (f Func) Count(text []byte) int { return f(text) }

// CountJSON calls f with what the content of a JSON string decodes to; without
// escapes that is raw itself.
func (f Func) CountJSON(raw []byte) int { return f(unescape(raw)) }

// A Counter counts texts in one way and estimates all else that a request is made
// of. The zero Counter estimates everything, as the zero Estimator does. It is a value
// that many goroutines may use.
type Counter struct {
	text Text // nil: rest
	rest Estimator
}

// Reading returns a Counter that takes texts from t and media and overhead from the
// estimator. A nil t leaves the texts to the estimator too.
func (e Estimator) Reading(t Text) Counter { return Counter{t, e} }

// Count counts the tokens of a text.
func (c Counter) Count(text []byte) int { return c.of().Count(text) }

// CountJSON counts the content of a JSON string as it lies in a request.
func (c Counter) CountJSON(raw []byte) int { return c.of().CountJSON(raw) }

// Media is [Estimator.Media]; a text among the media is estimated, too.
func (c Counter) Media(mime string, data []byte, low bool) int { return c.rest.Media(mime, data, low) }

// Overhead is [Estimator.Overhead].
func (c Counter) Overhead(messages, tools int) int { return c.rest.Overhead(messages, tools) }

func (c Counter) of() Text {
	if c.text == nil {
		return c.rest
	}
	return c.text
}
