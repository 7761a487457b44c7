package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestRecords checks that the records of a session join to the same session, and that a seed
// damages it in one way.
func TestRecords(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		records int
	}{
		"lines":    {"{\"n\":1}\n{\"n\":2}\r\nbroken\n", 3},
		"list":     {`[{"n":1}, {"n":2}]`, 2},
		"document": {`{"id":"s","tags":["x"],"messages":[{"n":1},{"n":2},{"n":3}],"end":true}`, 3},
		"no list":  {`{"id":"s"}`, 0},
	} {
		records, put := recordsOf([]byte(c.file))
		if len(records) != c.records {
			t.Errorf("%s: %d records, want %d", name, len(records), c.records)
		}
		if c.records == 0 {
			continue
		}
		var was, now any
		again := put(records)
		if json.Unmarshal([]byte(c.file), &was) == nil {
			if err := json.Unmarshal(again, &now); err != nil || !reflect.DeepEqual(was, now) {
				t.Errorf("%s becomes %s", name, again)
			}
		} else if !bytes.Equal(again, bytes.ReplaceAll([]byte(c.file), []byte("\r"), nil)) {
			t.Errorf("%s becomes %q", name, again)
		}
		changed := false
		for seed := range uint64(20) {
			one, two := put(spoil(rand.New(rand.NewPCG(1, seed)), records)), put(spoil(rand.New(rand.NewPCG(1, seed)), records))
			if !bytes.Equal(one, two) {
				t.Errorf("%s: a seed spoils it in two ways", name)
			}
			changed = changed || !bytes.Equal(one, again)
		}
		if !changed {
			t.Errorf("%s: nothing spoils it", name)
		}
	}
}
