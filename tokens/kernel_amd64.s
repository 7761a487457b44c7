//go:build amd64 && !purego

#include "textflag.h"

// The places of the bytes in front of each.
DATA before<>+0(SB)/8, $0x0605040302010000
DATA before<>+8(SB)/8, $0x0e0d0c0b0a090807
DATA before<>+16(SB)/8, $0x161514131211100f
DATA before<>+24(SB)/8, $0x1e1d1c1b1a191817
DATA before<>+32(SB)/8, $0x262524232221201f
DATA before<>+40(SB)/8, $0x2e2d2c2b2a292827
DATA before<>+48(SB)/8, $0x363534333231302f
DATA before<>+56(SB)/8, $0x3e3d3c3b3a393837
GLOBL before<>(SB), RODATA|NOPTR, $64

// func runVBMI2(l *lanes, text []byte, last uint8, escapes bool) (n int, sum uint64, lastNext uint8)
//
// AX offset, DX length, R8 whether the byte at AX is escaped, R9 backslashes count.
TEXT ·runVBMI2(SB), NOSPLIT, $0-57
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
	VMOVDQU64 before<>(SB), Z10
	MOVL $0x5C, CX
	VPBROADCASTB CX, Z11
	MOVL $0x40, CX
	VPBROADCASTB CX, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14    // the sum of low bytes
	VPXORQ Z15, Z15, Z15    // and of high ones
	VPBROADCASTB BX, Z16    // the class of the byte in front
	MOVL $1, CX
	KMOVQ CX, K7
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
	MOVQ BX, CX
	ORQ  R8, CX
	JNZ  escaped

whole:
	MOVQ R10, R12
	MOVQ R11, CX
	JMP  add

escaped:
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
	MOVQ R11, CX            // is the next block's first byte escaped?
	DECQ CX
	SHRXQ CX, DI, R8
	ANDL $1, R8
	NOTQ DI
	ANDQ R10, DI
	KMOVQ DI, K5
	VPCOMPRESSB.Z Z18, K5, Z18
	POPCNTQ DI, CX
	MOVQ $-1, R12
	BZHIQ CX, R12, R12
	TESTQ CX, CX
	JZ   next

add:
	KMOVQ R12, K6
	VPERMB Z18, Z10, Z19
	VMOVDQU8 Z16, K7, Z19   // the classes in front
	VPSLLW $4, Z19, Z19
	VPORQ Z18, Z19, Z19
	VPTESTMB Z12, Z19, K6, K1
	VPMOVB2M Z19, K2
	KANDQ K6, K2, K2
	VPERMB.Z Z4, Z19, K6, Z21
	VPERMB.Z Z7, Z19, K6, Z22
	VPERMB Z5, Z19, K1, Z21
	VPERMB Z8, Z19, K1, Z22
	VPERMB Z6, Z19, K2, Z21
	VPERMB Z9, Z19, K2, Z22
	VPSADBW Z13, Z21, Z21
	VPSADBW Z13, Z22, Z22
	VPADDQ Z21, Z14, Z14
	VPADDQ Z22, Z15, Z15
	DECL CX
	VPBROADCASTB CX, Z23
	VPERMB Z18, Z23, Z16

next:
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
	VMOVD X16, AX
	MOVB AX, lastNext+56(FP)
	VZEROUPPER
	RET
