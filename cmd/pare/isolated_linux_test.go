package main

import (
	"os"
	"strings"
	"testing"
)

func isolated(t *testing.T) (inside func(func()), isClosed bool) {
	d := newDesert(t)
	if !d.closed {
		return func(f func()) { f() }, false
	}
	return d.in, true
}

func unreachable() string {
	text, _ := os.ReadFile("/proc/thread-self/net/snmp")
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Ip:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "OutNoRoutes" {
				return fields[i]
			}
		}
	}
	return ""
}
