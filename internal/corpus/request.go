package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"testing"
)

// A Body is a request, recorded or assembled from a session.
type Body struct {
	Group string // which provider or agent it is from
	Name  string
	Model string // where only the URL names it
	Raw   []byte
}

// A Request was sent to a provider.
type Request struct {
	Body
	Source string // the file it was recorded in
	N      int    // which one of it
	list   []json.RawMessage
}

var modelInURL = regexp.MustCompile(`/models?/([^/:]+(?:%3A\d+)?)`)

var requests once[Request]

// Requests reads the recorded requests by dialect; Group is the folder. Callers must not
// change the bytes.
func Requests(t testing.TB) []Request {
	t.Helper()
	return requests.get(func() []Request { return readRequests(t) })
}

// once is a list that is read once for all tests of a package.
type once[T any] struct {
	sync.Mutex
	all []T
}

func (o *once[T]) get(read func() []T) []T {
	o.Lock()
	defer o.Unlock()
	if o.all == nil {
		o.all = read()
	}
	return slices.Clone(o.all)
}

func readRequests(t testing.TB) []Request {
	t.Helper()
	var all []Request
	for _, f := range Files(t, "*/*.requests.jsonl*") {
		n := 0
		values(f.Raw, func(v json.RawMessage) {
			var x struct {
				Source string
				N      int
				URL    string
				Body   json.RawMessage
			}
			decode(t, v, &x)
			r := Request{Body: Body{Group: f.Folder, Name: fmt.Sprintf("%s #%d", f.Name(), n), Raw: x.Body}, Source: x.Source, N: x.N}
			if m := modelInURL.FindStringSubmatch(x.URL); m != nil {
				r.Model, _ = url.PathUnescape(m[1])
			}
			all = append(all, r)
			n++
		})
	}
	return all
}

// LastRequests are the recorded requests that no other one of their source continues.
func LastRequests(t testing.TB) []Request {
	t.Helper()
	all := Requests(t)
	sources := make(map[string][]*Request)
	for i := range all {
		r := &all[i]
		var lists struct{ Messages, Input, Contents json.RawMessage }
		decode(t, r.Raw, &lists)
		for _, l := range []json.RawMessage{lists.Messages, lists.Input, lists.Contents} {
			if len(l) > 0 && l[0] == '[' {
				decode(t, l, &r.list)
			}
		}
		key := r.Group + "\x00" + r.Source
		sources[key] = append(sources[key], r)
	}
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	return slices.DeleteFunc(all, func(x Request) bool {
		return slices.ContainsFunc(sources[x.Group+"\x00"+x.Source], func(y *Request) bool {
			return len(y.list) > len(x.list) && slices.EqualFunc(x.list, y.list[:len(x.list)], same)
		})
	})
}

// values yields the JSON values of a file of lines; some lines hold two.
func values(data []byte, yield func(json.RawMessage)) {
	for line := range bytes.Lines(data) {
		if json.Valid(line) {
			yield(bytes.TrimSpace(line))
			continue
		}
		for dec := json.NewDecoder(bytes.NewReader(line)); ; {
			var v json.RawMessage
			if dec.Decode(&v) != nil {
				break
			}
			yield(v)
		}
	}
}

func decode(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types
	}
	return b.Bytes()
}
