//go:build amd64 && !purego

// The quotes of a body where a register holds a block of 64 bytes. What blocks have in
// common with those of kernel_amd64.s is explained there. There are two differences. No
// block waits for another: a rune that hangs over its end is looked at by the next one,
// which reads three bytes back. And how many quotes a block has makes no difference.

#include "textflag.h"

#define EACH(byte, z) \
	MOVL   $byte, R11   \
	VPBROADCASTB R11, z

// func quotesAVX512(data []byte, from, to int, dst []uint32, escaped, inside uint64) (next, n int, escapedNext, insideNext uint64, odd bool)
//
// Registers: SI data, AX offset of the block, DX last offset a block fits at, BX how far to
// go on, R14 where to write, CX 1 if the first byte is escaped, R15 all ones if it is inside
// of a string, R13 the odd bits, R8 quotes, R10 escaped bytes, K4 what is unusual.
TEXT ·quotesAVX512(SB), NOSPLIT, $16-113
	MOVQ data_base+0(FP), SI
	MOVQ from+24(FP), AX
	MOVQ to+32(FP), DX
	MOVQ dst_base+40(FP), R14
	MOVQ dst_len+48(FP), R11
	LEAQ -256(R14)(R11*4), R11
	MOVQ R11, last-8(SP) // where a block's quotes still have room
	MOVQ escaped+64(FP), CX
	MOVQ inside+72(FP), R15
	SUBQ $64, DX
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	EACH('"', Z15)
	EACH('\\', Z14)
	EACH(' ', Z13)
	EACH(0x0F, Z12)
	VMOVDQU64 ·legalEscapes(SB), Z11
	VMOVDQU64 ·counted(SB), Z10
	MOVB $0, odd+112(FP)
	JMP  enough

block:
	VMOVDQU64 (SI)(AX*1), Z0
	VPMINSB   -3(SI)(AX*1), Z0, Z1
	VPCMPEQB  Z0, Z15, K1
	VPCMPEQB  Z0, Z14, K2
	VPSRLW    $1, Z0, Z2
	VPERMB    Z11, Z2, Z2
	VPCMPEQB  Z0, Z2, K3
	VPCMPGTB  Z1, Z13, K4 // signed: control characters and all beyond ASCII
	KMOVQ     K1, R8
	KMOVQ     K2, R9
	MOVQ      CX, DI      // in case the block is given back

	// As ESCAPED2.
	MOVQ    R9, R11
	NOTQ    R11
	ANDNQ   R9, CX, R9
	LEAQ    (R9)(R9*1), R10
	ANDNQ   R9, R10, R10
	ANDNQ   R10, R13, R10
	ADDQ    R9, R10
	ANDNQ   R9, R10, R10
	XORQ    R13, R10
	ANDQ    R9, R10
	LEAQ    (CX)(R10*2), R10
	BSRQ    R11, R11
	LEAQ    1(R11), R11
	CMOVQEQ CX, R11
	ANDQ    $1, R11
	MOVQ    R11, CX

	MOVL    $64, BX
	ANDNQ   R8, R10, R8
	KMOVQ   K3, R9
	ANDNQ   R10, R9, R9 // the escapes of more than two bytes
	JNZ     hex

looked:
	KORTESTQ K4, K4
	JNE      unusual

next:
	// Sixteen at a time, whether they are there or not: there is room.
	POPCNTQ     R8, R9
	JZ          stored
	KMOVQ       R8, K1
	MOVL        AX, at-16(SP)
	VPCOMPRESSB.Z Z10, K1, Z2
	VPMOVZXBD   X2, Z3
	VPADDD.BCST at-16(SP), Z3, Z3
	VMOVDQU32   Z3, (R14)
	CMPQ        R9, $16
	JGT         many

stored:
	LEAQ (R14)(R9*4), R14
	ANDQ $1, R9
	NEGQ R9
	XORQ R9, R15 // an odd number of quotes turns it round
	ADDQ BX, AX

enough:
	CMPQ AX, DX
	JGT  done
	CMPQ R14, last-8(SP)
	JLE  block

done:
	SUBQ dst_base+40(FP), R14
	SHRQ $2, R14
	MOVQ AX, next+80(FP)
	MOVQ R14, n+88(FP)
	MOVQ CX, escapedNext+96(FP)
	MOVQ R15, insideNext+104(FP)
	VZEROUPPER
	RET

many:
	VEXTRACTI32X4 $1, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD.BCST   at-16(SP), Z3, Z3
	VMOVDQU32     Z3, 64(R14)
	VEXTRACTI32X4 $2, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD.BCST   at-16(SP), Z3, Z3
	VMOVDQU32     Z3, 128(R14)
	VEXTRACTI32X4 $3, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD.BCST   at-16(SP), Z3, Z3
	VMOVDQU32     Z3, 192(R14)
	JMP           stored

odd:
	MOVB $1, odd+112(FP)
	MOVQ DI, CX
	JMP  done

	// Take the u's off R9 that are right: four digits follow, unless the first is a D and the
	// second 8 or more.
hex:
	VBROADCASTI32X4 ·hexLow(SB), Z6
	VBROADCASTI32X4 ·hexHigh(SB), Z7
	VPSRLW   $4, Z0, Z2
	VPANDQ   Z12, Z2, Z2
	VPSHUFB  Z2, Z7, Z2
	VPSHUFB  Z0, Z6, Z3
	VPANDQ   Z2, Z3, Z2
	EACH(0xC0, Z4)
	EACH(0x20, Z5)
	EACH(0x10, Z6)
	EACH(0x08, Z7)
	VPTESTMB Z2, Z4, K1
	VPTESTMB Z2, Z5, K2
	VPTESTMB Z2, Z6, K3
	VPTESTMB Z2, Z7, K5
	KMOVQ    K1, R12   // 8 and 9, and letters
	KMOVQ    K2, R11   // 0 to 7
	ORQ      R12, R11
	MOVQ     R11, R10
	SHRQ     $1, R10
	ANDQ     R10, R11  // two digits in a row
	MOVQ     R11, R10
	SHRQ     $2, R10
	ANDQ     R10, R11  // four
	SHRQ     $1, R11
	KMOVQ    K3, R10   // D
	SHRQ     $1, R10
	SHRQ     $2, R12
	ANDQ     R12, R10
	ANDNQ    R11, R10, R11
	KMOVQ    K5, R10   // u
	ANDQ     R10, R11
	ANDNQ    R9, R11, R9
	JZ       looked

	// One that may hang over the end starts the next block.
	TZCNTQ  R9, R11
	CMPQ    R11, $60
	JLT     odd
	DECQ    R11
	BZHIQ   R11, R8, R8
	POPCNTQ R8, R12
	ANDQ    $1, R12
	NEGQ    R12
	XORQ    R15, R12
	JZ      odd        // no string: what looks like an escape is none
	MOVQ    R11, BX
	XORL    CX, CX
	JMP     looked

unusual:
	VPCMPGTB Z0, Z13, K1
	VPMOVB2M Z0, K2
	KANDNQ   K1, K2, K1
	KMOVQ    K1, R9    // control characters
	TESTQ    R9, R9
	JZ       runes
	VMOVQ      R8, X2
	VPCMPEQB   X3, X3, X3
	VPCLMULQDQ $0, X3, X2, X2
	VMOVQ      X2, R12
	XORQ       R15, R12
	ANDQ       R12, R9 // inside of strings
	JNZ        odd

	// As RUNES.
runes:
	VBROADCASTI32X4 ·firstHigh(SB), Z6
	VBROADCASTI32X4 ·firstLow(SB), Z7
	VBROADCASTI32X4 ·secondHigh(SB), Z8
	VMOVDQU64  -1(SI)(AX*1), Z1
	VPSRLW     $4, Z1, Z2
	VPANDQ     Z12, Z2, Z2
	VPANDQ     Z12, Z1, Z1
	VPSHUFB    Z2, Z6, Z2
	VPSHUFB    Z1, Z7, Z1
	VPSRLW     $4, Z0, Z3
	VPANDQ     Z12, Z3, Z3
	VPSHUFB    Z3, Z8, Z3
	VPTERNLOGQ $0x80, Z1, Z2, Z3 // what all three share
	EACH(0x60, Z4)
	EACH(0x70, Z5)
	EACH(0x80, Z6)
	VMOVDQU64  -2(SI)(AX*1), Z1
	VMOVDQU64  -3(SI)(AX*1), Z2
	VPSUBUSB   Z4, Z1, Z1
	VPSUBUSB   Z5, Z2, Z2
	VPORQ      Z1, Z2, Z2
	VPANDQ     Z6, Z2, Z2
	VPCMPEQB   Z2, Z3, K1
	KORTESTQ   K1, K1
	JCS        next              // all are right
	JMP        odd
