package tokens

import (
	"bytes"
	"strings"
)

// What is known of sound and film is a price for each second, from Google's pages:
// 32 tokens of sound, and 258 more of picture. OpenAI asks 10 for sound and takes no
// film, Anthropic takes neither, so the price is the highest. Seconds come from the
// header of a WAV; of all other recordings the bytes are counted as if they were
// packed tightly, as speech is at 32 kbit/s and film at 256.
const (
	soundTokens, filmTokens = 32, 32 + 258 // a second
	soundBytes, filmBytes   = 4 << 10, 32 << 10
	unknownSeconds          = 60
	// unknownPages is a guess for documents that the request only points to.
	unknownPages = 5
	// bytesPerSheet is bytesPerPage for documents that are no PDF: they are packed
	// text and hold fewer pictures.
	bytesPerSheet = 16 << 10
	// minInline is the shortest base64 that is not taken for the name of a file.
	minInline = 64
)

// Media is the price of a picture, a document, a recording or another file in a
// request. It is never that of its base64 as text.
//
// Mime is its type ("image/png"), or only a kind ("image", "document", "audio",
// "video", "file"), or empty. Data is base64 as it lies in the request, with or
// without "data:…;base64," in front, whose type counts where mime has none; or the
// text itself; or a URL or the name of a file, whose content is not at hand. Low asks
// for pictures at OpenAI's "detail":"low".
//
// Pictures and PDFs cost what Image and Pages say, and text what Count says of it.
// What cannot be read is guessed. A picture is large. A document has 5 pages or, where
// its content is at hand, one for every 16 KB. A recording lasts a minute or, where it
// is at hand, a second for every 4 KB of sound and every 32 KB of film.
func (e Estimator) Media(mime string, data []byte, low bool) int {
	m := mediumOf(mime, data)
	switch {
	case m.is("image"):
		w, h, _ := imageSize(data)
		if low {
			return e.imageLow(w, h)
		}
		return e.Image(w, h)
	case m.is("audio"):
		return m.seconds(soundBytes) * soundTokens
	case m.is("video"):
		return m.seconds(filmBytes) * filmTokens
	case !m.inline:
		return e.pages(unknownPages)
	case strings.HasSuffix(m.mime, "pdf"):
		n, _ := pdfPages(data)
		return e.pages(n)
	case !m.base64:
		return e.CountJSON(m.data)
	case m.isText():
		return e.countBase64(m.data)
	}
	return e.pages(max(1, ceil(m.size(), bytesPerSheet)))
}

// A medium is a file in a request, told by its type and its first bytes.
type medium struct {
	mime   string // with a slash, or a kind
	data   encoded
	inline bool // data is the content
	base64 bool // and encoded
}

func mediumOf(mime string, data []byte) medium {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	m := medium{mime: strings.TrimSpace(mime), data: data}
	body, isURL := bytes.CutPrefix(data, []byte("data:"))
	if isURL {
		head, body, _ := bytes.Cut(body, []byte(","))
		own, _, _ := strings.Cut(strings.ToLower(string(unescape(head))), ";")
		if !m.isType() && strings.Contains(own, "/") {
			m.mime = own
		}
		m.data, m.base64 = body, bytes.HasSuffix(head, []byte(";base64"))
	} else {
		m.base64 = looksEncoded(data)
	}
	if !m.isType() {
		m.mime = sniff(data, m.mime)
	}
	m.inline = isURL || !m.isReference()
	return m
}

// sniff tells by the first bytes what a kind leaves open.
func sniff(data []byte, kind string) string {
	if kind == "image" || kind == "audio" || kind == "video" {
		return kind
	}
	if _, _, ok := imageSize(data); ok {
		return "image"
	}
	b := payload(data[:min(len(data), 1<<10)])
	switch {
	case b.has(0, "%PDF"):
		return "application/pdf"
	case b.has(4, "ftypheic"), b.has(4, "ftypmif1"), b.has(4, "ftypavif"):
		return "image"
	case b.has(0, "RIFF") && b.has(8, "WAVE"), b.has(0, "ID3"), b.has(0, "OggS"), b.has(0, "fLaC"), b.has(4, "ftypM4A "):
		return "audio"
	case b.has(4, "ftyp"):
		return "video"
	}
	return kind
}

// looksEncoded tells base64 from text by its beginning.
func looksEncoded(data []byte) bool {
	for _, c := range data[:min(len(data), 1<<10)] {
		if sextet[c] < 0 && c != '=' && c != '\\' {
			return false
		}
	}
	return true
}

// isReference tells a URL or the name of a file from content. Names look like
// base64, but are short.
func (m medium) isReference() bool {
	if m.base64 && len(m.data) < minInline {
		return !m.isText() || bytes.HasPrefix(m.data, []byte("file"))
	}
	head, _, found := bytes.Cut(m.data[:min(len(m.data), 16)], []byte(":"))
	return found && !bytes.ContainsAny(m.data, " \n") && len(head) > 1
}

// isType is false where only a kind is known, if that.
func (m medium) isType() bool {
	return strings.Contains(m.mime, "/") && m.mime != "application/octet-stream"
}

func (m medium) is(kind string) bool {
	top, _, _ := strings.Cut(m.mime, "/")
	return top == kind
}

func (m medium) isText() bool {
	if m.is("text") {
		return true
	}
	for _, end := range []string{"json", "xml", "yaml", "javascript", "typescript", "x-sh", "x-python", "toml", "sql"} {
		if strings.HasSuffix(m.mime, end) {
			return true
		}
	}
	return false
}

// size is how many bytes base64 stands for, a few more where its slashes are escaped.
func (m medium) size() int {
	if !m.base64 {
		return len(m.data)
	}
	return len(bytes.TrimRight(m.data, "=")) * 3 / 4
}

// seconds is how long a recording of so many bytes a second lasts, rounded up.
func (m medium) seconds(rate int) int {
	if !m.inline {
		return unknownSeconds
	}
	if b := payload(m.data); b.has(0, "RIFF") && b.has(8, "WAVE") {
		// A forged rate must not make a long recording short.
		const fastest = 192_000 * 4 * 2
		if own := b.little(28, 4); own > 0 && own <= fastest {
			rate = own
		}
	}
	return max(1, ceil(m.size(), rate))
}

// countBase64 is Count of what base64 decodes to, a piece at a time.
func (e Estimator) countBase64(data encoded) int {
	const piece = 3 << 10
	w := e.of().weights()
	var plain [piece + 3]byte
	sum, n := uint64(first), 0
	group, have := 0, 0
	for i := 0; i < len(data); i++ {
		c := data[i]
		if c == '\\' {
			r, size := escape(data[i:])
			c, i = byte(r), i+size-1
		}
		if sextet[c] < 0 { // the end, or a line break
			continue
		}
		group, have = group<<6|int(sextet[c]), have+1
		if have < 4 {
			continue
		}
		plain[n], plain[n+1], plain[n+2] = byte(group>>16), byte(group>>8), byte(group)
		group, have, n = 0, 0, n+3
		if n >= piece {
			sum += w.sum(plain[:n])
			plain[0], n = plain[n-1], 1
		}
	}
	group <<= 6 * (4 - have)
	for ; have > 1; have-- { // two letters are left of one byte, three of two
		plain[n] = byte(group >> 16)
		group, n = group<<8, n+1
	}
	return e.tokens(sum + w.sum(plain[:n]))
}
