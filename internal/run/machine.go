package run

import (
	"net"
	"os"
	"runtime"

	"github.com/bowline-dev/bowline/internal/node"
)

const (
	loopback = "127.0.0.1"
	milli    = 1000
)

// ThisMachine is what the downward API tells a program here.
func ThisMachine() node.Machine {
	name, _ := os.Hostname()
	address := ownAddress()
	return node.Machine{
		Hostname: name, HostIP: address, PodIP: address,
		MilliCPU: int64(runtime.NumCPU()) * milli, MemoryBytes: memory(), EphemeralBytes: disk(),
	}
}

// ownAddress is an address under which others may reach this machine; that of the machine to itself if there is none.
func ownAddress() string {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return network.IP.String()
		}
	}
	return loopback
}
