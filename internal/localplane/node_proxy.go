package localplane

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// firewallChain is what kube-proxy leaves behind when it is told to clean up.
const firewallChain = "KUBE-FIREWALL"

// tables are the commands for the kernel's packet rules, for each version of IP.
func tables() []string { return []string{"iptables", "ip6tables"} }

// canProxy reports whether kube-proxy can do its work on this machine: it needs iptables, and must not meet the rules of
// another one, which has the same names for them.
func canProxy(ctx context.Context) bool {
	for _, program := range tables() {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
		rules, err := exec.CommandContext(ctx, program, "-w", "-t", "nat", "-S").Output()
		if err != nil || bytes.Contains(rules, []byte("KUBE-SERVICES")) {
			return false
		}
	}
	return true
}

// unproxy removes what kube-proxy wrote into the kernel's tables.
func (p *Plane) unproxy(ctx context.Context) error {
	if p.state.Node == nil || !p.state.Node.Proxy {
		return nil
	}
	binary, err := FindBinary()
	if err != nil {
		return err
	}
	if output, err := exec.CommandContext(ctx, binary, KubeProxy, "--cleanup").CombinedOutput(); err != nil {
		return fmt.Errorf("removing the rules of kube-proxy: %w: %s", err, bytes.TrimSpace(output))
	}
	for _, program := range tables() {
		for _, step := range firewallSteps() {
			// One that is not there is none to remove, and the command has no word for that.
			_ = exec.CommandContext(ctx, program, append([]string{"-w"}, step...)...).Run()
		}
		rules, err := exec.CommandContext(ctx, program, "-w", "-S").Output()
		if err == nil && strings.Contains(string(rules), firewallChain) {
			return fmt.Errorf("removing the rules of kube-proxy: %s still has %s", program, firewallChain)
		}
	}
	p.state.Node.Proxy = false
	return nil
}

// firewallSteps remove the chain.
func firewallSteps() [][]string {
	return [][]string{
		{"-D", "INPUT", "-j", firewallChain}, {"-D", "OUTPUT", "-j", firewallChain}, {"-F", firewallChain}, {"-X", firewallChain},
	}
}
