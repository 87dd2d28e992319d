package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/node/volume"
)

// volumeMode is what the kubelet gives the directory of a volume, beside a sticky bit.
const volumeMode fs.FileMode = 0o777

// start starts the program as the plan is now. Where that fails nothing is left.
func (s *supervisor) start(ctx context.Context) (*process, error) {
	command, err := s.command()
	if err != nil {
		return nil, err
	}
	box, err := sandbox.New(ctx, s.spec(command))
	if err != nil {
		return nil, err
	}
	if err := s.launch(box); err != nil {
		return nil, errors.Join(err, box.Close())
	}
	p := &process{box: box, ended: make(chan ending, 1)}
	go func() {
		exit, err := box.Wait()
		p.ended <- ending{exit, err}
	}()
	return p, nil
}

// launch fills a sandbox and starts the program in it.
func (s *supervisor) launch(box *sandbox.Sandbox) error {
	if _, err := write(box, s.plan, 0); err != nil {
		return err
	}
	for _, text := range box.Unmet() {
		s.say("the security context is not honoured in full: " + text)
	}
	if s.plan.Security.Privileged && s.request.Engine == nil {
		s.say("the container is privileged; the program may do what you may, and no more")
	}
	env, err := s.prepare(box)
	if err != nil {
		return err
	}
	return box.Start(env)
}

// prepare returns the environment. Where the program does not see the container's own places, paths in it and in the
// container's own command are moved, and people are told.
func (s *supervisor) prepare(box *sandbox.Sandbox) ([]string, error) {
	if s.request.Engine != nil {
		return s.prepareEngine(box)
	}
	if isolated, reason := box.Isolated(); !isolated && len(s.plan.Mounts) > 0 {
		move := newRelocator(s.plan, box.Seen)
		e := environ(s.request.Environ, s.plan, &move)
		s.say(describeMoves(reason, move, e.moved))
		if len(s.request.Command) == 0 {
			box.SetCommand(move.words(s.own()))
		}
		return e.list, nil
	}
	own := len(s.request.Command) > 0 || s.plan.WorkingDir == "" // what starts in the working directory of this process
	if dir, err := os.Getwd(); err == nil && own && box.Inside(dir) {
		return nil, &HiddenError{Directory: dir}
	}
	return environ(s.request.Environ, s.plan, nil).list, nil
}

// describeMoves tells where the files are, and what was changed for that.
func describeMoves(reason string, move relocator, variables []string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "the files are not at the container's own paths (%s): ", reason)
	for _, mount := range slices.Backward(move.mounts) {
		fmt.Fprintf(&text, "%s is at %s; ", mount, move.seen(mount))
	}
	if len(variables) == 0 {
		return text.String() + "no variable names them"
	}
	return text.String() + "these variables say so: " + strings.Join(variables, ", ")
}

// command returns the words of the command line.
func (s *supervisor) command() ([]string, error) {
	switch {
	case s.request.Engine != nil && s.plan.Image == "":
		return nil, &NoImageError{Container: s.request.Container}
	case s.request.Engine != nil:
		return []string{s.request.Engine.Program}, nil
	case len(s.request.Command) > 0:
		return s.request.Command, nil
	case len(s.plan.Command) == 0:
		return nil, &NoCommandError{Container: s.request.Container, Image: s.plan.Image}
	}
	return s.own(), nil
}

// own is the container's own command.
func (s *supervisor) own() []string {
	return append(node.Words(s.plan.Command), node.Words(s.plan.Args)...)
}

// spec says what the sandbox is to be.
func (s *supervisor) spec(command []string) sandbox.Spec {
	spec := sandbox.Spec{
		Command: command, Env: s.request.Environ, Namespace: s.request.Namespace,
		Storage: s.request.Storage, Reserve: s.plan.Size(),
		Stdin: s.request.Stdin, Stdout: s.request.Stdout, Stderr: s.request.Stderr,
	}
	for i := range s.plan.Volumes {
		spec.Volumes = append(spec.Volumes, folder(&s.plan.Volumes[i], s.plan.Security))
	}
	for _, m := range s.plan.Mounts {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Volume: m.Volume, SubPath: m.SubPath, Path: m.Path, ReadOnly: m.ReadOnly})
	}
	if s.request.Engine != nil {
		spec.Namespace = sandbox.Never // the engine has to see the files
		spec.Volumes = append(spec.Volumes, sandbox.Volume{Name: variablesVolume})
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Volume: variablesVolume, Path: variablesPath})
		return spec
	}
	if len(s.request.Command) == 0 {
		spec.Dir = s.plan.WorkingDir
	}
	spec.Security = s.security(os.Geteuid())
	return spec
}

// security is what the program may do, and as whom. Only root can make it somebody else; for others it runs as they are,
// and they are told.
func (s *supervisor) security(own int) sandbox.Security {
	c := s.plan.Security
	wanted := sandbox.Security{
		User: c.User, Group: c.Group, Groups: c.Groups, ReadOnlyRoot: c.ReadOnlyRoot, NoNewPrivileges: c.NoNewPrivileges,
		RunAsNonRoot: c.RunAsNonRoot, Drop: c.Drop, Add: c.Add,
	}
	if s.request.KeepUser {
		wanted.User, wanted.Group, wanted.Groups, wanted.RunAsNonRoot = nil, nil, nil, false
		return wanted
	}
	if own == 0 {
		return wanted
	}
	var others []string
	if c.User != nil && *c.User != int64(own) {
		others = append(others, fmt.Sprintf("user %d", *c.User))
	}
	if c.Group != nil || len(c.Groups) > 0 {
		others = append(others, "its groups")
	}
	if len(others) > 0 {
		s.say(fmt.Sprintf("the program runs as you are, user %d: to run it as %s takes root", own, strings.Join(others, " and ")))
	}
	wanted.User, wanted.Group, wanted.Groups = nil, nil, nil
	return wanted
}

// folder says what the directory of a volume is to be.
func folder(v *node.Volume, c node.Security) sandbox.Volume {
	f := sandbox.Volume{Name: v.Name, Scratch: v.Scratch, Limit: v.SizeLimit, Mode: volumeMode}
	if v.Sticky {
		f.Mode |= fs.ModeSticky
	}
	if c.FSGroup != nil {
		f.GID, f.Mode = int(*c.FSGroup), f.Mode|fs.ModeSetgid
	}
	return f
}

// write brings the files of all volumes up to date, and says whether any changed. Old files linger for a moment, so that
// a program that has just looked up where a file is finds it there.
func write(box *sandbox.Sandbox, plan *node.Plan, linger time.Duration) (changed bool, err error) {
	var drops []func() error
	defer func() {
		if len(drops) > 0 {
			<-time.After(linger)
		}
		for _, drop := range drops {
			err = errors.Join(err, drop())
		}
	}()
	for i := range plan.Volumes {
		v := &plan.Volumes[i]
		root := box.Volume(v.Name)
		if v.Scratch || root == nil {
			continue
		}
		one, drop, err := volume.Swap(root, v.Files, volume.Owner{Group: plan.Security.FSGroup, Others: inner(plan, v.Name)}, time.Now())
		if err != nil {
			return changed, fmt.Errorf("writing volume %q: %w", v.Name, err)
		}
		if one {
			changed, drops = true, append(drops, drop)
		}
	}
	return changed, nil
}

// inner are the names in a volume where mounts within its own ones begin. Without a namespace those are links.
func inner(plan *node.Plan, volume string) []string {
	var names []string
	for _, outer := range plan.Mounts {
		if outer.Volume != volume || outer.SubPath != "" {
			continue
		}
		for _, m := range plan.Mounts {
			if within, ok := strings.CutPrefix(path.Clean(m.Path), path.Clean(outer.Path)+"/"); ok {
				name, _, _ := strings.Cut(within, "/")
				names = append(names, name)
			}
		}
	}
	return names
}
