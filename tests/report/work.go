// work.go - a Go program that writes its own heap and CPU profile: the files other languages bring.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte
var sink float64

//go:noinline
func keepSome(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 20000))
	}
}

//go:noinline
func keepMore(n int) { keepSome(n * 3) }

//go:noinline
func burn(n int) {
	x := 1.0
	for i := 0; i < n; i++ {
		x = x*1.0000001 + 0.1
	}
	sink += x
}

func main() {
	runtime.MemProfileRate = 4096
	cpu, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(cpu)
	keepSome(500)
	keepMore(300)
	burn(300000000)
	pprof.StopCPUProfile()
	cpu.Close()
	runtime.GC()
	heap, _ := os.Create(os.Args[2])
	pprof.WriteHeapProfile(heap)
	heap.Close()
}
