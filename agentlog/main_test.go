package agentlog

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain: the tests make small, short-lived trees; collecting them often would be a third of
// the work.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
