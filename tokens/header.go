package tokens

import "bytes"

// imageSize reads the size of a PNG, JPEG, GIF or WebP picture from its header. Data
// is base64 as it lies in a request, with or without "data:…;base64," in front. The
// picture is not decoded, nor more of the base64 than the header: of a JPEG the
// steps from segment to segment.
func imageSize(data []byte) (width, height int, ok bool) {
	b := payload(data)
	switch {
	case b.has(0, "\x89PNG\r\n\x1a\n") && b.has(12, "IHDR"):
		width, height = b.big(16, 4), b.big(20, 4)
	case b.has(0, "GIF8"):
		width, height = b.little(6, 2), b.little(8, 2)
	case b.has(0, "RIFF") && b.has(8, "WEBP"):
		width, height = b.webp()
	case b.has(0, "\xff\xd8"):
		width, height = b.jpeg()
	}
	return width, height, width > 0 && height > 0
}

// encoded is base64 without line breaks, in which every byte can be read where it
// lies. Reads behind the end are -1.
type encoded []byte

func payload(data []byte) encoded {
	if bytes.HasPrefix(data, []byte("data:")) {
		_, data, _ = bytes.Cut(data, []byte(","))
	}
	// Some encoders of JSON write / as \/.
	if bytes.IndexByte(data[:min(len(data), 1<<12)], '\\') >= 0 {
		data = unescape(data)
	}
	return data
}

// at returns byte i.
func (b encoded) at(i int) int {
	group := i / 3 * 4
	if i < 0 || group+4 > len(b) {
		return -1
	}
	x := 0
	for _, c := range b[group : group+4] {
		v := sextet[c]
		if v < 0 {
			if c != '=' {
				return -1
			}
			v = 0
		}
		x = x<<6 | int(v)
	}
	return x >> (16 - 8*(i%3)) & 0xFF
}

// sextet has the value of each letter of both alphabets of base64, or -1.
var sextet = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		t[c] = int8(i)
	}
	t['-'], t['_'] = 62, 63
	return t
}()

func (b encoded) has(i int, s string) bool {
	for k := range len(s) {
		if b.at(i+k) != int(s[k]) {
			return false
		}
	}
	return true
}

func (b encoded) big(i, n int) (v int) {
	for k := range n {
		v = v<<8 | max(b.at(i+k), 0)
	}
	return v
}

func (b encoded) little(i, n int) (v int) {
	for k := n - 1; k >= 0; k-- {
		v = v<<8 | max(b.at(i+k), 0)
	}
	return v
}

func (b encoded) webp() (w, h int) {
	switch {
	case b.has(12, "VP8X"):
		return b.little(24, 3) + 1, b.little(27, 3) + 1
	case b.has(12, "VP8L") && b.at(20) == 0x2F:
		v := b.little(21, 4)
		return v&0x3FFF + 1, v>>14&0x3FFF + 1
	case b.has(12, "VP8 ") && b.has(23, "\x9d\x01\x2a"):
		return b.little(26, 2) & 0x3FFF, b.little(28, 2) & 0x3FFF
	}
	return 0, 0
}

// jpeg steps over segments until the one that begins the frame.
func (b encoded) jpeg() (w, h int) {
	for i := 2; b.at(i) == 0xFF; {
		marker := b.at(i + 1)
		switch {
		case marker == 0xFF: // fill
			i++
			continue
		case marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC:
			return b.big(i+7, 2), b.big(i+5, 2)
		case marker == 0x01 || marker >= 0xD0 && marker <= 0xD8: // without length
			i += 2
			continue
		case marker == 0xD9 || marker == 0xDA || marker < 0: // no frame before the end
			return 0, 0
		}
		n := b.big(i+2, 2)
		if n < 2 {
			return 0, 0
		}
		i += 2 + n
	}
	return 0, 0
}
