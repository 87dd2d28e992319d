package sandbox

import (
	"slices"
	"strings"
)

// capabilitySet is a set of Linux capabilities, one bit each.
type capabilitySet uint64

// all is how a security context names every capability.
const all = "ALL"

// capabilityNames lists the capabilities by their number, as Linux names them without CAP_.
func capabilityNames() []string {
	return []string{
		"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
		"LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE",
		"SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME",
		"SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG",
		"WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE",
	}
}

// capabilityNamed returns the set that a name stands for; none for an unknown one.
func capabilityNamed(name string) capabilitySet {
	name = strings.TrimPrefix(strings.ToUpper(name), "CAP_")
	if name == all {
		return ^capabilitySet(0)
	}
	number := slices.Index(capabilityNames(), name)
	if number < 0 {
		return 0
	}
	return 1 << number
}

// names lists the capabilities of a set.
func (c capabilitySet) names() []string {
	var found []string
	for number, name := range capabilityNames() {
		if c&(1<<number) != 0 {
			found = append(found, name)
		}
	}
	return found
}

// capabilitiesFor drops and adds. It returns what is left, and what was to be added but is not there.
func capabilitiesFor(own capabilitySet, drop, add []string) (capabilitySet, []string, error) {
	wanted := own
	for _, name := range drop {
		dropped := capabilityNamed(name)
		if dropped == 0 {
			return 0, nil, &SpecError{Field: "capabilities.drop", Problem: "there is no capability " + name}
		}
		wanted &^= dropped
	}
	var missing []string
	for _, name := range add {
		added := capabilityNamed(name)
		if added == 0 {
			return 0, nil, &SpecError{Field: "capabilities.add", Problem: "there is no capability " + name}
		}
		if added != ^capabilitySet(0) && own&added == 0 {
			missing = append(missing, name)
		}
		wanted |= added & own
	}
	return wanted, missing, nil
}
