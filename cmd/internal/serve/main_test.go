package serve

import (
	"os"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
)

func TestMain(m *testing.M) {
	status := m.Run()
	pgtest.Stop()
	os.Exit(status)
}
