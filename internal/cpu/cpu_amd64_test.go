//go:build amd64 && linux && !purego

package cpu

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestLinuxAgrees asks the kernel of the system, which leaves out what it does not save.
func TestLinuxAgrees(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skipf("the system does not list what the processor can do: %v", err)
	}
	line := regexp.MustCompile(`(?m)^flags\s*:(.*)$`).FindSubmatch(info)
	if line == nil {
		t.Skip("/proc/cpuinfo lists no flags")
	}
	flags := map[string]bool{}
	for flag := range strings.FieldsSeq(string(line[1])) {
		flags[flag] = true
	}
	for _, c := range []struct {
		name  string
		got   bool
		flags string
	}{
		{"AVX2", AVX2(), "pclmulqdq avx bmi1 avx2"},
	} {
		want := true
		for flag := range strings.FieldsSeq(c.flags) {
			want = want && flags[flag]
		}
		if c.got != want {
			t.Errorf("%s() = %v, the system says %v", c.name, c.got, want)
		}
	}
	if (want{basic: osxsave, system: savesYMM | 1<<31}).met() {
		t.Error("a register that no system saves is saved")
	}
}
