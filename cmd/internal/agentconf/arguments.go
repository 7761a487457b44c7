package agentconf

import (
	"slices"
	"strings"
)

// An argument is a flag of an agent's command line with its value.
type argument struct {
	flag  string
	value string
	index int // of the flag among the arguments
	words int // 1 for --flag=value and -fvalue, 2 for --flag value
}

// flagArguments returns the arguments with one of the flags, in their order. Arguments after --
// are no flags.
func flagArguments(args []string, flags ...string) (all []argument) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case isShort(args[i], flags):
			all = append(all, argument{args[i][:2], args[i][2:], i, 1})
		case !slices.Contains(flags, name):
		case joined:
			all = append(all, argument{name, value, i, 1})
		case i+1 < len(args):
			all = append(all, argument{name, args[i+1], i, 2})
			i++
		}
	}
	return all
}

// isShort reports whether an argument is a flag of one letter that is joined with its value.
func isShort(arg string, flags []string) bool {
	return len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && slices.Contains(flags, arg[:2])
}

// flagValue returns the last argument with one of the flags.
func flagValue(args []string, flags ...string) (last argument, ok bool) {
	all := flagArguments(args, flags...)
	if len(all) == 0 {
		return last, false
	}
	return all[len(all)-1], true
}

// withoutArguments returns the arguments without some of them.
func withoutArguments(args []string, drop []argument) (rest []string) {
	for i := 0; i < len(args); i++ {
		n := slices.IndexFunc(drop, func(a argument) bool { return a.index == i })
		if n < 0 {
			rest = append(rest, args[i])
			continue
		}
		i += drop[n].words - 1
	}
	return rest
}
