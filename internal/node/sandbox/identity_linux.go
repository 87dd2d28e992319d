package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownIdentity is this process's.
func ownIdentity() identity {
	groups, _ := os.Getgroups() // without them, a group that is asked for counts as lacking
	_, permitted, _ := capabilities()
	return identity{
		uid: os.Geteuid(), gid: os.Getegid(), groups: groups, capabilities: permitted,
		passwd: func() (io.ReadCloser, error) { return os.Open("/etc/passwd") },
	}
}

// capabilities returns the effective and the permitted ones of this thread.
func capabilities() (capabilitySet, capabilitySet, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, 0, fmt.Errorf("reading capabilities: %w", err)
	}
	const half = 32
	effective := capabilitySet(data[0].Effective) | capabilitySet(data[1].Effective)<<half
	permitted := capabilitySet(data[0].Permitted) | capabilitySet(data[1].Permitted)<<half
	return effective, permitted, nil
}

// setCapabilities gives this thread those alone, to use and to keep; none is handed down by itself.
func setCapabilities(wanted capabilitySet) error {
	const half = 32
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	low, high := uint32(wanted&0xffffffff), uint32(wanted>>half)
	data := [2]unix.CapUserData{{Effective: low, Permitted: low}, {Effective: high, Permitted: high}}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("setting capabilities: %w", err)
	}
	return nil
}

// assume gives this thread the credentials of the program. Capabilities that are to be out of reach for good go first,
// while this thread may do so; then groups, as long as it may set them; then the ids.
func (c *credentials) assume(kind namespace) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing ambient capabilities: %w", err)
	}
	if err := c.bound(); err != nil {
		return err
	}
	if err := c.setIDs(); err != nil {
		return err
	}
	if err := c.limit(kind); err != nil {
		return err
	}
	if !c.NoNewPrivs {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	return nil
}

// limit gives up the capabilities that the program is not to have.
func (c *credentials) limit(kind namespace) error {
	_, permitted, err := capabilities()
	if err != nil {
		return err
	}
	if c.Bound {
		permitted &= c.Keep
	}
	if kind&userNamespace != 0 && c.UID != 0 {
		permitted = 0 // those to mount with
	}
	return setCapabilities(permitted)
}

// bound drops what is not kept from the bounding set. Who may not do that can reach the same by no_new_privs, having no
// capabilities to begin with.
func (c *credentials) bound() error {
	if !c.Bound {
		return nil
	}
	effective, _, err := capabilities()
	if err != nil {
		return err
	}
	if effective&(1<<unix.CAP_SETPCAP) == 0 {
		c.NoNewPrivs = true
		return nil
	}
	for number := range uintptr(unix.CAP_LAST_CAP + 1) {
		if c.Keep&(1<<number) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, number, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EINVAL) { // an older kernel has fewer
			return fmt.Errorf("dropping capability %v: %w", capabilitySet(1<<number).names(), err)
		}
	}
	return nil
}

func (c *credentials) setIDs() error {
	if !c.Become {
		return nil
	}
	if err := unix.Setgroups(c.Groups); err != nil {
		return fmt.Errorf("setting groups %v: %w", c.Groups, err)
	}
	if err := syscall.Setresgid(c.GID, c.GID, c.GID); err != nil {
		return fmt.Errorf("becoming group %d: %w", c.GID, err)
	}
	if err := syscall.Setresuid(c.UID, c.UID, c.UID); err != nil {
		return fmt.Errorf("becoming user %d: %w", c.UID, err)
	}
	return nil
}
