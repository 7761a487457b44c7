package tokens

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
)

const (
	// bytesPerPage is a guess for documents whose pages cannot be found.
	bytesPerPage = 64 << 10
	// maxInflate bounds what is unpacked of a document in search of its pages.
	maxInflate = 16 << 20
)

// pdfPages counts the pages of a PDF. Data is base64 as it lies in a request, with
// or without "data:…;base64," in front. Where it finds none (the file is encrypted
// or broken) it guesses a page for every 64 KB and says false.
func pdfPages(data []byte) (n int, known bool) {
	b := unescape(payload(data)) // a \/ may come late
	plain := make([]byte, base64.StdEncoding.DecodedLen(len(b)))
	size, _ := base64.StdEncoding.Decode(plain, b) // what can be read of a broken one is enough
	plain = plain[:size]
	n = pageObjects(plain) + hiddenPages(plain)
	if n > 0 {
		return n, true
	}
	return max(1, ceil(size, bytesPerPage)), false
}

// pageObjects counts "/Type /Page", which "/Type /Pages" is not.
func pageObjects(pdf []byte) (n int) {
	for {
		_, rest, found := bytes.Cut(pdf, []byte("/Type"))
		if !found {
			return n
		}
		pdf = rest
		rest, is := bytes.CutPrefix(bytes.TrimLeft(rest, " \r\n\t"), []byte("/Page"))
		if is && (len(rest) == 0 || rest[0] < 'A' || rest[0] > 'z') {
			n++
		}
	}
}

// hiddenPages counts the pages in object streams, where newer files keep them.
func hiddenPages(pdf []byte) (n int) {
	for left := int64(maxInflate); left > 0; {
		_, rest, found := bytes.Cut(pdf, []byte("/ObjStm"))
		if !found {
			break
		}
		_, pdf, _ = bytes.Cut(rest, []byte("stream"))
		in, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(pdf, "\r\n")))
		if err != nil {
			continue
		}
		objects, _ := io.ReadAll(io.LimitReader(in, left)) // a truncated stream still has its first pages
		n += pageObjects(objects)
		left -= int64(len(objects)) + 1
	}
	return n
}
