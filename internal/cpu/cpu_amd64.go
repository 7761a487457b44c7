//go:build amd64 && !purego

package cpu

// A want is a set of bits that must all be given, by the words that hold them.
type want struct {
	basic  uint32 // leaf 1, CX
	system uint32 // XCR0: the registers that the system saves
	wide   uint32 // leaf 7, BX
}

const (
	clmul   = 1 << 1
	osxsave = 1 << 27
	avx     = 1 << 28

	savesYMM = 0x06 // XMM and YMM

	bmi1 = 1 << 3
	avx2 = 1 << 5
)

// AVX2 reports whether there are AVX2, BMI1 and the product without carry.
func AVX2() bool {
	return want{clmul | osxsave | avx, savesYMM, bmi1 | avx2}.met()
}

func (w want) met() bool {
	if top, _, _ := cpuid(0); top < 7 {
		return false
	}
	// The system's registers may be asked for only where osxsave is set.
	if _, _, c := cpuid(1); c&w.basic != w.basic || xgetbv()&w.system != w.system {
		return false
	}
	_, b, _ := cpuid(7)
	return b&w.wide == w.wide
}

// cpuid returns what the processor says of itself in the first part of a leaf.
func cpuid(leaf uint32) (ax, bx, cx uint32)

// xgetbv returns the low half of XCR0.
func xgetbv() uint32
