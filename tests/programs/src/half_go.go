// Without cgo: the same function in Go, so that the program is static.
//go:build !cgo

package main

func half(value int) int { return value / 2 }
