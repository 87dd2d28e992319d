package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/live"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/offline"
	"github.com/bowline-dev/bowline/internal/run"
)

// notStartedError says that no program was started, and why.
type notStartedError struct{ err error }

func (e *notStartedError) Error() string { return e.err.Error() }
func (e *notStartedError) Unwrap() error { return e.err }

// endedError says how a program ended that did not succeed. There is nothing to say about it: the program has.
type endedError struct{ code int }

func (e *endedError) Error() string { return fmt.Sprintf("the program ended with %d", e.code) }

// unstarted marks what went wrong before a program was started, and adds what to do about it. What went wrong later it leaves
// unmarked. It returns nil for nil.
func unstarted(err error) error {
	if err == nil {
		return nil
	}
	hint := hintFor(err)
	if hint == "" {
		hint = runHint(err)
	}
	if _, late := errors.AsType[*run.LateError](err); late {
		return &hinted{err: oneLine(err), hint: hint}
	}
	return &hinted{err: &notStartedError{oneLine(err)}, hint: hint}
}

// interrupted says why nothing was started where somebody asked for an end before that.
func interrupted(ctx context.Context, err error) error {
	if _, late := errors.AsType[*run.LateError](err); late || ctx.Err() == nil {
		return err
	}
	return &hinted{
		err:  fmt.Errorf("it was ended before the program was started: %w", context.Cause(ctx)),
		hint: "if it was slow, see whether the cluster answers: kubectl cluster-info",
	}
}

// oneLine makes one line of an error that joins several.
func oneLine(err error) error {
	if text := err.Error(); strings.Contains(text, "\n") {
		return &oneLineError{err}
	}
	return err
}

type oneLineError struct{ err error }

func (e *oneLineError) Error() string { return strings.ReplaceAll(e.err.Error(), "\n", "; ") }
func (e *oneLineError) Unwrap() error { return e.err }

// runHint says what to do about an error.
func runHint(err error) string {
	for _, advise := range []func(error) string{ownHint, clusterHint, manifestHint, planHint} {
		if hint := advise(err); hint != "" {
			return hint
		}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return "see whether that path, or the folder it is in, is there, and whether you may use it"
	}
	return "try: bowline run --help, or read docs/reference/run.md"
}

// ownHint is what an error itself advises.
func ownHint(err error) string {
	if adviser, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return adviser.Hint()
	}
	return ""
}

func clusterHint(err error) string {
	if e, ok := errors.AsType[*live.PermissionError](err); ok {
		return "an administrator can allow it, and bind the role to you: " + e.Command()
	}
	if e, ok := errors.AsType[*live.MissingError](err); ok {
		return fmt.Sprintf("correct the name, or name the namespace with -n; to see what there is: kubectl get %s -n %s",
			strings.ToLower(e.Kind), e.Namespace)
	}
	if e, ok := errors.AsType[*live.KindError](err); ok {
		if e.Group == "" {
			return fmt.Sprintf("name its group, too, as in %s.example.com/NAME; to see the kinds there are: kubectl api-resources", e.Kind)
		}
		return "to see the kinds there are: kubectl api-resources --api-group=" + path.Base(e.Group)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "see whether the cluster can be reached: kubectl cluster-info; for a control plane on this machine: bowline up"
	}
	if apierrors.IsUnauthorized(err) {
		return "see whether your credentials still hold: kubectl auth whoami"
	}
	return ""
}

func manifestHint(err error) string {
	if _, ok := errors.AsType[*offline.Fault](err); ok {
		return "correct the manifest, or name further ones with -f"
	}
	if e, ok := errors.AsType[*offline.NoWorkloadError](err); ok {
		if len(e.Known) == 0 {
			return "name the manifest of a workload, such as a Deployment, with -f"
		}
		return "there are: " + strings.Join(e.Known, ", ")
	}
	if _, ok := errors.AsType[*offline.SeveralWorkloadsError](err); ok {
		return "name one of them with --workload KIND/NAME, and its namespace with -n"
	}
	return ""
}

// invalid says whether a workload holds what Kubernetes has no use for.
func invalid(err error) bool {
	_, field := errors.AsType[*node.InvalidError](err)
	_, path := errors.AsType[*node.PathError](err)
	_, kind := errors.AsType[*node.TypeError](err)
	return field || path || kind
}

func planHint(err error) string {
	if e, ok := errors.AsType[*node.AmbiguousError](err); ok {
		return "name the container: -c " + e.Containers[0]
	}
	if _, ok := errors.AsType[*node.MissingError](err); ok {
		return "create it where the workload is, or, with -f, name its manifest, too"
	}
	if _, ok := errors.AsType[*node.CycleError](err); ok {
		return "let the variable refer to variables before it only, and to itself never"
	}
	if _, ok := errors.AsType[*node.TooLargeError](err); ok {
		return "split the object: Kubernetes takes no more either"
	}
	if _, ok := errors.AsType[*node.UnsupportedError](err); ok {
		return "what a program on this machine cannot have is listed in docs/reference/run.md; name another container with -c"
	}
	if invalid(err) {
		return "correct the workload: a cluster would not run it either"
	}
	if e, ok := errors.AsType[*sandbox.StageError](err); ok && strings.Contains(e.Doing, "permission denied") {
		return "the program runs as the container's user; to run it as you are: --keep-user"
	}
	if _, ok := errors.AsType[*run.LineError](err); ok {
		return "let bowline run start the program, which can have such variables"
	}
	return ""
}
