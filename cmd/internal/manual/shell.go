package manual

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completions are the commands and flags that a shell can complete.
type completions struct{ commands []shellCommand }

type shellCommand struct {
	name, help string
	flags      []shellFlag
	args       shellValue // the positional arguments
}

type shellFlag struct {
	name  string // without dashes
	short string // one letter, or ""
	help  string
	value *shellValue // nil if the flag has no value
	many  bool        // it may be repeated
}

// A shellValue is the set of values of a word: one of a list, a file, or anything.
type shellValue struct {
	name  string
	words []string
	files bool
	many  bool
}

// Completion returns the completion script for bash, zsh or fish. known lists the values of flags
// by flag name; other values come from the grammar.
func Completion(shell string, app *kong.Application, known map[string][]string) []byte {
	all := readCommands(app, known)
	switch shell {
	case "zsh":
		return zshCompletion(all)
	case "fish":
		return fishCompletion(all)
	}
	return bashCompletion(all)
}

func readCommands(app *kong.Application, known map[string][]string) completions {
	var all completions
	for _, n := range app.Children {
		c := shellCommand{name: n.Name, help: n.Help}
		for _, level := range n.AllFlags(true) {
			for _, f := range level {
				c.flags = append(c.flags, newShellFlag(f, known))
			}
		}
		for _, p := range n.Positional {
			c.args = newShellValue(p, p.Name, known)
		}
		all.commands = append(all.commands, c)
	}
	return all
}

func newShellFlag(f *kong.Flag, known map[string][]string) shellFlag {
	out := shellFlag{name: f.Name, help: f.Help, many: f.IsSlice()}
	if f.Short != 0 {
		out.short = string(f.Short)
	}
	if !f.IsBool() {
		v := newShellValue(f.Value, f.PlaceHolder, known)
		out.value = &v
	}
	return out
}

// newShellValue returns the values that the enum, the placeholder or the name of a flag allows.
func newShellValue(v *kong.Value, placeholder string, known map[string][]string) shellValue {
	out := shellValue{name: strings.ToUpper(v.Name), many: v.IsSlice()}
	switch {
	case known[v.Name] != nil:
		out.words = known[v.Name]
	case v.Enum != "":
		out.words = slices.DeleteFunc(strings.Split(v.Enum, ","), func(s string) bool { return s == "" })
	case strings.Contains(placeholder, "|") && strings.ToLower(placeholder) == placeholder:
		out.words = strings.Split(placeholder, "|")
	default:
		out.files = slices.Contains([]string{"FILE", "DIR", "path", "file", "dir"}, placeholder)
	}
	return out
}

// bashCompletion returns a script that also works with bash 3.2 of macOS.
func bashCompletion(all completions) []byte {
	var b bytes.Buffer
	b.WriteString(`# bash completion of pare; made by: pare completion bash
_pare() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="" i words="" files="" IFS=$' \t\n'
    # Bash makes three words of --flag=value.
    [ "$cur" = "=" ] && cur=""
    [ "$prev" = "=" ] && prev="${COMP_WORDS[COMP_CWORD-2]}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${COMP_WORDS[i]}" in
        -*) ;;
        *) cmd="${COMP_WORDS[i]}"; break ;;
        esac
    done
    COMPREPLY=()
    case "$cmd $prev" in
`)
	for _, c := range all.commands {
		for _, f := range c.flags {
			if f.value == nil {
				continue
			}
			pattern := fmt.Sprintf("%q", c.name+" --"+f.name)
			if f.short != "" {
				pattern += fmt.Sprintf("|%q", c.name+" -"+f.short)
			}
			fmt.Fprintf(&b, "    %s) %s ;;\n", pattern, bashValue(*f.value))
		}
	}
	b.WriteString("    *)\n        case \"$cmd\" in\n")
	var names []string
	for _, c := range all.commands {
		names = append(names, c.name)
		var flags []string
		for _, f := range c.flags {
			flags = append(flags, "--"+f.name)
		}
		fmt.Fprintf(&b, "        %s)\n            case \"$cur\" in\n            -*) words=%q ;;\n            *) %s ;;\n            esac ;;\n", c.name, strings.Join(flags, " "), bashValue(c.args))
	}
	fmt.Fprintf(&b, "        \"\") words=%q ;;\n        esac ;;\n    esac\n", strings.Join(append(names, "--help", "--version"), " "))
	b.WriteString(`    if [ -n "$files" ]; then
        IFS=$'\n'
        COMPREPLY=($(compgen -f -- "$cur"))
        compopt -o filenames 2>/dev/null
        return 0
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _pare pare
`)
	return b.Bytes()
}

func bashValue(v shellValue) string {
	switch {
	case v.files:
		return "files=1"
	case len(v.words) > 0:
		return fmt.Sprintf("words=%q", strings.Join(v.words, " "))
	}
	return ":"
}

func zshCompletion(all completions) []byte {
	var b bytes.Buffer
	b.WriteString("#compdef pare\n# zsh completion of pare; made by: pare completion zsh\n_pare() {\n    local context state state_descr line ret=1\n    typeset -A opt_args\n    local -a commands=(\n")
	for _, c := range all.commands {
		fmt.Fprintf(&b, "        %s\n", quoteShell(c.name+":"+zshText(c.help)))
	}
	b.WriteString("    )\n    _arguments -C '(- *)'{-h,--help}'[show help]' '(- *)--version[print the version]' '1: :->command' '*:: :->rest' && ret=0\n")
	b.WriteString("    case $state in\n    command) _describe -t commands 'command of pare' commands && ret=0 ;;\n    rest)\n        case $words[1] in\n")
	for _, c := range all.commands {
		fmt.Fprintf(&b, "        %s)\n            _arguments -s -S", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, " \\\n                %s", zshFlag(f))
		}
		if v := c.args; v.name != "" {
			place := "1:"
			if v.many {
				place = "*:"
			}
			fmt.Fprintf(&b, " \\\n                %s", quoteShell(place+zshValue(v)))
		}
		b.WriteString(" && ret=0 ;;\n")
	}
	b.WriteString("        esac ;;\n    esac\n    return ret\n}\nif [[ \"$funcstack[1]\" == _pare ]]; then\n    _pare \"$@\"\nelse\n    compdef _pare pare\nfi\n")
	return b.Bytes()
}

func zshFlag(f shellFlag) string {
	text := "[" + zshText(f.help) + "]"
	equals, plus := "", ""
	if f.value != nil {
		text += ":" + zshValue(*f.value)
		equals, plus = "=", "+"
	}
	lead := "*" // the flag may be repeated
	if !f.many {
		lead = "(--" + f.name + ")"
		if f.short != "" {
			lead = "(-" + f.short + " --" + f.name + ")"
		}
	}
	if f.short == "" {
		return quoteShell(lead + "--" + f.name + equals + text)
	}
	return quoteShell(lead) + "{-" + f.short + plus + ",--" + f.name + equals + "}" + quoteShell(text)
}

func zshValue(v shellValue) string {
	switch {
	case v.files:
		return v.name + ":_files"
	case len(v.words) > 0:
		return v.name + ":(" + strings.Join(v.words, " ") + ")"
	}
	return v.name + ": "
}

// zshText escapes a help text for a zsh specification.
func zshText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(firstSentence(s))
}

func fishCompletion(all completions) []byte {
	var b bytes.Buffer
	b.WriteString("# fish completion of pare; made by: pare completion fish\ncomplete -c pare -f\ncomplete -c pare -n __fish_use_subcommand -l version -d 'print the version'\ncomplete -c pare -n __fish_use_subcommand -s h -l help -d 'show help'\n")
	for _, c := range all.commands {
		fmt.Fprintf(&b, "complete -c pare -n __fish_use_subcommand -a %s -d %s\n", c.name, fishText(c.help))
	}
	for _, c := range all.commands {
		fmt.Fprintf(&b, "\nset -l in '__fish_seen_subcommand_from %s'\n", c.name)
		switch {
		case c.args.files:
			b.WriteString("complete -c pare -n $in -F\n")
		case len(c.args.words) > 0:
			fmt.Fprintf(&b, "complete -c pare -n $in -a %s\n", quoteShell(strings.Join(c.args.words, " ")))
		}
		for _, f := range c.flags {
			b.WriteString("complete -c pare -n $in -l " + f.name)
			if f.short != "" {
				b.WriteString(" -s " + f.short)
			}
			switch v := f.value; {
			case v == nil:
			case v.files:
				b.WriteString(" -r -F")
			case len(v.words) > 0:
				b.WriteString(" -x -a " + quoteShell(strings.Join(v.words, " ")))
			default:
				b.WriteString(" -x")
			}
			b.WriteString(" -d " + fishText(f.help) + "\n")
		}
	}
	return b.Bytes()
}

func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(firstSentence(s)) + "'"
}

// firstSentence returns the first sentence of a help text.
func firstSentence(s string) string {
	first, _, _ := strings.Cut(s, ". ")
	return strings.TrimSuffix(first, ".")
}

// quoteShell quotes s for a POSIX shell.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
