package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/png"
	"strings"
	"testing"
)

func TestMedia(t *testing.T) {
	e := For("claude-opus-5")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		t.Fatal(err)
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	pngData := b64(picture.String())
	pdf := b64("%PDF-1.4 " + strings.Repeat("<</Type /Page>> ", 3))
	text := strings.Repeat("Was it a car or a cat I saw? ¿Qué? ", 400)
	zip := b64("PK\x03\x04" + strings.Repeat("z", 40_000))
	wav := []byte("RIFF....WAVEfmt ....\x01\x00\x01\x00....\x00\x7d\x00\x00" + strings.Repeat("s", 320_000-32))
	binary.LittleEndian.PutUint32(wav[28:], 32_000)
	small, large := e.Image(640, 480), e.Image(0, 0)
	for name, c := range map[string]struct {
		mime, data string
		low        bool
		want       int
	}{
		"a picture":                     {"image/png", pngData, false, small},
		"at low detail":                 {"image/png", pngData, true, e.imageLow(640, 480)},
		"only a kind":                   {"image", pngData, false, small},
		"no kind":                       {"", pngData, false, small},
		"as a file":                     {"file", pngData, false, small},
		"a data URL":                    {"", "data:image/png;base64," + pngData, false, small},
		"an escaped data URL":           {"image", `data:image\/png;base64,` + strings.ReplaceAll(pngData, "/", `\/`), false, small},
		"a URL of a picture":            {"image", "https://example.com/a.png", false, large},
		"nothing of a picture":          {"image/jpeg", "", false, large},
		"a broken picture":              {"image/jpeg", "AAAA", false, large},
		"nothing of one, at low detail": {"image/jpeg", "", true, e.imageLow(0, 0)},
		"a PDF":                         {"application/pdf", pdf, false, e.pages(3)},
		"a PDF as a document":           {"document", pdf, false, e.pages(3)},
		"a PDF as a data URL":           {"file", "data:application/pdf;base64," + pdf, false, e.pages(3)},
		"a URL of a PDF":                {"application/pdf", "https://example.com/a.pdf", false, e.pages(unknownPages)},
		"an escaped URL":                {"document", `https:\/\/example.com\/a.pdf`, false, e.pages(unknownPages)},
		"the name of a file":            {"file", "file-6F2ksmvXxt4VdoqmHRw6kL", false, e.pages(unknownPages)},
		"the name of a text":            {"text/plain", "file_011CNha8iCJcU1wXNR6q4V8w", false, e.pages(unknownPages)},
		"nothing at all":                {"", "", false, e.pages(unknownPages)},
		"a text":                        {"text/plain; charset=utf-8", b64(text), false, e.Count([]byte(text))},
		"a short text":                  {"text/plain", b64("Hi"), false, e.Count([]byte("Hi"))},
		"an escaped text":               {"TEXT/MARKDOWN", strings.ReplaceAll(strings.ReplaceAll(b64(text), "/", `\/`), "o", `\u006f`), false, e.Count([]byte(text))},
		"a text in lines":               {"application/json", strings.ReplaceAll(b64(text), "ID", `I\r\nD`), false, e.Count([]byte(text))},
		"a text as a data URL":          {"file", "data:text/csv;base64," + b64(text), false, e.Count([]byte(text))},
		"a text that is not encoded":    {"text/plain", text, false, e.Count([]byte(text))},
		"a plain data URL":              {"", "data:text/plain,Hello", false, e.Count([]byte("Hello"))},
		"another document":              {"application/msword", zip, false, e.pages(3)},
		"another file":                  {"file", zip, false, e.pages(3)},
		"ten seconds of sound":          {"audio/wav", base64.StdEncoding.EncodeToString(wav), false, 10 * soundTokens},
		"sound as a file":               {"file", base64.StdEncoding.EncodeToString(wav), false, 10 * soundTokens},
		"packed sound":                  {"audio/mpeg", b64(strings.Repeat("m", 40<<10)), false, 10 * soundTokens},
		"sound elsewhere":               {"audio", "gs://bucket/a.mp3", false, unknownSeconds * soundTokens},
		"film":                          {"video/mp4", b64(strings.Repeat("m", 320<<10)), false, 10 * filmTokens},
		"film elsewhere":                {"video", "https://youtu.be/x", false, unknownSeconds * filmTokens},
	} {
		got := e.Media(c.mime, []byte(c.data), c.low)
		if slack := c.want / 100; got < c.want || got > c.want+slack {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestMediaLate: a slash that is escaped far behind the head does not hide pages.
func TestMediaLate(t *testing.T) {
	pdf := "%PDF-1.4 " + strings.Repeat("abc ", 2000) + "??? <</Type /Page>> " + strings.Repeat("??? <</Type /Page>> ", 3)
	data := strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(pdf)), "/", `\/`)
	if !strings.Contains(data, `\/`) || strings.Contains(data[:1<<12], `\`) {
		t.Fatal("the sample has no late slash")
	}
	if n, known := pdfPages([]byte(data)); n != 4 || !known {
		t.Errorf("%d pages, %v", n, known)
	}
}

func TestMediaNoAllocation(t *testing.T) {
	data := []byte(base64.StdEncoding.EncodeToString(benchText("Go")))
	e := For("gpt-5")
	if n := testing.AllocsPerRun(10, func() { e.Media("text/plain", data, false) }); n != 0 {
		t.Errorf("a text allocates %v times", n)
	}
}

func FuzzMedia(f *testing.F) {
	for _, mime := range []string{"", "image", "image/png", "application/pdf", "document", "file", "audio/wav", "video", "text/plain", "/", ";"} {
		for _, data := range []string{"", "data:", "data:,", "data:image/png;base64,iVBORw0KGgo", "UklGRgAAAABXQVZF", "JVBERi0", `\`, `\/\u`, "file-x", "a:b", "/9j/4AAQ", "aGVsbG8gd29ybGQ="} {
			f.Add(mime, []byte(data), false)
		}
	}
	f.Fuzz(func(t *testing.T, mime string, data []byte, low bool) {
		for _, model := range everyModel {
			if n := For(model).Media(mime, data, low); n < 0 || n > 64_000_000 {
				t.Errorf("%q %q costs %d", mime, data, n)
			}
		}
	})
}
