//go:build amd64 && !purego

package tokens

import "github.com/pare-llm/pare/internal/cpu"

// useVBMI2 is a fact about the machine; only tests set it.
var useVBMI2 = cpu.VBMI2()

// runVBMI2 adds up what the bytes of text add, 64 at a time, if last is the class of the
// byte in front of them and, if escapes is set, escapes are read as what they stand for. It
// stops in front of an escape that stands for something beyond ASCII, or for nothing, and of
// 64 bytes half of which are not ASCII, and never in the middle of an escape. LastNext is the
// class of the byte that n follows.
//
//go:noescape
func runVBMI2(l *lanes, text []byte, last uint8, escapes bool) (n int, sum uint64, lastNext uint8)
