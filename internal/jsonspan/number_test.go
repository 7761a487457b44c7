package jsonspan

import (
	"math"
	"strconv"
	"testing"
)

func TestAppendInt(t *testing.T) {
	check := func(n int) {
		if got, want := string(AppendInt([]byte("x"), n)), "x"+strconv.Itoa(n); got != want {
			t.Fatalf("%s is written for %s", got, want)
		}
	}
	for n := range 100_200 {
		check(n)
		check(-n)
	}
	for _, n := range []int{math.MinInt, math.MinInt + 1, math.MaxInt, 1 << 32, -1 << 32} {
		check(n)
	}
}
