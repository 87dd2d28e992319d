package machine

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// AddBridge makes the bridge unless it is there, gives it the prefix's address and takes it up.
func AddBridge(name string, prefix netip.Prefix) error {
	return withSocket(name, func(socket int, request *unix.Ifreq) error {
		if err := unix.IoctlIfreq(socket, unix.SIOCBRADDBR, request); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("making bridge %q: %w", name, err)
		}
		mask := ^uint32(0) << (32 - prefix.Bits()) //nolint:mnd // the bits of an IPv4 address
		for _, set := range []struct {
			call  uint
			value [4]byte
		}{
			{unix.SIOCSIFADDR, prefix.Addr().As4()},
			{unix.SIOCSIFNETMASK, [4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}}, //nolint:gosec,mnd // bytes of it
		} {
			if err := request.SetInet4Addr(set.value[:]); err != nil {
				return fmt.Errorf("composing the address of bridge %q: %w", name, err)
			}
			if err := unix.IoctlIfreq(socket, set.call, request); err != nil {
				return fmt.Errorf("giving bridge %q the address %s: %w", name, prefix, err)
			}
		}
		return setUp(socket, request, true)
	})
}

// RemoveBridge removes the bridge; one that is not there is none to remove.
func RemoveBridge(name string) error {
	return withSocket(name, func(socket int, request *unix.Ifreq) error {
		if err := setUp(socket, request, false); err != nil {
			if errors.Is(err, unix.ENODEV) {
				return nil
			}
			return err
		}
		if err := unix.IoctlIfreq(socket, unix.SIOCBRDELBR, request); err != nil && !errors.Is(err, unix.ENXIO) {
			return fmt.Errorf("removing bridge %q: %w", name, err)
		}
		return nil
	})
}

// withSocket lends out what requests about a network interface need.
func withSocket(name string, use func(socket int, request *unix.Ifreq) error) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("naming the network interface %q: %w", name, err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a socket to set up %q: %w", name, err)
	}
	defer func() { _ = unix.Close(socket) }()
	return use(socket, request)
}

// setUp takes a network interface up or down.
func setUp(socket int, request *unix.Ifreq, up bool) error {
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return fmt.Errorf("reading the state of %q: %w", request.Name(), err)
	}
	flags := request.Uint16() &^ unix.IFF_UP
	if up {
		flags |= unix.IFF_UP
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("changing the state of %q: %w", request.Name(), err)
	}
	return nil
}
