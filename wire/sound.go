package wire

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/pare-llm/pare/transcript"
)

// A sound is what is known of the beginning of a request from another that begins with the
// same messages, beside the same head, and in which a check has found nothing. What was looked
// at there by itself, each exchange and each turn that had ended, is not looked at again. The
// zero value knows nothing.
type sound struct {
	ways      uint32 // to check in which nothing was found
	messages  int    // that both begin with
	exchanges int    // the first so many of both are the same, and whole
}

// behind is what is known of a request that begins with so many messages of r; the first
// exchanges of r are whole, and the same there.
func (r *Request) behind(messages, exchanges int) sound {
	return sound{atomic.LoadUint32(&r.clean), messages, exchanges}
}

// sounds is what is known for the way that is checked.
func (c *checker) sounds() sound {
	if c.anew || c.sound.ways&c.o.bit() == 0 {
		return sound{}
	}
	return c.sound
}

// ended is how many turns are known to be without fault: those in front of the last one that
// is known, which may go on.
func (s sound) ended(t *transcript.Transcript) int {
	if s.messages == 0 {
		return 0
	}
	return t.Messages()[s.messages-1].Turn
}

// mustFind panics if a check that looks at everything finds something else.
func (c *checker) mustFind() {
	all := checker{Request: c.Request, o: c.o, anew: true}
	all.run()
	if !reflect.DeepEqual(c.found, all.found) {
		panic(fmt.Sprintf("wire: a check of all finds %v and not %v in %s", all.found, c.found, c.raw))
	}
}
