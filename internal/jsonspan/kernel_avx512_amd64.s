//go:build amd64 && !purego

// The quotes of a body where a register holds a block of 64 bytes. What blocks have in
// common with those of kernel_amd64.s is explained there. Where something happens in a body
// cannot be predicted, and a wrong guess takes as long as two blocks. So up to 64 blocks are
// a batch: all are read in the same way, without a branch, then those are looked at again
// that have something unusual, then those that have quotes. Words tell which blocks these
// are, by a bit for each. And no block waits for the one before it.

#include "funcdata.h"
#include "textflag.h"

#define EACH(byte, z) \
	MOVL   $byte, R11   \
	VPBROADCASTB R11, z

// What is kept of each block of a batch: its quotes, the bytes that are not escaped, those that
// may not end two bytes with a backslash, and control characters and all beyond ASCII.
#define QUOTES(i)  quotes-2064(SP)(i)
#define BARE(i)    bare-1552(SP)(i)
#define ILLEGAL(i) illegal-1040(SP)(i)
#define UNUSUAL(i) unusual-528(SP)(i)

// NEXT takes the first block off a word: R8 is its number.
#define NEXT(word) \
	TZCNTQ word, R8   \
	BLSRQ  word, word

// WHERE sets R12 to where block R8 is.
#define WHERE \
	MOVQ R8, R12 \
	SHLQ $6, R12 \
	ADDQ SI, R12

// CLASS looks the bytes of x up in the tables of digits, and spoils it.
#define CLASS(x, y) \
	VPSRLW  $4, x, y  \
	VPANDQ  Z12, y, y \
	VPSHUFB y, Z7, y  \
	VPSHUFB x, Z6, x  \
	VPANDQ  x, y, y

// AT tells of each byte of a block whether the one n behind it is of a class. Z2 has the
// classes of the block, Z3 those of the block four bytes behind it. It spoils R11.
#define AT(n, class, word) \
	VPTESTMB Z2, class, K1 \
	VPTESTMB Z3, class, K2 \
	KMOVQ    K1, word      \
	KMOVQ    K2, R11       \
	SHRQ     $n, word      \
	SHLQ     $(4-n), R11   \
	ORQ      R11, word

// func quotesAVX512(data []byte, from, to int, dst []uint32, escaped, inside uint64) (next, n int, escapedNext, insideNext uint64, odd bool)
//
// Registers: SI where the batch is, AX eight times the number of the block, DX that of the
// first one behind the batch, CX all bits, but for the first if the first byte is escaped, R13
// the odd bits, R14 where to write. Of the blocks: BX those with quotes, DI those with
// something unusual, R15 those with escapes that are not two bytes long. On the stack, too:
// the offset of the batch, and CX for what follows.
TEXT ·quotesAVX512(SB), 0, $2064-113
	NO_LOCAL_POINTERS
	MOVQ data_base+0(FP), SI
	MOVQ from+24(FP), AX
	MOVQ dst_base+40(FP), R14
	MOVQ escaped+64(FP), CX
	NOTQ CX
	ADDQ AX, SI
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	EACH('"', Z15)
	EACH('\\', Z14)
	EACH(' ', Z13)
	EACH(0x0F, Z12)
	VMOVDQU64 ·legalEscapes(SB), Z11
	VMOVDQU64 ·counted(SB), Z10
	MOVB $0, odd+112(FP)

batch:
	MOVQ to+32(FP), DX
	SUBQ AX, DX
	SARQ $6, DX
	JLE  done
	MOVQ dst_base+40(FP), R12
	MOVQ dst_len+48(FP), R11
	LEAQ -256(R12)(R11*4), R12
	CMPQ R14, R12
	JGT  done
	MOVL $64, R11
	CMPQ DX, R11
	CMOVQGT R11, DX
	SHLQ $3, DX
	MOVQ AX, offset-8(SP)
	XORL AX, AX

block:
	PREFETCHT0 4096(SI)(AX*8) // the processor by itself looks ahead no further than a page
	VMOVDQU64  (SI)(AX*8), Z0
	VPCMPB     $4, Z0, Z14, K2
	VPCMPEQB   Z0, Z15, K1
	VPSRLW     $1, Z0, Z2
	VPCMPGTB   Z0, Z13, K4 // signed
	VPERMB     Z11, Z2, Z2
	VPCMPB     $4, Z0, Z2, K3
	KMOVQ      K2, R9      // all but backslashes

	// As ESCAPED, in fewer steps: a run of backslashes that starts at an odd place takes the
	// odd bits away that are not its own by the borrow; what is left of the odd bits differs
	// from them at the escapers, and at what the last one of a run escapes.
	MOVQ  R9, R8
	ANDNQ CX, R9, R11
	ANDQ  CX, R9
	LEAQ  (R11)(R11*1), R10
	ORQ   R13, R10
	SUBQ  R11, R10
	XORQ  R13, R10
	XORQ  R10, R9

	// What follows is escaped if the block ends with an odd number of backslashes.
	BSRQ R8, CX
	JEQ  slashes

follows:
	ORQ   $-2, CX
	KMOVQ K1, QUOTES(AX*1)
	MOVQ  R9, BARE(AX*1)
	KMOVQ K3, ILLEGAL(AX*1)
	KMOVQ K4, UNUSUAL(AX*1)
	ADDQ  $8, AX
	CMPQ  AX, DX
	JLT   block

	MOVQ CX, follows-16(SP)
	XORL R8, R8

	// What is behind the last block is of no account.
gather:
	VMOVDQU64 BARE(R8*8), Z0
	VMOVDQU64 UNUSUAL(R8*8), Z1
	VPTESTMQ  QUOTES(R8*8), Z0, K1
	VPTESTMQ  Z1, Z1, K2
	VPANDNQ   ILLEGAL(R8*8), Z0, Z0
	VPTESTMQ  Z0, Z0, K3
	KMOVQ K1, R9
	KMOVQ K2, R10
	KMOVQ K3, R11
	SHRQ  $8, R9, BX
	SHRQ  $8, R10, DI
	SHRQ  $8, R11, R15
	ADDQ  $8, R8
	CMPQ  R8, $64
	JLT   gather
	MOVQ  AX, R11
	SHRQ  $3, R11
	BZHIQ R11, BX, BX
	BZHIQ R11, DI, DI
	BZHIQ R11, R15, R15
	TESTQ R15, R15
	JNZ   longer

unusual:
	TESTQ DI, DI
	JNZ   runes

listed:
	TESTQ BX, BX
	JZ    moved
	MOVQ  dst_base+40(FP), R12
	MOVQ  dst_len+48(FP), R11
	LEAQ  -256(R12)(R11*4), R12

	// Sixteen at a time, whether they are there or not, as long as there is room for 64.
found:
	NEXT(BX)
	CMPQ    R14, R12
	JGT     full
	MOVQ    QUOTES(R8*8), R9
	ANDQ    BARE(R8*8), R9
	SHLL    $6, R8
	ADDL    offset-8(SP), R8
	KMOVQ   R9, K1
	POPCNTQ R9, R9
	VPBROADCASTD  R8, Z4
	VPCOMPRESSB.Z Z10, K1, Z2
	VPMOVZXBD     X2, Z3
	VPADDD        Z4, Z3, Z3
	VMOVDQU32     Z3, (R14)
	CMPQ    R9, $16
	JGT     many

stored:
	LEAQ  (R14)(R9*4), R14
	TESTQ BX, BX
	JNZ   found

moved:
	MOVQ follows-16(SP), CX
	LEAQ (SI)(AX*8), SI
	SHLQ $3, AX
	ADDQ offset-8(SP), AX
	CMPB odd+112(FP), $0
	JEQ  batch

done:
	SUBQ dst_base+40(FP), R14
	SHRQ $2, R14
	NOTQ CX
	MOVQ AX, next+80(FP)
	MOVQ R14, n+88(FP)
	MOVQ CX, escapedNext+96(FP)
	ANDQ $1, R14
	NEGQ R14
	XORQ inside+72(FP), R14 // an odd number of quotes turns it round
	MOVQ R14, insideNext+104(FP)
	VZEROUPPER
	RET

	// There is nothing else: what follows is escaped if the first byte is.
slashes:
	MOVQ R9, CX
	JMP  follows

many:
	VEXTRACTI32X4 $1, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD        Z4, Z3, Z3
	VMOVDQU32     Z3, 64(R14)
	VEXTRACTI32X4 $2, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD        Z4, Z3, Z3
	VMOVDQU32     Z3, 128(R14)
	VEXTRACTI32X4 $3, Z2, X3
	VPMOVZXBD     X3, Z3
	VPADDD        Z4, Z3, Z3
	VMOVDQU32     Z3, 192(R14)
	JMP           stored

	// The batch ends in front of block R8: it is odd, or has no room.
odd:
	MOVB $1, odd+112(FP)

full:
	BZHIQ R8, BX, BX
	BZHIQ R8, DI, DI
	MOVQ  BARE(R8*8), R11
	ORQ   $-2, R11
	MOVQ  R11, follows-16(SP)
	LEAQ  (R8*8), AX
	JMP   unusual

	// Right is a u with four digits behind it, unless the first is a D and the second 8 or more.
longer:
	VBROADCASTI32X4 ·hexLow(SB), Z6
	VBROADCASTI32X4 ·hexHigh(SB), Z7
	EACH(0xE0, Z4)
	EACH(0xC0, Z5)
	EACH(0x10, Z8)
	EACH(0x08, Z9)

escape:
	NEXT(R15)
	WHERE
	MOVQ  data_base+0(FP), R11
	ADDQ  data_len+8(FP), R11
	SUBQ  $68, R11
	CMPQ  R12, R11
	JGT   odd
	VMOVDQU64 (R12), Z0
	VMOVDQU64 4(R12), Z1
	CLASS(Z0, Z2)
	CLASS(Z1, Z3)
	AT(1, Z4, R9)
	AT(2, Z4, R10)
	ANDQ  R10, R9
	AT(3, Z4, R10)
	ANDQ  R10, R9
	AT(4, Z4, R10)
	ANDQ  R10, R9
	AT(0, Z9, R10)
	ANDQ  R10, R9 // a u and four digits
	AT(1, Z8, R10)
	AT(2, Z5, R12)
	ANDQ  R12, R10 // a D and 8 or more
	ANDNQ R9, R10, R9
	ORQ   BARE(R8*8), R9
	ANDNQ ILLEGAL(R8*8), R9, R9
	JNZ   odd
	TESTQ R15, R15
	JNZ   escape
	JMP   unusual

	// As RUNES, at R12.
runes:
	VBROADCASTI32X4 ·firstHigh(SB), Z6
	VBROADCASTI32X4 ·firstLow(SB), Z7
	VBROADCASTI32X4 ·secondHigh(SB), Z8
	EACH(0x60, Z3)
	EACH(0x70, Z4)
	EACH(0x80, Z5)
	XORL R15, R15
	XORL DX, DX

rune:
	NEXT(DI)
	WHERE
	VMOVDQU64 (R12), Z0
	VPMOVB2M  Z0, K2
	KMOVQ     K2, R9
	ANDNQ     UNUSUAL(R8*8), R9, R9 // control characters
	JNZ       control

valid:
	VMOVDQU64  -1(R12), Z1
	VPSRLW     $4, Z1, Z2
	VPANDQ     Z12, Z2, Z2
	VPANDQ     Z12, Z1, Z1
	VPSHUFB    Z2, Z6, Z2
	VPSHUFB    Z1, Z7, Z1
	VPSRLW     $4, Z0, Z0
	VPANDQ     Z12, Z0, Z0
	VPSHUFB    Z0, Z8, Z0
	VPTERNLOGQ $0x80, Z1, Z2, Z0 // what all three share
	VMOVDQU64  -2(R12), Z1
	VMOVDQU64  -3(R12), Z2
	VPSUBUSB   Z3, Z1, Z1
	VPSUBUSB   Z4, Z2, Z2
	VPORQ      Z1, Z2, Z2
	VPANDQ     Z5, Z2, Z2
	VPCMPB     $4, Z2, Z0, K1
	KORTESTQ   K1, K1
	JNE        odd

	// What hangs over the end is at most three bytes long.
	MOVQ  R12, R11
	SUBQ  SI, R11
	TESTB $63, R11
	JNE   right
	TESTL $0x80808000, 60(R12)
	JNE   hangs

right:
	TESTQ DI, DI
	JNZ   rune
	JMP   listed

hangs:
	MOVQ data_base+0(FP), R11
	ADDQ data_len+8(FP), R11
	SUBQ $67, R11
	CMPQ R12, R11
	JGT  odd
	ADDQ $3, R12
	VMOVDQU64 (R12), Z0
	JMP  valid

	// Not inside of strings. DX has as many bits as the first R15 blocks have quotes, or an
	// even number less.
control:
	CMPQ R15, R8
	JGE  known
	MOVQ QUOTES(R15*8), R11
	ANDQ BARE(R15*8), R11
	XORQ R11, DX
	INCQ R15
	JMP  control

known:
	POPCNTQ DX, R11
	MOVQ R14, R10
	SUBQ dst_base+40(FP), R10
	SHRQ $2, R10
	ADDQ R11, R10
	ANDQ $1, R10
	NEGQ R10
	XORQ inside+72(FP), R10
	MOVQ QUOTES(R8*8), R11
	ANDQ BARE(R8*8), R11
	VMOVQ      R11, X1
	VPCMPEQB   X2, X2, X2
	VPCLMULQDQ $0, X2, X1, X1
	VMOVQ      X1, R11
	XORQ  R10, R11
	TESTQ R9, R11
	JNZ   odd
	JMP   valid

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

// func pairAVX512(text []byte, a, b, fold byte) int
//
// Registers: SI text, AX offset of the block, DX last offset at which a block and the byte
// behind it fit.
TEXT ·pairAVX512(SB), NOSPLIT, $0-40
	MOVQ text_base+0(FP), SI
	MOVQ text_len+8(FP), DX
	SUBQ $65, DX
	XORL AX, AX
	CMPQ AX, DX
	JGT  none
	VPBROADCASTB a+24(FP), Z1
	VPBROADCASTB b+25(FP), Z2
	VPBROADCASTB fold+26(FP), Z3

next:
	VPORQ    (SI)(AX*1), Z3, Z4
	VPORQ    1(SI)(AX*1), Z3, Z5
	VPCMPEQB Z4, Z1, K1
	VPCMPEQB Z5, Z2, K1, K2
	KORTESTQ K2, K2
	JNE      found
	ADDQ     $64, AX
	CMPQ     AX, DX
	JLE      next
	VZEROUPPER

none:
	NOTQ AX
	MOVQ AX, ret+32(FP)
	RET

found:
	KMOVQ  K2, R8
	TZCNTQ R8, R8
	ADDQ   R8, AX
	VZEROUPPER
	MOVQ   AX, ret+32(FP)
	RET
