package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/localplane"
)

func newDown(streams Streams) *cobra.Command {
	var (
		l    local
		wipe bool
	)
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop what up started",
		Long: `Down stops the controller and the control plane that up started in the data directory. The data stays, and the next
up brings it back; with --wipe it is removed.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.down(cmd.Context(), streams, wipe) },
	}
	l.bind(cmd)
	cmd.Flags().BoolVar(&wipe, "wipe", false, "remove the data, too")
	return cmd
}

func (l *local) down(ctx context.Context, streams Streams, wipe bool) error {
	tell := progress(streams.Err)
	plane, err := localplane.Open(l.dir)
	if errors.Is(err, localplane.ErrAbsent) {
		tell("nothing runs in " + l.dir)
		return nil
	}
	if err != nil {
		return wrap(err, "looking for the control plane")
	}
	said := "stopped"
	if !anythingRuns(plane) {
		said = "nothing runs in " + l.dir
	}
	if err := plane.Stop(ctx); err != nil {
		return wrap(err, "stopping the control plane")
	}
	tell(said)
	if !wipe {
		return nil
	}
	for _, name := range []string{portsFile, policyFile, linksDir} {
		if err := os.RemoveAll(filepath.Join(plane.Dir(), name)); err != nil {
			return wrap(err, "removing what belongs to the controller")
		}
	}
	if err := plane.Wipe(ctx); err != nil {
		return wrap(err, "removing the control plane")
	}
	tell("removed " + plane.Dir())
	return nil
}

func anythingRuns(plane *localplane.Plane) bool {
	return plane.Accompanied(controllerName) ||
		slices.ContainsFunc(plane.Status(), func(s localplane.Status) bool { return s.Running })
}
