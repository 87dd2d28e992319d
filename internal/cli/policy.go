package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/service"
)

// Values of --authorize.
const (
	authorizeEnforce = "enforce"
	authorizeWarn    = "warn"
)

// policyFile records, in the data directory of up, the flags of the controller that runs there about what it may do.
const policyFile = "policy.json"

// policy are the flags about what a binding may do. They are the same wherever a controller is started.
type policy struct {
	authorize          string
	allowedSecretTypes []string
}

func (p *policy) bind(flags *pflag.FlagSet) {
	flags.StringVar(&p.authorize, "authorize", authorizeEnforce,
		"what becomes of a binding whose author may not get its service or update its workload: enforce refuses it, warn only warns")
	flags.StringArrayVar(&p.allowedSecretTypes, "allow-secret-type", nil,
		"a type of Secret with credentials of the platform that may be bound all the same, such as "+
			service.PlatformSecretTypes()[3]+"; may be repeated (default: none)")
}

func (p *policy) warnOnly() bool { return p.authorize == authorizeWarn }

// check sees that flags with few values have one of them. A type that is spelt wrongly would allow nothing, silently.
func (p *policy) check(command string) error {
	if !p.warnOnly() && p.authorize != authorizeEnforce {
		return &usageError{
			err:     fmt.Errorf("--authorize %q is neither %s nor %s", p.authorize, authorizeEnforce, authorizeWarn),
			command: command,
		}
	}
	known := service.PlatformSecretTypes()
	for _, allowed := range p.allowedSecretTypes {
		if !slices.Contains(known, allowed) {
			return &usageError{
				err: fmt.Errorf("--allow-secret-type %q is none of the types that need it, which are %s",
					allowed, strings.Join(known, ", ")),
				command: command,
			}
		}
	}
	return nil
}

// arguments hand the policy on to a controller; there are none for the default. Two equal policies have the same.
func (p *policy) arguments() []string {
	var arguments []string
	if p.authorize != authorizeEnforce {
		arguments = append(arguments, "--authorize="+p.authorize)
	}
	types := slices.Clone(p.allowedSecretTypes)
	slices.Sort(types)
	for _, allowed := range slices.Compact(types) {
		arguments = append(arguments, "--allow-secret-type="+allowed)
	}
	return arguments
}

// prevail ends a controller that runs with other flags about what it may do, so that it is started again with these: a second up that
// asked for more care and left the first one's controller alone would deceive.
func prevail(ctx context.Context, plane *localplane.Plane, arguments []string) error {
	path := filepath.Join(plane.Dir(), policyFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	var recorded []string
	unknown := len(data) > 0 && json.Unmarshal(data, &recorded) != nil
	if !unknown && slices.Equal(recorded, arguments) {
		return nil
	}
	if err := plane.Dismiss(ctx, controllerName); err != nil {
		return fmt.Errorf("ending the controller, which runs with other flags: %w", err)
	}
	if data, err = json.Marshal(arguments); err != nil {
		return fmt.Errorf("encoding the controller's flags: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}
