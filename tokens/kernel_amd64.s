//go:build amd64 && !purego

#include "textflag.h"

// func runVBMI2(l *lanes, text []byte, last uint8, escapes bool) (n int, sum uint64)
//
// AX offset, DX length, R8 whether the byte at AX is escaped. R9 is 0 if backslashes do not
// count, 1 if a block without any is passed over, and more as long as none is asked: where
// some have them and others not, no processor foresees which.
TEXT ·runVBMI2(SB), NOSPLIT, $0-56
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
	MOVL $0x5C, CX
	VPBROADCASTB CX, Z11
	MOVL $1, CX
	VPBROADCASTB CX, Z12
	VPXORQ Z14, Z14, Z14    // sums of low bytes, 16 of them
	VPXORQ Z15, Z15, Z15    // and of high ones
	VPBROADCASTB BX, Z16    // the classes of the block in front
	MOVQ $0xAAAAAAAAAAAAAAAA, R13
	XORL AX, AX
	XORL R8, R8

block:
	MOVQ DX, CX
	SUBQ AX, CX
	JLE  done
	CMPQ CX, $64
	JLT  tail
	MOVQ $-1, R10           // the bytes that are there
	VMOVDQU64 (SI)(AX*1), Z17
	MOVL $64, R11
	JMP  loaded

tail:
	MOVQ $-1, R10
	BZHIQ CX, R10, R10
	KMOVQ R10, K1
	VMOVDQU8.Z (SI)(AX*1), K1, Z17
	MOVQ CX, R11

loaded:
	VPMOVB2M Z17, K1
	KORTESTQ K1, K1
	JNE  foreign

ascii:
	VMOVDQA64 Z17, Z18
	VPERMI2B Z1, Z0, Z18    // classes
	TESTL R9, R9
	JZ   whole
	VPCMPEQB Z11, Z17, K2
	KMOVQ K2, BX
	ANDQ R10, BX
	CMPL R9, $1
	JNE  unasked
	MOVQ BX, CX
	ORQ  R8, CX
	JZ   whole

unasked:
	DECL R9
	MOVL $16, R12
	TESTQ BX, BX
	CMOVLNE R12, R9
	MOVL $1, R12
	TESTL R9, R9
	CMOVLEQ R12, R9
	MOVQ R8, CX             // of a run of backslashes every other one escapes
	NOTQ CX
	ANDQ BX, CX
	MOVQ CX, DI
	ADDQ DI, DI
	ORQ  R13, DI
	SUBQ CX, DI
	XORQ R13, DI            // what escapes, and what ends a run
	MOVQ BX, CX
	ORQ  R8, CX
	XORQ DI, CX             // what is escaped
	ANDQ BX, DI             // what escapes
	ANDQ R10, CX
	KMOVQ CX, K3
	VMOVDQA64 Z17, Z20
	VPERMI2B Z3, Z2, Z20
	VPMOVB2M Z20, K4
	KTESTQ K3, K4
	JNZ  strange            // an escape of more than two bytes, or none

known:
	VMOVDQU8 Z20, K3, Z18
	LEAQ -1(R11), CX        // is the next block's first byte escaped?
	SHRXQ CX, DI, R8
	ANDL $1, R8
	NOTQ DI
	ANDQ R10, DI
	KMOVQ DI, K6            // what is meant, and adds something
	VALIGNQ $6, Z16, Z18, Z21
	VPALIGNR $15, Z21, Z18, Z19 // the classes in front
	VPALIGNR $14, Z21, Z18, K3, Z19 // in front of the backslash
	JMP  add

whole:
	KMOVQ R10, K6
	VALIGNQ $6, Z16, Z18, Z21
	VPALIGNR $15, Z21, Z18, Z19

add:
	VMOVDQA64 Z18, Z16
	VPSLLW $4, Z19, Z19
	VPORQ Z18, Z19, Z19
	VPMOVB2M Z19, K2
	KANDQ K6, K2, K2
	VMOVDQA64 Z19, Z21
	VMOVDQA64 Z19, Z22
	VPERMI2B.Z Z5, Z4, K6, Z21
	VPERMI2B.Z Z8, Z7, K6, Z22
	VPERMB Z6, Z19, K2, Z21
	VPERMB Z9, Z19, K2, Z22
	VPDPBUSD Z12, Z21, Z14
	VPDPBUSD Z12, Z22, Z15
	ADDQ R11, AX
	JMP  block

foreign: // what stands in front of it is the last
	KMOVQ K1, CX
	TZCNTQ CX, R11
	MOVQ $-1, R10
	BZHIQ R11, R10, R10
	LEAQ (AX)(R11*1), DX
	TESTQ R11, R11
	JNZ  ascii
	JMP  done

strange: // what stands in front of its backslash is the last
	KANDQ K3, K4, K4
	KMOVQ K4, R12
	TZCNTQ R12, R11
	SUBQ $1, R11
	JLE  done
	MOVQ $-1, R10
	BZHIQ R11, R10, R10
	LEAQ (AX)(R11*1), DX
	ANDQ R10, CX
	ANDQ R10, DI
	KMOVQ CX, K3
	JMP  known

done:
	SUBQ R8, AX             // a backslash waits for what it escapes
	MOVQ AX, n+40(FP)
	VPSRLQ $32, Z14, Z16
	VPSLLQ $32, Z14, Z14
	VPSRLQ $32, Z14, Z14
	VPADDQ Z16, Z14, Z14
	VPSRLQ $32, Z15, Z16
	VPSLLQ $32, Z15, Z15
	VPSRLQ $32, Z15, Z15
	VPADDQ Z16, Z15, Z15
	VPSLLQ $8, Z15, Z15
	VPADDQ Z15, Z14, Z14
	VEXTRACTI64X4 $1, Z14, Y15
	VPADDQ Y15, Y14, Y14
	VEXTRACTI128 $1, Y14, X15
	VPADDQ X15, X14, X14
	VPSHUFD $0x4E, X14, X15
	VPADDQ X15, X14, X14
	VMOVQ X14, AX
	MOVQ AX, sum+48(FP)
	VZEROUPPER
	RET
