//go:build !unix

package main

func ownerHint(string) string { return "" }
