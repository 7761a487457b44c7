//go:build amd64 && !purego

// The string scan, 64 bytes at a time. Each byte class becomes a word of one bit
// per byte; which bytes are escaped is then worked out in whole words.
//
// Registers: SI data, AX offset of the block, DX last offset a block fits at,
// CX 1 if the block's first byte is escaped by the byte before it,
// R13 the odd bits, R8 quotes and then all that is to stop the scan, R9 backslashes,
// R10 escaped bytes. R11 is scratch of the macros.

#include "textflag.h"

#define SPREAD(byte, y) \
	MOVL   $byte, R11   \
	VMOVD  R11, X0      \
	VPBROADCASTB X0, y

// MASK gathers two compared halves into one word.
#define MASK(lo, hi, word) \
	VPMOVMSKB lo, word \
	VPMOVMSKB hi, R11  \
	SHLQ      $32, R11 \
	ORQ       R11, word

// ESCAPED turns the backslashes in R9 into the escaped bytes in R10, and CX into
// that of the next block. In a run of backslashes every second one escapes,
// beginning with the first (a backslash escaped from before the block is none).
// Adding the first bits of the runs that start at an even place carries through
// exactly these runs and so tells them apart: their escapers stand on even places,
// those of the other runs on odd ones.
#define ESCAPED \
	ANDNQ R9, CX, R9       \
	LEAQ  (R9)(R9*1), R10  \
	ANDNQ R9, R10, R10     \
	ANDNQ R10, R13, R10    \
	ADDQ  R9, R10          \
	ANDNQ R9, R10, R10     \
	XORQ  R13, R10         \
	ANDQ  R9, R10          \
	MOVQ  R10, R11         \
	LEAQ  (CX)(R10*2), R10 \
	SHRQ  $63, R11         \
	MOVQ  R11, CX

// func structuralAVX2(data []byte, i int) int
TEXT ·structuralAVX2(SB), NOSPLIT, $0-40
	MOVQ data_base+0(FP), SI
	MOVQ data_len+8(FP), DX
	MOVQ i+24(FP), AX
	SUBQ $64, DX
	XORL CX, CX
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	SPREAD('"', Y15)
	SPREAD('\\', Y14)
	JMP  enough

block:
	VMOVDQU  (SI)(AX*1), Y0
	VMOVDQU  32(SI)(AX*1), Y1
	VPCMPEQB Y0, Y15, Y2
	VPCMPEQB Y1, Y15, Y3
	VPCMPEQB Y0, Y14, Y4
	VPCMPEQB Y1, Y14, Y5
	MASK(Y2, Y3, R8)
	MASK(Y4, Y5, R9)
	ESCAPED
	ANDNQ    R8, R10, R8
	JNZ      found
	ADDQ     $64, AX

enough:
	CMPQ AX, DX
	JLE  block
	SUBQ CX, AX // not into the middle of an escape
	MOVQ AX, ret+32(FP)
	VZEROUPPER
	RET

found:
	TZCNTQ R8, R8
	ADDQ   R8, AX
	MOVQ   AX, ret+32(FP)
	VZEROUPPER
	RET

// CLASS looks x up in two tables, by the halves of each byte, and sets y to the
// bits that the two entries share. Bytes beyond ASCII share none.
#define CLASS(x, low, high, y, t) \
	VPSRLW  $4, x, y    \
	VPAND   Y12, y, y   \
	VPSHUFB y, high, y  \
	VPSHUFB x, low, t   \
	VPAND   t, y, y

// TOP gathers the bit that is n below the top one of each byte of Y2 and Y3.
#define TOP(n, word) \
	VPSLLW $n, Y2, Y4 \
	VPSLLW $n, Y3, Y5 \
	MASK(Y4, Y5, word)

// RUNES sets y to 0xFF where the 32 bytes at off(SI)(AX*1), which are in x, are
// right as UTF-8. It looks the byte before each up in the tables. The top bit of
// what they share says that two continuations stand in a row, which is right
// exactly if the second byte before is E0 or more or the third before F0 or more;
// the subtractions leave the top bit to just those. It spoils x.
#define RUNES(off, x, y, t) \
	VMOVDQU  off-1(SI)(AX*1), t     \
	VPSRLW   $4, t, y               \
	VPAND    Y12, y, y              \
	VPAND    Y12, t, t              \
	VPSHUFB  y, Y6, y               \
	VPSHUFB  t, Y7, t               \
	VPAND    t, y, y                \
	VPSRLW   $4, x, t               \
	VPAND    Y12, t, t              \
	VPSHUFB  t, Y8, t               \
	VPAND    t, y, y                \
	VMOVDQU  off-2(SI)(AX*1), x     \
	VMOVDQU  off-3(SI)(AX*1), t     \
	VPSUBUSB bytes60<>(SB), x, x    \
	VPSUBUSB bytes70<>(SB), t, t    \
	VPOR     t, x, x                \
	VPAND    bytes80<>(SB), x, x    \
	VPCMPEQB x, y, y

#define BYTES32(name, word) \
	DATA  name<>+0(SB)/8, word  \
	DATA  name<>+8(SB)/8, word  \
	DATA  name<>+16(SB)/8, word \
	DATA  name<>+24(SB)/8, word \
	GLOBL name<>(SB), RODATA|NOPTR, $32

BYTES32(bytes60, $0x6060606060606060)
BYTES32(bytes70, $0x7070707070707070)
BYTES32(bytes80, $0x8080808080808080)

// func strictAVX2(data []byte, i int) int
TEXT ·strictAVX2(SB), NOSPLIT, $0-40
	MOVQ data_base+0(FP), SI
	MOVQ data_len+8(FP), DX
	MOVQ i+24(FP), AX
	SUBQ $64, DX
	XORL CX, CX
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	SPREAD('"', Y15)
	SPREAD('\\', Y14)
	SPREAD(' ', Y13)
	SPREAD(0x0F, Y12)
	VBROADCASTI128 ·escapeLow(SB), Y11
	VBROADCASTI128 ·escapeHigh(SB), Y10
	VPXOR Y9, Y9, Y9
	JMP  enough

block:
	VMOVDQU  (SI)(AX*1), Y0
	VMOVDQU  32(SI)(AX*1), Y1
	VPCMPEQB Y0, Y15, Y2
	VPCMPEQB Y1, Y15, Y3
	VPCMPEQB Y0, Y14, Y4
	VPCMPEQB Y1, Y14, Y5
	MASK(Y2, Y3, R8)
	MASK(Y4, Y5, R9)
	MOVQ     CX, DI      // in case the block is given back
	ESCAPED
	ANDNQ    R8, R10, R8 // the quotes that end a string
	CLASS(Y0, Y11, Y10, Y2, Y4)
	CLASS(Y1, Y11, Y10, Y3, Y4)
	VPCMPEQB Y9, Y2, Y2
	VPCMPEQB Y9, Y3, Y3
	MASK(Y2, Y3, R9)
	ANDQ     R10, R9     // the escapes of more than two bytes
	JNZ      hex

looked:
	ORQ  R9, R8  // what is to stop us
	MOVL $64, BX // how far to go on

	// Signed, both control characters and all beyond ASCII are below a space.
	VPCMPGTB Y0, Y13, Y2
	VPCMPGTB Y1, Y13, Y3
	VPOR     Y2, Y3, Y4
	VPTEST   Y4, Y4
	JNZ      unusual

next:
	TESTQ R8, R8
	JNZ   found
	ADDQ  BX, AX

enough:
	CMPQ AX, DX
	JLE  block
	SUBQ CX, AX // not into the middle of an escape
	MOVQ AX, ret+32(FP)
	VZEROUPPER
	RET

found:
	TZCNTQ R8, R8
	ADDQ   R8, AX
	BTQ    R8, R10 // an escaped byte is looked at from its backslash
	SBBQ   $0, AX
	MOVQ   AX, ret+32(FP)
	VZEROUPPER
	RET

	// Take the u's off R9 that four digits follow in this block, unless the first
	// is a D and the second 8 or more: that is half of a pair.
hex:
	VBROADCASTI128 ·hexLow(SB), Y6
	VBROADCASTI128 ·hexHigh(SB), Y7
	CLASS(Y0, Y6, Y7, Y2, Y4)
	CLASS(Y1, Y6, Y7, Y3, Y4)
	TOP(0, BX)        // letters
	TOP(1, R12)       // 8 and 9
	ORQ   BX, R12
	TOP(2, BX)        // 0 to 7
	ORQ   R12, BX
	MOVQ  BX, R11
	SHRQ  $1, R11
	ANDQ  R11, BX     // two digits in a row
	MOVQ  BX, R11
	SHRQ  $2, R11
	ANDQ  R11, BX     // four
	SHRQ  $1, BX
	SHRQ  $2, R12
	TOP(3, R13)       // D
	SHRQ  $1, R13
	ANDQ  R12, R13
	ANDNQ BX, R13, BX
	TOP(4, R12)       // u
	ANDQ  R12, BX
	ANDNQ R9, BX, R9
	MOVQ  $0xAAAAAAAAAAAAAAAA, R13
	JMP   looked

unusual:
	MASK(Y2, Y3, R9)
	MASK(Y0, Y1, R12)
	ANDNQ R9, R12, R9 // control characters
	ORQ   R9, R8
	TESTQ R12, R12
	JZ    next

	// A rune that hangs over the end starts the next block, so that no block
	// depends on the one before. It cannot be escaped, so CX stays right.
	VPSUBUSB  ·completeTail(SB), Y1, Y2
	VPCMPEQB  Y9, Y2, Y2
	VPMOVMSKB Y2, BX
	NOTQ      BX // bit 32 is set and stands for none
	TZCNTQ    BX, BX
	ADDQ      $32, BX

	VBROADCASTI128 ·firstHigh(SB), Y6
	VBROADCASTI128 ·firstLow(SB), Y7
	VBROADCASTI128 ·secondHigh(SB), Y8
	RUNES(0, Y0, Y2, Y4)
	RUNES(32, Y1, Y3, Y4)
	MASK(Y2, Y3, R9)
	NOTQ  R9
	TESTQ R9, R9
	JZ    next

	// A fault shows up to three bytes late, so give the block back, unless
	// something else stops us before it.
	LEAQ  -1(R9), R11
	ANDNQ R11, R9, R11
	ANDQ  R11, R8
	JNZ   found
	SUBQ  DI, AX
	MOVQ  AX, ret+32(FP)
	VZEROUPPER
	RET

// ESCAPED2 is ESCAPED for a loop that does not stop at the first quote. What is escaped at
// the start of the next block is told by the run of backslashes at the end of this one
// alone, unless it is all of the block: so the blocks need not wait for each other.
#define ESCAPED2 \
	MOVQ    R9, R11           \
	NOTQ    R11               \
	ANDNQ   R9, CX, R9        \
	LEAQ    (R9)(R9*1), R10   \
	ANDNQ   R9, R10, R10      \
	ANDNQ   R10, R13, R10     \
	ADDQ    R9, R10           \
	ANDNQ   R9, R10, R10      \
	XORQ    R13, R10          \
	ANDQ    R9, R10           \
	LEAQ    (CX)(R10*2), R10  \
	BSRQ    R11, R11          \
	LEAQ    1(R11), R11       \
	CMOVQEQ CX, R11           \
	ANDQ    $1, R11           \
	MOVQ    R11, CX

// STORE writes the offsets of the bits of R8, which are some, to R14.
#define STORE1(k) \
	TZCNTQ R8, R11        \
	ADDQ   AX, R11        \
	MOVL   R11, 4*k(R14)  \
	BLSRQ  R8, R8

// INSIDE sets R12 to the bytes that lie inside of strings, opening quotes included, from
// the real quotes in R8: the product with all ones adds up the bits below each, without
// carry. R15 is all ones if the block begins inside.
#define INSIDE \
	VMOVQ      R8, X2              \
	VPCMPEQB   X3, X3, X3          \
	VPCLMULQDQ $0, X3, X2, X2      \
	VMOVQ      X2, R12             \
	XORQ       R15, R12

// func quotesAVX2(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (next, n int, escapedNext, insideNext uint64, odd bool)
TEXT ·quotesAVX2(SB), NOSPLIT, $16-121
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
	SPREAD('"', Y15)
	SPREAD('\\', Y14)
	SPREAD(' ', Y13)
	SPREAD(0x0F, Y12)
	VBROADCASTI128 ·escapeLow(SB), Y11
	VBROADCASTI128 ·escapeHigh(SB), Y10
	VPXOR Y9, Y9, Y9
	MOVB  $0, odd+120(FP)
	CMPB  strict+80(FP), $0
	JEQ   loose
	JMP   enough

block:
	VMOVDQU  (SI)(AX*1), Y0
	VMOVDQU  32(SI)(AX*1), Y1
	VPCMPEQB Y0, Y15, Y2
	VPCMPEQB Y1, Y15, Y3
	VPCMPEQB Y0, Y14, Y4
	VPCMPEQB Y1, Y14, Y5
	MASK(Y2, Y3, R8)
	MASK(Y4, Y5, R9)
	MOVQ     CX, DI // in case the block is given back
	ESCAPED2
	ANDNQ    R8, R10, R8
	INSIDE
	CLASS(Y0, Y11, Y10, Y2, Y4)
	CLASS(Y1, Y11, Y10, Y3, Y4)
	VPCMPEQB Y9, Y2, Y2
	VPCMPEQB Y9, Y3, Y3
	MASK(Y2, Y3, R9)
	ANDQ     R10, R9 // the escapes of more than two bytes
	JNZ      hex

looked:
	MOVL $64, BX // how far to go on

	// Signed, both control characters and all beyond ASCII are below a space.
	VPCMPGTB Y0, Y13, Y2
	VPCMPGTB Y1, Y13, Y3
	VPOR     Y2, Y3, Y4
	VPTEST   Y4, Y4
	JNZ      unusual

next:
	SARQ  $63, R12
	MOVQ  R12, R15
	TESTQ R8, R8
	JZ    stored

	// Four at a time, whether they are there or not: there is room.
	POPCNTQ R8, DI
	LEAQ    (R14)(DI*4), DI
store:
	STORE1(0)
	STORE1(1)
	STORE1(2)
	STORE1(3)
	ADDQ  $16, R14
	TESTQ R8, R8
	JNZ   store
	MOVQ  DI, R14

stored:
	ADDQ BX, AX

enough:
	CMPQ AX, DX
	JGT  done
	CMPQ R14, last-8(SP)
	JLE  block

done:
	SUBQ dst_base+40(FP), R14
	SHRQ $2, R14
	MOVQ AX, next+88(FP)
	MOVQ R14, n+96(FP)
	MOVQ CX, escapedNext+104(FP)
	MOVQ R15, insideNext+112(FP)
	VZEROUPPER
	RET

odd:
	MOVB $1, odd+120(FP)
	MOVQ DI, CX
	JMP  done

	// As in strictAVX2: take the u's off R9 that are right.
hex:
	MOVQ  R12, within-16(SP)
	VBROADCASTI128 ·hexLow(SB), Y6
	VBROADCASTI128 ·hexHigh(SB), Y7
	CLASS(Y0, Y6, Y7, Y2, Y4)
	CLASS(Y1, Y6, Y7, Y3, Y4)
	TOP(0, BX)        // letters
	TOP(1, R12)       // 8 and 9
	ORQ   BX, R12
	TOP(2, BX)        // 0 to 7
	ORQ   R12, BX
	MOVQ  BX, R11
	SHRQ  $1, R11
	ANDQ  R11, BX     // two digits in a row
	MOVQ  BX, R11
	SHRQ  $2, R11
	ANDQ  R11, BX     // four
	SHRQ  $1, BX
	SHRQ  $2, R12
	TOP(3, R13)       // D
	SHRQ  $1, R13
	ANDQ  R12, R13
	ANDNQ BX, R13, BX
	TOP(4, R12)       // u
	ANDQ  R12, BX
	MOVQ  $0xAAAAAAAAAAAAAAAA, R13
	MOVQ  within-16(SP), R12
	ANDNQ R9, BX, R9
	JNZ   odd
	JMP   looked

unusual:
	MASK(Y2, Y3, R9)
	MASK(Y0, Y1, BX)
	ANDNQ R9, BX, R9 // control characters
	ANDQ  R12, R9    // inside of strings
	JNZ   odd
	TESTQ BX, BX
	JZ    plain

	// A rune that hangs over the end starts the next block, as in strictAVX2.
	VPSUBUSB  ·completeTail(SB), Y1, Y2
	VPCMPEQB  Y9, Y2, Y2
	VPMOVMSKB Y2, BX
	NOTQ      BX // bit 32 is set and stands for none
	TZCNTQ    BX, BX
	ADDQ      $32, BX

	VBROADCASTI128 ·firstHigh(SB), Y6
	VBROADCASTI128 ·firstLow(SB), Y7
	VBROADCASTI128 ·secondHigh(SB), Y8
	RUNES(0, Y0, Y2, Y4)
	RUNES(32, Y1, Y3, Y4)
	MASK(Y2, Y3, R9)
	CMPQ R9, $-1
	JEQ  next
	JMP  odd

plain:
	MOVL $64, BX
	JMP  next

	// The same without a look into the strings.
looseBlock:
	VMOVDQU  (SI)(AX*1), Y0
	VMOVDQU  32(SI)(AX*1), Y1
	VPCMPEQB Y0, Y15, Y2
	VPCMPEQB Y1, Y15, Y3
	VPCMPEQB Y0, Y14, Y4
	VPCMPEQB Y1, Y14, Y5
	MASK(Y2, Y3, R8)
	MASK(Y4, Y5, R9)
	ESCAPED2
	ANDNQ    R8, R10, R8
	JZ       looseStored
	POPCNTQ  R8, R12
	ANDQ     $1, R12
	NEGQ     R12
	XORQ     R12, R15 // an odd number of quotes turns it round

	POPCNTQ R8, DI
	LEAQ    (R14)(DI*4), DI
looseStore:
	STORE1(0)
	STORE1(1)
	STORE1(2)
	STORE1(3)
	ADDQ  $16, R14
	TESTQ R8, R8
	JNZ   looseStore
	MOVQ  DI, R14

looseStored:
	ADDQ $64, AX

loose:
	CMPQ AX, DX
	JGT  done
	CMPQ R14, last-8(SP)
	JLE  looseBlock
	JMP  done
