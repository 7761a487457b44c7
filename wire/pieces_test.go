package wire_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// inPieces reports whether the bytes of a request have to be put together.
func inPieces(r *wire.Request) bool { return &r.Raw()[0] != &r.Transcript().Raw()[0] }

// sameInPieces repairs and rewrites a body, in a row, with room behind it and without, and wants the
// same of both. It returns how many results lay in pieces.
func sameInPieces(t *testing.T, r *rand.Rand, body []byte, o wire.Options) (pieces int) {
	t.Helper()
	bare, err := wire.Parse(bytes.Clone(body), o)
	if err != nil {
		return 0
	}
	o.Room = true
	raw := append(make([]byte, 0, len(body)+r.IntN(2+4*len(body))), body...)
	with, err := wire.Parse(raw, o)
	if err != nil {
		t.Fatal(err)
	}
	first := [2]*wire.Request{bare, with}
	same := func(what string, a, b *wire.Request, x, y []wire.Change) {
		var out bytes.Buffer
		if n, err := b.WriteTo(&out); err != nil || n != int64(b.Size()) {
			t.Fatalf("%s: %d bytes of %d, %v", what, n, b.Size(), err)
		}
		if !bytes.Equal(a.Raw(), b.Raw()) || !bytes.Equal(a.Raw(), out.Bytes()) || !reflect.DeepEqual(x, y) {
			t.Fatalf("%s:\nin pieces %s\nwith %v\nin one    %s\nwith %v\nof %s", what, out.Bytes(), y, a.Raw(), x, body)
		}
		if inPieces(b) {
			pieces++
		}
	}
	for range 3 {
		p := wire.Repair{OrphanCall: wire.Remedy(r.IntN(2)), OrphanResult: wire.Remedy(r.IntN(2))}
		x, err := bare.MendSince(first[0], p, wire.CheckOptions{})
		y, also := with.MendSince(first[1], p, wire.CheckOptions{})
		if err != nil || also != nil {
			t.Fatalf("in one piece %v, in several %v: %s", err, also, bare.Raw())
		}
		same("mended", x.Request, y.Request, x.Changes, y.Changes)
		if !reflect.DeepEqual(x.Left, y.Left) {
			t.Fatalf("left %v and %v", x.Left, y.Left)
		}
		var drop []transcript.BlockID
		var edits []wire.BlockEdit
		for b := range bare.Transcript().Blocks() {
			switch id := transcript.BlockID(b); {
			case id >= transcript.BlockID(len(x.Request.Transcript().Blocks())):
			case r.IntN(6) == 0:
				drop = append(drop, id)
			case r.IntN(6) == 0 && x.Request.Editable(id):
				edits = append(edits, wire.BlockEdit{Block: id, Text: "something \"else\""})
			}
		}
		var insert []wire.Insertion
		if n := len(x.Request.Transcript().Messages()); r.IntN(2) == 0 {
			insert = []wire.Insertion{{Before: r.IntN(n + 1), Role: transcript.User, Text: "a word"}}
		}
		a, told, err := x.Request.RewriteSince(first[0], drop, edits, insert...)
		b, too, also := y.Request.RewriteSince(first[1], drop, edits, insert...)
		if err != nil || also != nil {
			t.Fatalf("rewritten in one piece %v, in several %v: %s", err, also, x.Request.Raw())
		}
		same("rewritten", a, b, told, too)
		if !reflect.DeepEqual(a.EditsSince(first[0]), b.EditsSince(first[1])) || !bytes.Equal(raw, body) {
			t.Fatalf("edits are %v and %v of %s", a.EditsSince(first[0]), b.EditsSince(first[1]), raw)
		}
		bare, with = a, b
	}
	return pieces
}

// TestPieces: it makes no difference whether results lie in one piece.
func TestPieces(t *testing.T) {
	t.Parallel()
	pieces := 0
	histories(t, 4000, paretest.GenOptions{Turns: 3, Steps: 2}, func(r *rand.Rand, s paretest.Script) {
		d, o := one(r)
		o.Bare = r.IntN(8) == 0
		broken, _ := paretest.Break(r, s)
		body := broken.Render(d, o)
		if r.IntN(3) == 0 {
			var b bytes.Buffer
			if json.Indent(&b, body, " ", "\t") == nil {
				body = append(b.Bytes(), '\n')
			}
		}
		pieces += sameInPieces(t, r, body, wire.Options{Dialect: d})
		body, _ = paretest.Corrupt(r, body)
		pieces += sameInPieces(t, r, body, wire.Options{Dialect: d})
	})
	if t.Logf("%d results lay in pieces", pieces); pieces < 100 {
		t.Errorf("%d results lay in pieces", pieces)
	}
}

// TestPiecesOfIncidents does the same with real incidents, and the examples of the rules.
func TestPiecesOfIncidents(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, z := range corpus.Zoo(t) {
		for range 20 {
			sameInPieces(t, r, z.Body(), wire.Options{})
		}
	}
	for _, f := range corpus.Fixtures(t) {
		for _, body := range [][]byte{f.Bad, f.Good, f.Accept} {
			for range 10 {
				sameInPieces(t, r, body, wire.Options{})
			}
		}
	}
}

// TestRoomOnce: the room behind a request is for one result. Another one gets memory of its own.
func TestRoomOnce(t *testing.T) {
	body := []byte(`{"model":"gpt-5","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"user","content":"and?"}]}`)
	r, err := wire.Parse(append(make([]byte, 0, 4096), body...), wire.Options{Room: true})
	if err != nil {
		t.Fatal(err)
	}
	var all [2]*wire.Mended
	for i, p := range []wire.Repair{{}, {OrphanCall: wire.RemedyDrop}} {
		if all[i], err = r.Mend(p, wire.CheckOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := inPieces(all[0].Request), inPieces(all[1].Request); !a || b {
		t.Errorf("in pieces: %v, %v", a, b)
	}
	if raw := all[0].Request.Raw(); !bytes.Contains(raw, []byte(wire.DefaultStub)) || bytes.Contains(all[1].Request.Raw(), []byte("tool_calls")) {
		t.Errorf("%s", raw)
	}
}
