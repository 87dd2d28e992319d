package machine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNotRoot says that this process may not do what a node needs.
var ErrNotRoot = errors.New("it needs root")

// Ready returns why this process cannot make a node of this machine; nil when it can.
func Ready() error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	// Root in a container may lack the one capability behind mounts, namespaces and control groups.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("reading the capabilities of this process: %w", err)
	}
	for _, capability := range []struct {
		bit  uint
		name string
	}{{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}} {
		if data[0].Effective&(1<<capability.bit) == 0 {
			return fmt.Errorf("%w with %s, which this root has not", ErrNotRoot, capability.name)
		}
	}
	return nil
}
