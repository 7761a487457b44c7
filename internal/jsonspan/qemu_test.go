//go:build linux && amd64

package jsonspan

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestKernelOfARM runs what tests the kernel for arm64 on this machine, as QEMU sees it.
func TestKernelOfARM(t *testing.T) {
	trial.Long(t, "runs under an emulator")
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("NOT TESTED: there is no qemu-aarch64 to run the kernel for arm64 (apt-get install qemu-user)")
	}
	binary := filepath.Join(t.TempDir(), "jsonspan.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(emulator, binary, "-test.short", "-test.run", "TestMasks|TestAheadInsideSlice|TestReadAheadInMiddle|Fuzz").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
