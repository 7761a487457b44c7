//go:build unix && !linux

package pgtest

import "syscall"

func endWithParent(*syscall.SysProcAttr) {}

func inMemory() string { return "" }
