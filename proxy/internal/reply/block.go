package reply

import "github.com/pare-llm/pare/internal/jsonedit"

// A block is an element of a stream that arrives in pieces.
type block struct {
	start     []byte
	texts     map[string][]byte   // by member
	lists     map[string][][]byte // by member
	citations [][]byte
}

// newBlock returns a block that begins with an object, or nil if start is not an object.
func newBlock(start []byte) *block {
	if !isObject(start) {
		return nil
	}
	return &block{start: start, texts: make(map[string][]byte), lists: make(map[string][][]byte)}
}

func (b *block) appendText(member, piece string) {
	b.texts[member] = append(b.texts[member], piece...)
}

func (b *block) appendElement(member string, element []byte) {
	if element != nil {
		b.lists[member] = append(b.lists[member], element)
	}
}

// put returns an object with the pieces of a text appended to one of its members.
func (b *block) put(object []byte, member string) []byte {
	pieces, ok := b.texts[member]
	if !ok {
		return object
	}
	return jsonedit.Put(object, jsonedit.Quote(jsonedit.TextAt(object, member)+string(pieces)), member)
}
