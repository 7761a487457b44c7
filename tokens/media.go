package tokens

// A vision is how a model turns a picture into tokens.
type vision struct {
	kind visionKind
	// patch is the side of a square that is one token (patches), in pixels.
	patch int
	// permille is the price of a patch (patches) in thousandths of a token.
	permille int
	// most is the number of patches that larger pictures are scaled down to; zero
	// is no limit.
	most int
	// edge is the length that a longer side is scaled down to; zero is no limit.
	edge int
	// base and tile are the price of a picture and of each of its tiles (tiles);
	// of a flat rate, base is all.
	base, tile int
	// page is what the text of a page of a document adds to its picture.
	page int
}

type visionKind uint8

const (
	byPatches visionKind = iota
	byTiles              // as GPT-4o: fit into 2048², short side to 768, tiles of 512
	byCrops              // as Gemini 2: one tile, or tiles of two thirds of the short side
	flat
)

// The figures are the vendors' own, checked in October 2026 against what pictures of
// ten sizes were billed.
var (
	claudeSmall = vision{kind: byPatches, patch: 28, permille: 1000, most: 1600, edge: 1568, page: 3000}
	claudeLarge = vision{kind: byPatches, patch: 28, permille: 1000, most: 4784, edge: 2576, page: 3900}
	patches32   = vision{kind: byPatches, patch: 32, permille: 1200, page: 1500}
	patchesMini = vision{kind: byPatches, patch: 32, permille: 1620, most: 1536, page: 1500}
	patchesNano = vision{kind: byPatches, patch: 32, permille: 2460, most: 1536, page: 1500}
	patchesO4   = vision{kind: byPatches, patch: 32, permille: 1720, most: 1536, page: 1500}
	tiles85     = vision{kind: byTiles, base: 85, tile: 170, page: 1500}
	tiles75     = vision{kind: byTiles, base: 75, tile: 150, page: 1500}
	tiles70     = vision{kind: byTiles, base: 70, tile: 140, page: 1500}
	tilesMini   = vision{kind: byTiles, base: 2833, tile: 5667, page: 1500}
	gemini2     = vision{kind: byCrops, tile: 258}
	gemini3     = vision{kind: flat, base: 1120}
)

// unknownSide is the side of a picture whose size cannot be read, and a page's long
// side is a little more than it: larger than most screenshots.
const unknownSide = 1600

// Image is the price of a picture in tokens at the model's usual (for OpenAI:
// automatic or high) detail. Sides that are not positive stand for a picture whose
// size is unknown and for the price of a large one. Pictures have no margin, and no
// Factor applies to them: the rules are the vendors' own.
func (e Estimator) Image(width, height int) int {
	if width <= 0 || height <= 0 {
		width, height = unknownSide, unknownSide
	}
	// No vendor takes pictures of more than some thousand pixels a side; the bound
	// keeps a forged header from overflowing.
	const longest = 1 << 16
	return e.visionOf().price(min(width, longest), min(height, longest))
}

// imageLow is the price of a picture that OpenAI's "detail":"low" asks for: never
// more than Image of 512 by 512 pixels.
func (e Estimator) imageLow(width, height int) int {
	v := e.visionOf()
	if v.kind == byTiles {
		return v.base
	}
	return min(e.Image(width, height), v.price(512, 512))
}

// pages is the price of a document of n pages: of each its text, as far as the
// vendor sends it along, and its picture.
func (e Estimator) pages(n int) int {
	v := e.visionOf()
	switch v.kind {
	case byCrops:
		return n * v.tile
	case flat:
		return n * v.base / 2 // Gemini 3 reads pages at half the resolution of pictures
	}
	return n * (v.page + v.price(1240, 1754))
}

func (e Estimator) visionOf() vision {
	if e.vision != nil {
		return *e.vision
	}
	return e.of().vision
}

func (v vision) price(w, h int) int {
	switch v.kind {
	case byTiles:
		w, h = within(w, h, 2048)
		if short := min(w, h); short > 768 {
			w, h = ceil(w*768, short), ceil(h*768, short)
		}
		return v.base + v.tile*ceil(w, 512)*ceil(h, 512)
	case byCrops:
		if w <= 384 && h <= 384 {
			return v.tile
		}
		side := min(max(min(w, h)*2/3, 256), 768)
		return v.tile * ceil(w, side) * ceil(h, side)
	case flat:
		return v.base
	}
	w, h = within(w, h, v.edge)
	n := ceil(w, v.patch) * ceil(h, v.patch)
	if v.most > 0 {
		n = min(n, v.most)
	}
	return ceil(n*v.permille, 1000)
}

// within scales a picture so that no side is longer than edge.
func within(w, h, edge int) (int, int) {
	if long := max(w, h); edge > 0 && long > edge {
		return ceil(w*edge, long), ceil(h*edge, long)
	}
	return w, h
}

func ceil(a, b int) int { return (a + b - 1) / b }
