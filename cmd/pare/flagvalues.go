package main

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// decodeString sets target to an argument without changing its bytes. Kong's own decoder passes
// strings through JSON, so that a file name that is not UTF-8 would be replaced.
func decodeString(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popValue(ctx)
	if err != nil {
		return err
	}
	target.SetString(text)
	return nil
}

// popValue returns the next argument as the value of a flag or argument. Numbers below zero are
// values, because no flag begins with a digit.
func popValue(ctx *kong.DecodeContext) (string, error) {
	arg := ctx.Scan.Pop()
	text := arg.String()
	isNegativeNumber := len(text) > 1 && '0' <= text[1] && text[1] <= '9'
	switch {
	case arg.IsEOL():
		return "", errors.New("a value is missing")
	case !arg.IsValue() && !isNegativeNumber:
		return "", fmt.Errorf("a value is missing: %s is taken for a flag, unless it is joined with =", text)
	}
	return text, nil
}

// decodeFloat sets target to a number, which may be negative.
func decodeFloat(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popValue(ctx)
	if err != nil {
		return err
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("expected a number, not %q", text)
	}
	target.SetFloat(number)
	return nil
}

// decodeInt sets target to a whole number. It accepts negative numbers, which the commands check.
func decodeInt(ctx *kong.DecodeContext, target reflect.Value) error {
	arg := ctx.Scan.Pop()
	text := fmt.Sprint(arg.Value)
	number, err := parseNumber(text)
	switch {
	case arg.IsEOL():
		return errors.New("a whole number is missing")
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is too large", text)
	case err != nil:
		return fmt.Errorf("expected a whole number such as 50000 or 50k, not %q", text)
	}
	target.SetInt(int64(number))
	return nil
}

// decodeDuration sets target to a duration of zero or more.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	arg := ctx.Scan.Pop()
	text := fmt.Sprint(arg.Value)
	duration, err := time.ParseDuration(text)
	switch {
	case arg.IsEOL():
		return errors.New("a time is missing, such as 30s")
	case err != nil || duration < 0:
		return fmt.Errorf("expected a time such as 30s, 5m or 720h, not %q", text)
	}
	target.SetInt(int64(duration))
	return nil
}

// parseNumber parses a whole number such as 50000, 50,000, 0x10, 50k or 1.5M. The error is
// [strconv.ErrSyntax] or [strconv.ErrRange].
func parseNumber(text string) (int, error) {
	digits, unit := cutUnit(text)
	if groupedDigits.MatchString(digits) {
		digits = strings.ReplaceAll(digits, ",", "")
	}
	whole, err := strconv.ParseInt(digits, 0, strconv.IntSize)
	if errors.Is(err, strconv.ErrRange) {
		return int(whole), err
	}
	if unit == 1 {
		if err != nil {
			return 0, strconv.ErrSyntax
		}
		return int(whole), nil
	}
	number, err := strconv.ParseFloat(digits, 64)
	number *= unit
	if err != nil || number != math.Trunc(number) {
		return 0, strconv.ErrSyntax
	}
	const maxExact = 1 << 53 // larger float64 values skip integers
	if math.Abs(number) > maxExact {
		return 0, strconv.ErrRange
	}
	return int(number), nil
}

// groupedDigits matches numbers whose thousands are separated by commas.
var groupedDigits = regexp.MustCompile(`^\d{1,3}(,\d{3})+$`)

// cutUnit splits the suffix k or M from a number and returns its factor, which is 1 for no suffix.
func cutUnit(text string) (digits string, unit float64) {
	last := len(text) - 1
	if last < 1 {
		return text, 1
	}
	switch text[last] {
	case 'k', 'K':
		return text[:last], 1e3
	case 'm', 'M':
		return text[:last], 1e6
	}
	return text, 1
}
