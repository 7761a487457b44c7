package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A difference is one thing that the two binaries do not agree on.
type difference struct {
	c     *testCase
	step  step
	what  string // status, stdout, stderr, or file NAME
	hunks []hunk

	causes string // result of the new check, such as " found:last-role cured:last-role"
}

// A hunk is a run of pieces that differ.
type hunk struct{ old, new string }

// text returns the text that is matched with allowed differences.
func (d difference) text(h hunk) string {
	return fmt.Sprintf("%s %s %s%s\n-%s\n+%s", d.step.label, d.what, d.c.input, d.causes, h.old, h.new)
}

var (
	hexes  = regexp.MustCompile(`\b[0-9a-f]{8,}\b`)
	digits = regexp.MustCompile(`[0-9]+`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.){16,}"`)
)

// kind is the same for differences of one command that differ in flags, numbers, ids
// and texts only.
func (d difference) kind() string {
	var b strings.Builder
	name, _, _ := strings.Cut(strings.TrimPrefix(d.step.label, "script "), " ")
	fmt.Fprintf(&b, "%s · %s", name, digits.ReplaceAllString(d.what, "0"))
	seen := map[string]bool{}
	for _, h := range d.hunks {
		s := "\n- " + blur(h.old) + "\n+ " + blur(h.new)
		if d.what == "status" {
			s = "\n- " + h.old + "\n+ " + h.new
		}
		if !seen[s] && len(seen) < 3 {
			seen[s] = true
			b.WriteString(s)
		}
	}
	return b.String()
}

func blur(s string) string {
	s = quoted.ReplaceAllString(s, `"…"`)
	s = hexes.ReplaceAllString(s, "#")
	return short(digits.ReplaceAllString(s, "0"), 160)
}

func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n/2]) + " … " + string(r[len(r)-n/2:])
	}
	return s
}

// diff compares two outputs by lines of text and members of JSON.
func diff(c *testCase, s step, what, old, new string) []difference {
	if old == new {
		return nil
	}
	if strings.HasSuffix(what, ".html") {
		old, new = withoutCode(old), withoutCode(new)
	}
	d := difference{c: c, step: s, what: what, hunks: hunks(pieces(old), pieces(new))}
	return []difference{d}
}

var (
	code   = regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`)
	policy = regexp.MustCompile(`'sha256-[^']*'`)
)

// withoutCode replaces a page's style and script by a checksum. They are the same on all pages
// of a binary, and so large that their differences would hide those of the data.
func withoutCode(page string) string {
	page = code.ReplaceAllStringFunc(page, func(s string) string {
		part := code.FindStringSubmatch(s)
		return fmt.Sprintf("\n%s %x\n", part[1], sha256.Sum256([]byte(part[2])))
	})
	return policy.ReplaceAllString(page, "'sha256'")
}

func pieces(s string) []string {
	var all []string
	for start := 0; start < len(s); {
		end := strings.IndexAny(s[start:], "\n{}[],")
		if end < 0 {
			all = append(all, s[start:])
			break
		}
		all = append(all, s[start:start+end+1])
		start += end + 1
	}
	return all
}

// maxEdits bounds the search for the shortest edit script, which takes time and memory that
// grow with its square. Above it, the rest is one hunk.
const maxEdits = 600

func hunks(a, b []string) []hunk {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	join := func(s []string) string { return strings.Join(s, "") }
	common := shortest(a, b)
	if common == nil {
		return []hunk{{join(a), join(b)}}
	}
	var all []hunk
	i, j := 0, 0
	for _, m := range append(common, [2]int{len(a), len(b)}) {
		if i < m[0] || j < m[1] {
			all = append(all, hunk{join(a[i:m[0]]), join(b[j:m[1]])})
		}
		i, j = m[0]+1, m[1]+1
	}
	return all
}

// shortest returns the pairs of pieces that stay, after Myers, or nil if there are
// more than maxEdits others.
func shortest(a, b []string) [][2]int {
	n, m := len(a), len(b)
	most := min(n+m, maxEdits)
	v := make([]int, 2*most+3)
	at := most + 1
	var trace [][]int
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(v))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || (k != d && v[at+k-1] < v[at+k+1]) {
				x = v[at+k+1]
			} else {
				x = v[at+k-1] + 1
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[at+k] = x
			if x >= n && x-k >= m {
				return walkBack(trace, at, n, m)
			}
		}
	}
	return nil
}

func walkBack(trace [][]int, at, x, y int) [][2]int {
	common := [][2]int{}
	for d := len(trace) - 1; d >= 0; d-- {
		v, k := trace[d], x-y
		from := k - 1
		if k == -d || (k != d && v[at+k-1] < v[at+k+1]) {
			from = k + 1
		}
		px := v[at+from]
		py := px - from
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			common = append(common, [2]int{x, y})
		}
		x, y = px, py
	}
	slices.Reverse(common)
	return common
}

func sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
