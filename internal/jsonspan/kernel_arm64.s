//go:build arm64 && !purego

#include "textflag.h"

// WORD gathers four compared vectors into one word of one bit per byte: each byte keeps the
// bit of its place in eight, and three sums of neighbours bring eight of them together.
#define WORD(a, b, c, d, reg) \
	VAND  V31.B16, a.B16, a.B16 \
	VAND  V31.B16, b.B16, b.B16 \
	VAND  V31.B16, c.B16, c.B16 \
	VAND  V31.B16, d.B16, d.B16 \
	VADDP b.B16, a.B16, a.B16   \
	VADDP d.B16, c.B16, c.B16   \
	VADDP c.B16, a.B16, a.B16   \
	VADDP a.B16, a.B16, a.B16   \
	VMOV  a.D[0], reg

// func blockMasks(b *[64]byte) (quote, slash, unusual uint64)
TEXT ·blockMasks(SB), NOSPLIT, $0-32
	MOVD  b+0(FP), R0
	VLD1  (R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	MOVD  $0x8040201008040201, R1
	VDUP  R1, V31.D2
	VMOVI $0x22, V30.B16 // quotes
	VMOVI $0x5C, V29.B16 // backslashes
	VMOVI $0x20, V28.B16
	VMOVI $0x60, V27.B16

	VCMEQ V0.B16, V30.B16, V4.B16
	VCMEQ V1.B16, V30.B16, V5.B16
	VCMEQ V2.B16, V30.B16, V6.B16
	VCMEQ V3.B16, V30.B16, V7.B16
	WORD(V4, V5, V6, V7, R2)

	VCMEQ V0.B16, V29.B16, V16.B16
	VCMEQ V1.B16, V29.B16, V17.B16
	VCMEQ V2.B16, V29.B16, V18.B16
	VCMEQ V3.B16, V29.B16, V19.B16
	WORD(V16, V17, V18, V19, R3)

	// Less a space, control characters and all beyond ASCII are at least 0x60: then the
	// larger of the two is the byte itself.
	VSUB  V28.B16, V0.B16, V0.B16
	VSUB  V28.B16, V1.B16, V1.B16
	VSUB  V28.B16, V2.B16, V2.B16
	VSUB  V28.B16, V3.B16, V3.B16
	VUMAX V0.B16, V1.B16, V0.B16
	VUMAX V2.B16, V3.B16, V2.B16
	VUMAX V0.B16, V2.B16, V0.B16 // if any is, the largest is
	VUMAX V0.B16, V27.B16, V1.B16
	VCMEQ V0.B16, V1.B16, V1.B16
	VMOV  V1.D[0], R4
	VMOV  V1.D[1], R5
	ORR   R5, R4, R4

	MOVD R2, quote+8(FP)
	MOVD R3, slash+16(FP)
	MOVD R4, unusual+24(FP)
	RET
