package run

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/bowline-dev/bowline/internal/node"
)

// Describe says what a program would have, without a value: not even those that no Secret holds.
func Describe(container string, plan *node.Plan) string {
	var text strings.Builder
	fmt.Fprintf(&text, "container %s%s\n", container, behind(", image ", plan.Image))
	if words := append(shown(plan.Command), shown(plan.Args)...); len(words) > 0 {
		fmt.Fprintf(&text, "command   %s%s\n", Line(words), behind(", in ", plan.WorkingDir))
	}
	if rules := security(plan.Security); len(rules) > 0 {
		fmt.Fprintf(&text, "security  %s\n", strings.Join(rules, " "))
	}
	text.WriteString("files\n")
	for _, m := range plan.Mounts {
		describeMount(&text, plan, m)
	}
	text.WriteString("variables\n")
	for _, v := range plan.Env {
		fmt.Fprintf(&text, "  %s\n", v.Name)
	}
	return text.String()
}

func behind(words, value string) string {
	if value == "" {
		return ""
	}
	return words + value
}

// shown are the words of a command line as the workload has them, before variables are put in.
func shown(words []node.Word) []string {
	list := make([]string, 0, len(words))
	for _, w := range words {
		list = append(list, w.Text)
	}
	return list
}

func describeMount(text *strings.Builder, plan *node.Plan, m node.Mount) {
	kind := "read-only"
	if mode(plan, m) == "" {
		kind = "writable"
	}
	fmt.Fprintf(text, "  %s  (volume %s%s, %s)\n", m.Path, m.Volume, behind(", subPath ", m.SubPath), kind)
	for _, f := range mounted(plan, m) {
		fmt.Fprintf(text, "    %s  %s\n", permissions(f), f.Path)
	}
}

// permissions are the nine bits of a file's mode.
func permissions(f node.File) fs.FileMode {
	return fs.FileMode(f.Mode) & fs.ModePerm //nolint:gosec // nine bits
}

// mounted lists the files that a mount shows, by their paths below it. Where the mount is one file, its path is ".".
func mounted(plan *node.Plan, m node.Mount) []node.File {
	var files []node.File
	for i := range plan.Volumes {
		if plan.Volumes[i].Name != m.Volume {
			continue
		}
		for _, f := range plan.Volumes[i].Files {
			if within, ok := below(m.SubPath, f.Path); ok {
				f.Path = within
				files = append(files, f)
			}
		}
	}
	return files
}

// below returns the path of a file below a directory of its volume; "." for the file itself.
func below(dir, file string) (string, bool) {
	dir = strings.Trim(dir, "/")
	if dir == "" || dir == "." {
		return file, true
	}
	if dir == file {
		return ".", true
	}
	return strings.CutPrefix(file, dir+"/")
}
