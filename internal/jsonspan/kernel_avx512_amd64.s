//go:build amd64 && !purego

// The quotes of a body where a register holds a block of 64 bytes. What blocks have in
// common with those of kernel_amd64.s is explained there. There are three differences. No
// block waits for another: of a rune that hangs over its end, all is looked at at once. How
// many quotes a block has makes no difference. And as few instructions as possible stand
// between two blocks in which nothing happens: they wait for each other.

#include "textflag.h"

#define EACH(byte, z) \
	MOVL   $byte, R11   \
	VPBROADCASTB R11, z

// func quotesAVX512(data []byte, from, to int, dst []uint32, escaped, inside uint64) (next, n int, escapedNext, insideNext uint64, odd bool)
//
// Registers: SI data, AX offset of the block, DX last offset a block fits at, BX how far to
// go on, R14 where to write, R12 from where on a block's quotes have no room, CX 1 if the
// first byte is escaped, R13 the odd bits, R15 63, R8 quotes, R9 escaped bytes, K3 those that
// are not two bytes long, K4 what is unusual.
TEXT ·quotesAVX512(SB), NOSPLIT, $8-113
	MOVQ data_base+0(FP), SI
	MOVQ from+24(FP), AX
	MOVQ to+32(FP), DX
	MOVQ dst_base+40(FP), R14
	MOVQ dst_len+48(FP), R12
	LEAQ -256(R14)(R12*4), R12
	MOVQ escaped+64(FP), CX
	SUBQ $64, DX
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	MOVL $63, R15
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
	VPCMPEQB  Z0, Z14, K2
	VPCMPEQB  Z0, Z15, K1
	VPSRLW    $1, Z0, Z2
	VPCMPGTB  Z0, Z13, K4 // signed: control characters and all beyond ASCII
	VPERMB    Z11, Z2, Z2
	KMOVQ     K2, R9
	KMOVQ     K1, R8

	// As ESCAPED, in fewer steps: a run of backslashes that starts at an odd place takes the
	// odd bits away that are not its own by the borrow; what is left of the odd bits differs
	// from them at the escapers, and at what the last one of a run escapes.
	ANDNQ R9, CX, R11
	ORQ   CX, R9
	LEAQ  (R11)(R11*1), R10
	ORQ   R13, R10
	SUBQ  R11, R10
	XORQ  R13, R10
	XORQ  R10, R9
	ANDQ  R11, R10
	SHRXQ R15, R10, CX

	KMOVQ    R9, K5
	ANDNQ    R8, R9, R8
	VPCMPB   $4, Z0, Z2, K5, K3
	KORTESTQ K3, K4
	JNE      closer
	TESTQ    R8, R8
	JNZ      found
	ADDQ     $64, AX
	CMPQ     AX, DX
	JLE      block
	JMP      done

found:
	MOVL $64, BX

	// Sixteen at a time, whether they are there or not: there is room.
stored:
	POPCNTQ     R8, R9
	KMOVQ       R8, K1
	MOVL        AX, at-8(SP)
	VPCOMPRESSB.Z Z10, K1, Z2
	VPMOVZXBD   X2, Z3
	VPADDD.BCST at-8(SP), Z3, Z3
	VMOVDQU32   Z3, (R14)
	CMPQ        R9, $16
	JGT         many

moved:
	LEAQ (R14)(R9*4), R14
	ADDQ BX, AX

enough:
	CMPQ AX, DX
	JGT  done
	CMPQ R14, R12
	JLE  block

done:
	SUBQ dst_base+40(FP), R14
	SHRQ $2, R14
	MOVQ AX, next+80(FP)
	MOVQ R14, n+88(FP)
	MOVQ CX, escapedNext+96(FP)
	ANDQ $1, R14
	NEGQ R14
	XORQ inside+72(FP), R14 // an odd number of quotes turns it round
	MOVQ R14, insideNext+104(FP)
	VZEROUPPER
	RET

many:
	VEXTRACTI32X4 $1, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD.BCST   at-8(SP), Z3, Z3
	VMOVDQU32     Z3, 64(R14)
	VEXTRACTI32X4 $2, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD.BCST   at-8(SP), Z3, Z3
	VMOVDQU32     Z3, 128(R14)
	VEXTRACTI32X4 $3, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD.BCST   at-8(SP), Z3, Z3
	VMOVDQU32     Z3, 192(R14)
	JMP           moved

odd:
	MOVB $1, odd+112(FP)
	MOVQ DI, CX
	JMP  done

	// DI is CX as it was, in case the block is given back.
closer:
	MOVL     $64, BX
	MOVQ     R9, DI
	ANDL     $1, DI
	KMOVQ    K3, R9
	TESTQ    R9, R9
	JZ       unusual

	// Take the u's off R9 that are right: four digits follow, unless the first is a D and the
	// second 8 or more.
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
	KMOVQ    K1, R15   // 8 and 9, and letters
	KMOVQ    K2, R11   // 0 to 7
	ORQ      R15, R11
	MOVQ     R11, R10
	SHRQ     $1, R10
	ANDQ     R10, R11  // two digits in a row
	MOVQ     R11, R10
	SHRQ     $2, R10
	ANDQ     R10, R11  // four
	SHRQ     $1, R11
	KMOVQ    K3, R10   // D
	SHRQ     $1, R10
	SHRQ     $2, R15
	ANDQ     R15, R10
	MOVL     $63, R15
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
	POPCNTQ R8, R10
	MOVQ    R14, R9
	SUBQ    dst_base+40(FP), R9
	SHRQ    $2, R9
	ADDQ    R9, R10
	ANDQ    $1, R10
	NEGQ    R10
	XORQ    inside+72(FP), R10
	JZ      odd        // no string: what looks like an escape is none
	MOVQ    R11, BX
	XORL    CX, CX

looked:
	KORTESTQ K4, K4
	JEQ      next

unusual:
	VPCMPGTB Z0, Z13, K1
	VPMOVB2M Z0, K2
	KANDNQ   K1, K2, K1
	KMOVQ    K1, R9    // control characters
	LEAQ     (SI)(AX*1), R10
	TESTQ    R9, R9
	JZ       runes
	VMOVQ      R8, X2
	VPCMPEQB   X3, X3, X3
	VPCLMULQDQ $0, X3, X2, X2
	VMOVQ      X2, R11
	MOVQ       R14, R10
	SUBQ       dst_base+40(FP), R10
	SHLQ       $61, R10
	SARQ       $63, R10
	XORQ       inside+72(FP), R10
	XORQ       R10, R11
	ANDQ       R11, R9 // inside of strings
	JNZ        odd
	LEAQ       (SI)(AX*1), R10

	// As RUNES, at R10.
runes:
	VMOVDQU64  (R10), Z0
	VBROADCASTI32X4 ·firstHigh(SB), Z6
	VBROADCASTI32X4 ·firstLow(SB), Z7
	VBROADCASTI32X4 ·secondHigh(SB), Z8
	VMOVDQU64  -1(R10), Z1
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
	VMOVDQU64  -2(R10), Z1
	VMOVDQU64  -3(R10), Z2
	VPSUBUSB   Z4, Z1, Z1
	VPSUBUSB   Z5, Z2, Z2
	VPORQ      Z1, Z2, Z2
	VPANDQ     Z6, Z2, Z2
	VPCMPEQB   Z2, Z3, K1
	KORTESTQ   K1, K1
	JCC        odd               // not all are right

	// What hangs over the end is at most three bytes long.
	TESTL $0x80808000, 60(SI)(AX*1)
	JEQ   next
	LEAQ  3(SI)(AX*1), R11
	CMPQ  R10, R11
	JEQ   next
	MOVQ  data_len+8(FP), R9
	SUBQ  $67, R9
	CMPQ  AX, R9
	JGT   odd
	MOVQ  R11, R10
	JMP   runes

next:
	TESTQ R8, R8
	JNZ   stored
	ADDQ  BX, AX
	JMP   enough

// func shortEscapesAVX512(data []byte, i int) (next, n, escaped int)
//
// Registers as above, but BX counts the escapes, and DI is CX as it was.
TEXT ·shortEscapesAVX512(SB), NOSPLIT, $0-56
	MOVQ data_base+0(FP), SI
	MOVQ data_len+8(FP), DX
	MOVQ i+24(FP), AX
	SUBQ $64, DX
	XORL BX, BX
	XORL CX, CX
	CMPQ AX, DX
	JGT  read
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	MOVL $63, R15
	EACH('\\', Z14)
	VMOVDQU64 ·legalEscapes(SB), Z11

next:
	VMOVDQU64 (SI)(AX*1), Z0
	VPCMPEQB  Z0, Z14, K2
	VPSRLW    $1, Z0, Z2
	VPERMB    Z11, Z2, Z2
	KMOVQ     K2, R9
	MOVQ      CX, DI
	ANDNQ     R9, CX, R11
	ORQ       CX, R9
	LEAQ      (R11)(R11*1), R10
	ORQ       R13, R10
	SUBQ      R11, R10
	XORQ      R13, R10
	XORQ      R10, R9
	ANDQ      R11, R10
	SHRXQ     R15, R10, CX
	KMOVQ     R9, K5
	VPCMPB    $4, Z0, Z2, K5, K3
	KORTESTQ  K3, K3
	JNE       longer
	POPCNTQ   R10, R10
	ADDQ      R10, BX
	ADDQ      $64, AX
	CMPQ      AX, DX
	JLE       next
	VZEROUPPER

read:
	MOVQ AX, next+32(FP)
	MOVQ BX, n+40(FP)
	MOVQ CX, escaped+48(FP)
	RET

longer:
	MOVQ DI, CX
	VZEROUPPER
	JMP  read
