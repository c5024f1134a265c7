// With cgo: a function in C.
//go:build cgo

package main

// static long half(long value) { return value / 2; }
import "C"

func half(value int) int { return int(C.half(C.long(value))) }
