package run

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/node/volume"
)

const (
	// variablesVolume holds a file with the variables for a container engine. No volume of a pod has a name like it.
	variablesVolume = "bowline.variables"
	// variablesPath is where that volume lies among the others.
	variablesPath = "/bowline.variables"
	// variablesFile is the file.
	variablesFile = "env"
)

// Engine is a container engine that runs the container's image.
type Engine struct {
	// Program is docker, podman, or what takes the same arguments.
	Program string
	// Terminal says that the program talks to a person.
	Terminal bool
}

// Places are where an engine finds what a container gets.
type Places struct {
	// Files says where the files are that the container finds at a path.
	Files func(path string) string
	// Variables is a file with the variables; empty to name each in the engine's own environment.
	Variables string
	// Inherited are the names of variables that are handed on from the engine's environment.
	Inherited []string
	// Shown says that the command line is to be seen, and not to be run: its words are as the workload has them, before
	// variables are put in.
	Shown bool
}

// NoImageError says that the container has no image to run.
type NoImageError struct {
	// Container is its name.
	Container string
}

// Error names the container.
func (e *NoImageError) Error() string { return fmt.Sprintf("container %q names no image", e.Container) }

// Hint says what to do.
func (*NoImageError) Hint() string {
	return "run a program of this machine: leave out --container, and give a command behind --"
}

// Arguments returns what the engine is called with to run a container as a plan has it. A command takes the place of the
// container's own. No argument holds a value of a variable, but for words of the container's own command that ask for it.
func (e Engine) Arguments(plan *node.Plan, places Places, command []string) []string {
	args := []string{"run", "--rm", "--interactive"}
	if e.Terminal {
		args = append(args, "--tty")
	}
	if places.Variables != "" {
		args = append(args, "--env-file", places.Variables)
	}
	for _, name := range places.Inherited {
		args = append(args, "-e", name)
	}
	for _, m := range plan.Mounts {
		args = append(args, "-v", places.Files(m.Path)+":"+m.Path+mode(plan, m))
	}
	args = append(args, security(plan.Security)...)
	words := node.Words
	if places.Shown {
		words = shown
	}
	entry, rest := words(plan.Command), words(plan.Args)
	if len(command) > 0 {
		entry, rest = command, nil
	} else if plan.WorkingDir != "" {
		args = append(args, "--workdir", plan.WorkingDir)
	}
	if len(entry) > 0 {
		args = append(args, "--entrypoint", entry[0])
		rest = append(entry[1:len(entry):len(entry)], rest...)
	}
	return append(append(args, plan.Image), rest...)
}

// mode says whether the container may write to a mount: never where a volume has files.
func mode(plan *node.Plan, m node.Mount) string {
	if m.ReadOnly || !scratch(plan, m.Volume) {
		return ":ro"
	}
	return ""
}

// scratch says whether a volume is the program's own.
func scratch(plan *node.Plan, volume string) bool {
	return slices.ContainsFunc(plan.Volumes, func(v node.Volume) bool { return v.Name == volume && v.Scratch })
}

// security writes a security context as an engine takes it.
func security(c node.Security) []string {
	var args []string
	if c.User != nil {
		user := strconv.FormatInt(*c.User, 10)
		if c.Group != nil {
			user += ":" + strconv.FormatInt(*c.Group, 10)
		}
		args = append(args, "--user", user)
	}
	for _, group := range c.Groups {
		args = append(args, "--group-add", strconv.FormatInt(group, 10))
	}
	if c.ReadOnlyRoot {
		args = append(args, "--read-only")
	}
	if c.NoNewPrivileges {
		args = append(args, "--security-opt", "no-new-privileges")
	}
	for _, name := range c.Drop {
		args = append(args, "--cap-drop", name)
	}
	for _, name := range c.Add {
		args = append(args, "--cap-add", name)
	}
	if c.Privileged {
		args = append(args, "--privileged")
	}
	return args
}

// prepareEngine writes the variables where the engine reads them, and makes the command line. Only variables of several
// lines, which no file of variables can hold, go through the engine's own environment.
func (s *supervisor) prepareEngine(box *sandbox.Sandbox) ([]string, error) {
	single, several := multiline(s.plan.Env)
	text, err := EnvFile(single)
	if err != nil {
		return nil, err
	}
	files := []node.File{{Path: variablesFile, Value: text, Mode: 0o400}}
	if _, err := volume.Write(box.Volume(variablesVolume), files, volume.Owner{}, time.Now()); err != nil {
		return nil, fmt.Errorf("writing the variables for %s: %w", s.request.Engine.Program, err)
	}
	places := Places{Files: box.Seen, Variables: box.Seen(variablesPath) + "/" + variablesFile}
	for _, v := range several {
		places.Inherited = append(places.Inherited, v.Name)
	}
	arguments := s.request.Engine.Arguments(s.plan, places, s.request.Command)
	box.SetCommand(append([]string{s.request.Engine.Program}, arguments...))
	return environ(s.request.Environ, &node.Plan{Env: several}, nil).list, nil
}

// multiline tells variables of one line from those of several.
func multiline(variables []node.Variable) (single, several []node.Variable) {
	for _, v := range variables {
		if bytes.ContainsAny(v.Value.Reveal(), "\r\n\x00") {
			several = append(several, v)
		} else {
			single = append(single, v)
		}
	}
	return single, several
}

// LineError says that a variable does not fit into a file that has one line for each.
type LineError struct {
	// Name is the variable's.
	Name string
}

// Error names the variable.
func (e *LineError) Error() string {
	return fmt.Sprintf("variable %q has several lines, which a file of variables cannot hold", e.Name)
}

// EnvFile writes variables as the tools that take such files read them: NAME=VALUE, one a line, nothing quoted. The error
// is a *LineError.
func EnvFile(variables []node.Variable) (node.Value, error) {
	var text strings.Builder
	single, several := multiline(variables)
	if len(several) > 0 {
		return node.Value{}, &LineError{Name: several[0].Name}
	}
	for _, v := range single {
		text.WriteString(v.Name + "=" + string(v.Value.Reveal()) + "\n")
	}
	return node.NewValue([]byte(text.String())), nil
}

// Line writes a command line as a shell reads it.
func Line(words []string) string {
	list := make([]string, 0, len(words))
	for _, w := range words {
		list = append(list, shellWord(w))
	}
	return strings.Join(list, " ")
}

func shellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
