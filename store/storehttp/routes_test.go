package storehttp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRoutesAreDescribed(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		if doc.Paths[r.path][strings.ToLower(r.method)] == nil {
			t.Errorf("%s %s is not described", r.method, r.path)
		}
	}
}
