//go:build !unix

package main

import "testing"

func runImage(t *testing.T, _ string, _ bool) { t.Skip("an image is made of the program for Linux") }
