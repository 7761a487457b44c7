//go:build amd64 && !purego

package tokens

import "github.com/pare-llm/pare/internal/cpu"

// useVBMI2 is a fact about the machine; only tests set it.
var useVBMI2 = cpu.VBMI2()

// runVBMI2 adds up what the bytes of text add, 64 at a time, if last is the class of the
// byte in front of them and, if escapes is set, escapes are read as what they stand for. It
// stops in front of a byte that is not ASCII, or of an escape that is not one of two bytes,
// and never in the middle of an escape. LastNext is the class of the
// byte that n follows.
//
//go:noescape
func runVBMI2(l *lanes, text []byte, last uint8, escapes bool) (n int, sum uint64, lastNext uint8)
