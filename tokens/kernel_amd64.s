//go:build amd64 && !purego

#include "textflag.h"

// IN_FRONT puts the class in front of each byte into Z20: Z18 has the classes of the
// block, Z16 those of the one before. The port that moves bytes between places is what
// the kernel waits for; so here, and below, nothing is moved that need not be.
#define IN_FRONT \
	VALIGNQ $6, Z16, Z18, Z19 \
	VPALIGNR $15, Z19, Z18, Z20

// WEIGH adds what each byte adds as often as COUNT says.
#define WEIGH(COUNT) \
	VPSLLW $4, Z20, Z20 \
	VPORQ Z18, Z20, Z20 \
	VPADDB Z20, Z20, Z21 \
	VPMOVB2M Z21, K1 \
	VPMOVB2M Z20, K2 \
	VPERMB Z4, Z20, Z21 \
	VPERMB Z7, Z20, Z22 \
	VPERMB Z5, Z20, K1, Z21 \
	VPERMB Z8, Z20, K1, Z22 \
	VPERMB Z6, Z20, K2, Z21 \
	VPERMB Z9, Z20, K2, Z22 \
	VPDPBUSD COUNT, Z21, Z14 \
	VPDPBUSD COUNT, Z22, Z15

// ESCAPES finds what escapes (DI) and what is escaped (CX), by the backslashes (BX) and
// whether the first byte is escaped (R8): of a run of backslashes every other one escapes.
#define ESCAPES \
	MOVQ R8, CX \
	NOTQ CX \
	ANDQ BX, CX \
	MOVQ CX, DI \
	ADDQ DI, DI \
	ORQ  R13, DI \
	SUBQ CX, DI \
	XORQ R13, DI \
	MOVQ BX, CX \
	ORQ  R8, CX \
	XORQ DI, CX \
	ANDQ BX, DI

// SUM adds up the sixteen numbers of Z into R.
#define SUM(Z, Y, R) \
	VEXTRACTI64X4 $1, Z, Y0 \
	VPMOVZXDQ Y, Z1 \
	VPMOVZXDQ Y0, Z0 \
	VPADDQ Z1, Z0, Z0 \
	VEXTRACTI64X4 $1, Z0, Y1 \
	VPADDQ Y1, Y0, Y0 \
	VEXTRACTI128 $1, Y0, X1 \
	VPADDQ X1, X0, X0 \
	VPSHUFD $0x4E, X0, X1 \
	VPADDQ X1, X0, X0 \
	VMOVQ X0, R

// func runVBMI2(l *lanes, text []byte, last uint8, escapes bool) (n int, sum uint64, lastNext uint8)
//
// AX offset, DX length, R8 whether the byte at AX is escaped, R9 whether escapes count, R12
// whether one of the last two classes of Z16 is not of ASCII, R14 the sum of what the tables
// of WEIGH do not have.
TEXT ·runVBMI2(SB), NOSPLIT, $64-57
	MOVQ l+0(FP), DI
	MOVQ text_base+8(FP), SI
	MOVQ text_len+16(FP), DX
	MOVBLZX last+32(FP), BX
	MOVBLZX escapes+33(FP), R9
	VMOVDQU64 (DI), Z0      // plain
	VMOVDQU64 64(DI), Z1
	VMOVDQU64 128(DI), Z2   // meant
	VMOVDQU64 192(DI), Z3
	VMOVDQU64 256(DI), Z4   // low
	VMOVDQU64 320(DI), Z5
	VMOVDQU64 384(DI), Z6
	VMOVDQU64 448(DI), Z7   // high
	VMOVDQU64 512(DI), Z8
	VMOVDQU64 576(DI), Z9
	MOVL $1, CX
	VPBROADCASTB CX, Z10
	MOVL $0x5C, CX
	VPBROADCASTB CX, Z11
	VPXORQ Z14, Z14, Z14    // the sums of low bytes
	VPXORQ Z15, Z15, Z15    // and of high ones
	VPBROADCASTB BX, Z16    // as if all in front were of that class
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	XORL AX, AX
	XORL R8, R8
	XORL R14, R14
	XORL R12, R12
	CMPL BX, $11
	SETHI R12

block:
	MOVQ DX, R11
	SUBQ AX, R11
	CMPQ R11, $64
	JLT  tail
	VMOVDQU64 (SI)(AX*1), Z17
	VPMOVB2M Z17, K1
	KMOVQ K1, CX
	ORQ  R12, CX
	JNZ  full
	VMOVDQA64 Z17, Z18
	VPERMI2B Z1, Z0, Z18    // classes
	TESTL R9, R9
	JZ   whole
	VPCMPEQB Z11, Z17, K2
	KMOVQ K2, BX
	MOVQ BX, CX
	ORQ  R8, CX
	JZ   whole
	ESCAPES
	KMOVQ CX, K3
	VMOVDQA64 Z17, Z20
	VPERMI2B Z3, Z2, Z20
	VPMOVB2M Z20, K4
	KTESTQ K3, K4
	JNZ  full               // an escape of more than two bytes, or none
	VMOVDQU8 Z20, K3, Z18
	MOVQ DI, R8             // is the next block's first byte escaped?
	SHRQ $63, R8
	NOTQ DI
	KMOVQ DI, K5
	VMOVDQU8.Z Z10, K5, Z13 // what escapes adds nothing
	IN_FRONT
	VPALIGNR $14, Z19, Z18, K3, Z20
	WEIGH(Z13)
	VMOVDQA64 Z18, Z16
	ADDQ $64, AX
	JMP  block

whole:
	IN_FRONT
	WEIGH(Z10)
	VMOVDQA64 Z18, Z16
	ADDQ $64, AX
	JMP  block

tail: // R11 bytes are left, those of R10
	TESTQ R11, R11
	JZ   done
	MOVQ $-1, R10
	BZHIQ R11, R10, R10
	KMOVQ R10, K1
	VMOVDQU8.Z (SI)(AX*1), K1, Z17
	JMP  rough

full:
	MOVL $64, R11
	MOVQ $-1, R10

rough: // a block with something rare in it, or the last one
	MOVQ l+0(FP), R15
	KMOVQ R10, K6
	VPMOVB2M Z17, K1
	KANDQ K6, K1, K1
	VMOVDQA64 Z17, Z18
	VPERMI2B Z1, Z0, Z18
	VMOVDQU64 640(R15), Z21 // upper
	VMOVDQU64 704(R15), Z22
	VMOVDQA64 Z17, Z20
	VPERMI2B Z22, Z21, Z20
	VMOVDQU8 Z20, K1, Z18
	XORL CX, CX
	XORL DI, DI
	XORL BX, BX
	TESTL R9, R9
	JZ   plain
	VPCMPEQB Z11, Z17, K2
	KMOVQ K2, BX
	ANDQ R10, BX
	ESCAPES
	ANDQ R10, CX
	KMOVQ CX, K3
	VMOVDQA64 Z17, Z20
	VPERMI2B Z3, Z2, Z20
	VPMOVB2M Z20, K4
	VMOVDQU8 Z20, K3, Z18
	KORQ K1, K4, K4
	KANDQ K3, K4, K4
	KMOVQ K4, BX            // what is escaped otherwise
	XORL CX, CX             // the last digits of such escapes

long: // \u00 and two digits, of ASCII, are one byte where the last digit stands
	TESTQ BX, BX
	JZ   found
	MOVQ CX, (SP)
	TZCNTQ BX, CX
	LEAQ 5(CX), R15
	CMPQ R15, R11
	JGT  cut
	LEAQ (SI)(AX*1), R15
	ADDQ CX, R15
	MOVL (R15), CX
	MOVBLZX 4(R15), R15
	BSWAPL CX
	SUBL $0x75303030, CX
	CMPL CX, $7
	JHI  stop
	SHLL $4, CX
	ADDQ l+0(FP), R15
	MOVBLSX 2816(R15), R15  // hex
	TESTL R15, R15
	JLT  stop
	ADDQ CX, R15
	ADDQ l+0(FP), R15
	MOVBLZX (R15), R15
	BLSIQ BX, CX
	BLSRQ BX, BX
	ORQ  CX, DI             // the letter and three digits add nothing
	SHLQ $1, CX
	ORQ  CX, DI
	SHLQ $1, CX
	ORQ  CX, DI
	SHLQ $1, CX
	ORQ  CX, DI
	SHLQ $1, CX
	KMOVQ CX, K4
	VPBROADCASTB R15, K4, Z18
	ORQ  (SP), CX
	JMP  long

stop: // at an escape that is of no use
	TZCNTQ BX, CX
	LEAQ -1(AX)(CX*1), DX

cut: // in front of an escape
	LEAQ -1(CX), R11
	TESTQ R11, R11
	JLE  done
	MOVQ $-1, R10
	BZHIQ R11, R10, R10
	JMP  rough

plain:
	KMOVQ CX, K3

found:
	KMOVQ CX, K6
	IN_FRONT
	VPALIGNR $14, Z19, Z18, K3, Z20
	VPALIGNR $10, Z19, Z18, K6, Z20
	MOVL $11, CX
	VPBROADCASTB CX, Z21
	VPCMPUB $6, Z21, Z18, K1
	VPCMPUB $6, Z21, Z20, K2
	KORQ K1, K2, K2
	KMOVQ K2, CX
	MOVQ DI, BX
	NOTQ BX
	ANDQ R10, BX            // what adds anything
	ANDQ BX, CX             // what adds something that is not in the tables
	POPCNTQ CX, R15
	CMPL R15, $32
	JHI  done               // this is no text for the kernel
	XORQ CX, BX
	KMOVQ BX, K5
	VMOVDQU8.Z Z10, K5, Z13
	LEAQ -1(R11), BX
	SHRXQ BX, DI, R8
	ANDL $1, R8
	TESTQ CX, CX
	JZ   weighed
	KMOVQ CX, K6
	MOVL $31, CX
	VPBROADCASTB CX, Z21    // which adds nothing
	VPCOMPRESSB Z18, K6, Z21
	VPCOMPRESSB.Z Z20, K6, Z22
	VPMOVZXBW Y21, Z21
	VPMOVZXBW Y22, Z22
	VPSLLW $5, Z22, Z22
	VPORQ Z21, Z22, Z22
	VMOVDQU64 Z22, (SP)
	MOVQ l+0(FP), DI
	XORL BX, BX

wide:
	MOVWLZX (SP)(BX*2), CX
	MOVWLZX 768(DI)(CX*2), CX
	ADDQ CX, R14
	MOVWLZX 2(SP)(BX*2), CX
	MOVWLZX 768(DI)(CX*2), CX
	ADDQ CX, R14
	MOVWLZX 4(SP)(BX*2), CX
	MOVWLZX 768(DI)(CX*2), CX
	ADDQ CX, R14
	MOVWLZX 6(SP)(BX*2), CX
	MOVWLZX 768(DI)(CX*2), CX
	ADDQ CX, R14
	ADDL $4, BX
	CMPL BX, R15
	JLT  wide

weighed:
	KMOVQ K1, R12
	VMOVDQA64 Z18, Z23
	MOVL $15, CX
	VPBROADCASTB CX, Z21
	VPANDQ Z21, Z18, Z18
	VPANDQ Z21, Z20, Z20
	WEIGH(Z13)
	ADDQ R11, AX
	CMPL R11, $64
	JLT  parted
	VMOVDQA64 Z23, Z16
	SHRQ $62, R12
	JMP  block

parted: // all are of the class of the last one
	LEAL 63(R11), CX
	SUBL R8, CX
	VPBROADCASTB CX, Z19
	VPERMI2B Z23, Z16, Z19
	VMOVDQA64 Z19, Z16
	TESTL R8, R8
	JNZ  done
	VMOVD X16, CX
	XORL R12, R12
	CMPB CX, $11
	SETHI R12
	JMP  block

done:
	SUBQ R8, AX             // a backslash waits for what it escapes
	MOVQ AX, n+40(FP)
	MOVL $63, CX
	SUBL R8, CX
	VPBROADCASTB CX, Z19
	VPERMB Z16, Z19, Z19
	VMOVD X19, AX
	MOVB AX, lastNext+56(FP)
	SUM(Z14, Y14, AX)
	SUM(Z15, Y15, CX)
	SHLQ $8, CX
	ADDQ CX, AX
	ADDQ R14, AX
	MOVQ AX, sum+48(FP)
	VZEROUPPER
	RET
