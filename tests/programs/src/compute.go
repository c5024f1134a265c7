// Go: goroutines, channels, maps, garbage; with cgo where that is switched on.
package main

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	if name := os.Getenv("COUNTED"); name != "" {
		if file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(file, "once")
			file.Close()
		}
	}
	results := make(chan uint64, 8)
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(number uint64) {
			defer group.Done()
			value := number
			table := map[string]uint64{}
			for k := uint64(0); k < 500000; k++ {
				value = value*31 + k
				table[fmt.Sprint(k%500)] += value
			}
			results <- value + table["77"]
		}(uint64(i))
	}
	group.Wait()
	close(results)
	sum := uint64(0)
	for value := range results {
		sum += value
	}
	fmt.Println(sum, half(84))
	os.Exit(6)
}
