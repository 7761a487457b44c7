package wire

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/pare-llm/pare/transcript"
)

// A sound is what is known of stretches of a request from another that has the same messages
// there, beside the same head, and in which a check has found nothing. What was looked at there
// by itself, each exchange, each message and each turn that had ended, is not looked at again,
// nor what was looked at with its neighbours if they are the same, too. The zero value knows
// nothing.
type sound struct {
	ways  uint32 // to check in which nothing was found
	parts []transcript.Stretch
}

// behind is what is known of a request that shares stretches with r.
func (r *Request) behind(parts []transcript.Stretch) sound {
	return sound{atomic.LoadUint32(&r.clean), parts}
}

// known is what is known for the way that is checked.
func (c *checker) known() stretches {
	switch way := c.o.bit(); {
	case c.anew:
		return nil
	case c.lore != nil:
		return c.lore.known(c.Request, way)
	case c.sound.ways&way == 0:
		return nil
	}
	return c.sound.parts
}

// Stretches are those that are still to come for somebody who goes through a request.
type stretches []transcript.Stretch

// exchange is the next exchange, from i on, that is to be looked at.
func (k *stretches) exchange(i int) int {
	for len(*k) > 0 && i >= (*k)[0].First {
		i = max(i, (*k)[0].Last)
		*k = (*k)[1:]
	}
	return i
}

// message is the next message, from i on, that is to be looked at by itself.
func (k *stretches) message(i int) int {
	for len(*k) > 0 && i >= (*k)[0].From {
		i = max(i, (*k)[0].End)
		*k = (*k)[1:]
	}
	return i
}

// neighbour is the next message, from i on, that is to be looked at with the one in front of it,
// or because another may follow it now.
func (k *stretches) neighbour(i int) int {
	for len(*k) > 0 && i > (*k)[0].From {
		i = max(i, (*k)[0].End-1)
		*k = (*k)[1:]
	}
	return i
}

// mustFind panics if a check that looks at everything finds something else.
func (c *checker) mustFind() {
	all := checker{Request: c.Request, o: c.o, anew: true}
	all.run()
	if !reflect.DeepEqual(c.found, all.found) {
		panic(fmt.Sprintf("wire: a check of all finds %v and not %v in %s", all.found, c.found, c.raw))
	}
}
