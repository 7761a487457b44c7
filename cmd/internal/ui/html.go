package ui

import (
	"bytes"
	"cmp"
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

// assets are the parts of the pages: frames, styles, and programs in files that are
// joined in order.
//
//go:embed page
var assets embed.FS

var scripts = []string{"base.js", "data.js", "list.js", "text.js", "code.js", "md.js", "show.js", "turns.js", "row.js", "arcs.js", "strip.js", "aside.js", "find.js", "keys.js", "main.js"}

// WriteHTML writes the page as one file that needs no other.
func (p *Page) WriteHTML(w io.Writer) error { return p.write(w, "") }

// write writes the page. One with a version is live: it may ask the server it came
// from for what is newer.
func (p *Page) write(w io.Writer, version string) error {
	data, err := p.data()
	if err != nil {
		return err
	}
	connect := "'none'"
	if version != "" {
		connect = "'self'"
	}
	f := frame{html: "page.html", style: asset("page.css"), script: program(scripts), connect: connect, title: cmp.Or(p.Title, p.Source), version: version, data: data}
	return f.write(w)
}

// A frame is a page with all that it needs: its style, its program, its data.
type frame struct {
	html          string
	style, script []byte
	connect       string // whom the program may ask
	title         string
	version       string
	data          []byte
}

func (f *frame) write(w io.Writer) error {
	policy := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; connect-src %s; base-uri 'none'; form-action 'none'", hash(f.style), hash(f.script), f.connect)
	for line := range bytes.Lines(asset(f.html)) {
		parts := [][]byte{line}
		switch string(bytes.TrimSpace(line)) {
		case "{{policy}}":
			parts[0] = fmt.Appendf(nil, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", policy)
		case "{{title}}":
			parts[0] = fmt.Appendf(nil, "<title>%s · pare</title>\n", html.EscapeString(printable(f.title)))
		case "{{style}}":
			parts = [][]byte{[]byte("<style>"), f.style, []byte("</style>\n")}
		case "{{data}}":
			open := fmt.Appendf(nil, "<script id=\"data\" type=\"application/json\" data-version=\"%s\">", html.EscapeString(f.version))
			parts = [][]byte{open, f.data, []byte("</script>\n")}
		case "{{script}}":
			parts = [][]byte{[]byte("<script>"), f.script, []byte("</script>\n")}
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
func program(files []string) []byte {
	var b bytes.Buffer
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range files {
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
