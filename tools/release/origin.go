package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

const (
	home      = "https://github.com/pare-llm/pare"
	downloads = home + "/releases/download/v#{version}/"
)

// formula is the release for Homebrew.
func (r *release) formula(systems []system) error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Pare < Formula\n  desc \"Repairs and fits the histories that agents send to language models\"\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n\n", home, r.version)
	some := false
	for _, on := range [][2]string{{"darwin", "macos"}, {"linux", "linux"}} { // one block for each, or brew style minds
		var inner strings.Builder
		for _, cpu := range [][2]string{{"arm64", "arm"}, {"amd64", "intel"}} {
			i := slices.IndexFunc(systems, func(s system) bool { return s.os == on[0] && s.arch == cpu[0] })
			if i < 0 {
				continue
			}
			name := r.archiveName(systems[i])
			at := slices.IndexFunc(r.files, func(f file) bool { return f.name == name })
			fmt.Fprintf(&inner, "    on_%s do\n      url \"%s%s\"\n      sha256 %q\n    end\n", cpu[1], downloads, strings.ReplaceAll(name, r.version, "#{version}"), r.files[at].sum)
		}
		if inner.Len() > 0 {
			some = true
			fmt.Fprintf(&b, "  on_%s do\n%s  end\n\n", on[1], inner.String())
		}
	}
	b.WriteString(`  def install
    bin.install "pare"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/pare.bash" => "pare"
    zsh_completion.install "completions/pare.zsh" => "_pare"
    fish_completion.install "completions/pare.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/pare --version")
  end
end
`)
	if !some {
		return nil
	}
	return r.write("pare.rb", []byte(b.String()))
}

// provenance writes a SLSA statement of the commit and the tools that made the files. It has
// no time, so that the same commit gives the same statement. It is not signed; the publisher
// signs it.
func (r *release) provenance(targets []string) error {
	type digest = map[string]string
	var subject []any
	for _, f := range r.files {
		subject = append(subject, map[string]any{"name": f.name, "digest": digest{"sha256": f.sum}})
	}
	commit := r.commit
	if commit == "" {
		commit = "unknown"
	}
	return r.write("pare_"+r.version+".intoto.json", indented(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subject, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          home + "/tree/main/tools/release",
				"externalParameters": map[string]any{"version": r.version, "targets": targets},
				"internalParameters": r.compilers(),
				"resolvedDependencies": []any{
					map[string]any{"uri": "git+" + home, "digest": digest{"gitCommit": commit}},
					map[string]any{"uri": "pkg:generic/go@" + strings.TrimPrefix(runtime.Version(), "go")},
				},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": home + "/tree/main/tools/release"}},
		},
	}))
}

// compilers are those of C by which libraries were made, by system.
func (r *release) compilers() map[string]string {
	all := map[string]string{}
	for _, target := range strings.Split(everywhere, ",") {
		s, _ := parseSystem(target)
		if cc := compiler(s); cc != "" {
			says, _ := exec.Command(cc, "--version").Output()
			first, _, _ := strings.Cut(string(says), "\n")
			all[target] = first
		}
	}
	return all
}
