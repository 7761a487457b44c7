package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
)

// assets are the page's parts: the frame, its style, and its program in files that
// are joined in this order.
//
//go:embed page
var assets embed.FS

var scripts = []string{"data.js", "list.js", "text.js", "row.js", "arcs.js", "strip.js", "aside.js", "find.js", "keys.js", "main.js"}

// WriteHTML writes the page as one file that needs no other.
func (p *Page) WriteHTML(w io.Writer) error { return p.write(w, "") }

// write writes the page. One with a version is live: it may ask the server it came
// from for what is newer.
func (p *Page) write(w io.Writer, version string) error {
	data, err := p.data()
	if err != nil {
		return err
	}
	style, script := asset("page.css"), program()
	connect := "'none'"
	if version != "" {
		connect = "'self'"
	}
	policy := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; connect-src %s; base-uri 'none'; form-action 'none'", hash(style), hash(script), connect)
	for line := range bytes.Lines(asset("page.html")) {
		parts := [][]byte{line}
		switch string(bytes.TrimSpace(line)) {
		case "{{policy}}":
			parts[0] = fmt.Appendf(nil, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", policy)
		case "{{title}}":
			parts[0] = fmt.Appendf(nil, "<title>%s · pare</title>\n", html.EscapeString(printable(p.Source)))
		case "{{style}}":
			parts = [][]byte{[]byte("<style>"), style, []byte("</style>\n")}
		case "{{data}}":
			open := fmt.Appendf(nil, "<script id=\"data\" type=\"application/json\" data-version=\"%s\">", html.EscapeString(version))
			parts = [][]byte{open, data, []byte("</script>\n")}
		case "{{script}}":
			parts = [][]byte{[]byte("<script>"), script, []byte("</script>\n")}
		}
		for _, part := range parts {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// data is the page as JSON that may stand in a script element: the encoder writes <,
// >, & and the two line separators of Unicode as escapes.
func (p *Page) data() ([]byte, error) {
	if p.Before.Messages == nil {
		empty := *p
		empty.Before.Messages = []Message{}
		p = &empty
	}
	return json.Marshal(p)
}

// printable leaves out what a title cannot show.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

func asset(name string) []byte {
	b, err := assets.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return b
}

// program joins the scripts into one closure.
func program() []byte {
	var b bytes.Buffer
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		b.Write(asset(name))
	}
	b.WriteString("})();\n")
	return b.Bytes()
}

// hash is the source expression that lets one style or script through.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
