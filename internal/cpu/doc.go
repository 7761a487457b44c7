// Package cpu tells what the processor of an amd64 machine can do and the operating system
// lets programs use. Elsewhere, and in programs built with the tag purego, it is empty.
package cpu
