package ui

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	_ "image/gif" // pictures of these kinds are drawn small
	"image/jpeg"
	_ "image/png"
)

// An album draws small pictures of those in a conversation: what a page shows was drawn here, and
// none of the bytes of the conversation reach the browser. It stops when it has drawn enough.
type album struct {
	drawn  int
	pixels int
}

const (
	mostPictures = 100
	mostPixels   = 200_000_000 // that are looked at, of all
	oneTooLarge  = 40_000_000  // pixels
	thumbnail    = 320         // pixels of the longer side
)

// of draws the pictures in the JSON of a block.
func (a *album) of(raw []byte) (all []string) {
	for _, begin := range []string{`;base64,`, `"data":"`, `"data": "`, `"bytes":"`, `"bytes": "`} {
		for rest := raw; a.drawn < mostPictures; {
			_, data, found := bytes.Cut(rest, []byte(begin))
			if !found {
				break
			}
			end := bytes.IndexByte(data, '"')
			if end < 0 {
				break
			}
			rest = data[end:]
			if small := a.draw(data[:end]); small != "" {
				all = append(all, small)
				a.drawn++
			}
		}
	}
	return all
}

// draw makes a small picture of one in base64; "": it is none that can be drawn.
func (a *album) draw(text []byte) string {
	if len(text) < 40 || len(text) > 20<<20 {
		return ""
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(raw, text)
	if err != nil {
		return ""
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(raw[:n]))
	if err != nil || size.Width < 1 || size.Height < 1 || size.Width > oneTooLarge/size.Height || a.pixels+size.Width*size.Height > mostPixels {
		return ""
	}
	a.pixels += size.Width * size.Height
	img, _, err := image.Decode(bytes.NewReader(raw[:n]))
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	if jpeg.Encode(&out, shrunk(img), &jpeg.Options{Quality: 80}) != nil {
		return ""
	}
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(out.Bytes())
}

// shrunk is a picture on white whose longer side is that of a thumbnail at most: each of its
// pixels is the mean of a few of those that it stands for.
func shrunk(img image.Image) image.Image {
	box := img.Bounds()
	w, h := box.Dx(), box.Dy()
	longer := max(w, h, thumbnail)
	tw, th := max(1, w*thumbnail/longer), max(1, h*thumbnail/longer)
	out := image.NewRGBA(image.Rect(0, 0, tw, th))
	const grid = 3
	for y := range th {
		for x := range tw {
			var r, g, b uint32
			for k := range grid * grid {
				at := img.At(box.Min.X+(x*grid+k%grid)*w/(tw*grid), box.Min.Y+(y*grid+k/grid)*h/(th*grid))
				pr, pg, pb, pa := at.RGBA()
				r, g, b = r+pr+(0xffff-pa), g+pg+(0xffff-pa), b+pb+(0xffff-pa)
			}
			out.SetRGBA(x, y, color.RGBA{uint8(r / (grid * grid) >> 8), uint8(g / (grid * grid) >> 8), uint8(b / (grid * grid) >> 8), 255})
		}
	}
	return out
}
