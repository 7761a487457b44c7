package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A talk generates messages like those of agents: text, a call, and its result with one or two
// kilobytes of code and logs.
type talk struct {
	r *rand.Rand
	n int
}

var vocabulary = strings.Fields(`func return if err != nil { } := range for var the test failed at line expected got in package file
	import error value string int byte context request session message with and is not found 404 200 ok done build main.go store.go`)

func (k *talk) words(n int) string {
	var text strings.Builder
	for range n {
		text.WriteString(vocabulary[k.r.IntN(len(vocabulary))])
		if k.r.IntN(4) == 0 {
			fmt.Fprintf(&text, "_%x", k.r.IntN(1<<16))
		}
		text.WriteByte(' ')
	}
	return text.String()
}

func (k *talk) next() []byte {
	k.n++
	id := fmt.Sprintf("toolu_%08d", k.n/3)
	switch k.n % 3 {
	case 1:
		return call(id)
	case 2:
		return result(fmt.Sprintf("toolu_%08d", (k.n-1)/3), k.words(150+k.r.IntN(150)))
	}
	return user(k.words(20))
}
