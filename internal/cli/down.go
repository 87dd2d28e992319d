package cli

import (
	"errors"

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
		RunE: func(cmd *cobra.Command, _ []string) error {
			tell := progress(streams.Err)
			plane, err := localplane.Open(l.dir)
			if errors.Is(err, localplane.ErrAbsent) {
				tell("nothing runs in " + l.dir)
				return nil
			}
			if err != nil {
				return wrap(err, "looking for the control plane")
			}
			if wipe {
				err = wrap(plane.Wipe(cmd.Context()), "removing the control plane")
			} else {
				err = wrap(plane.Stop(cmd.Context()), "stopping the control plane")
			}
			if err == nil {
				tell("stopped")
			}
			return err
		},
	}
	l.bind(cmd)
	cmd.Flags().BoolVar(&wipe, "wipe", false, "remove the data, too")
	return cmd
}
