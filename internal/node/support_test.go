package node_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/node"
)

func workload(t *testing.T, text string) map[string]any {
	t.Helper()
	var w map[string]any
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return w
}

func podOf(t *testing.T, text string) *node.Pod {
	t.Helper()
	pod, err := node.PodOf(workload(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func value(text string) node.Value { return node.NewValue([]byte(text)) }

func entries(texts map[string]string) node.Entries {
	all := node.Entries{}
	for key, text := range texts {
		all[key] = value(text)
	}
	return all
}

// objects are what the tests' pods refer to.
func objects() node.Objects {
	return node.Objects{
		Secrets: map[string]node.Entries{
			"creds": entries(map[string]string{"password": "pw", "subject": "greetings", "type": "other"}),
		},
		ConfigMaps: map[string]node.Entries{"conf": entries(map[string]string{"level": "info", "odd.key": "odd"})},
		BinaryData: map[string]node.Entries{"conf": entries(map[string]string{"blob": "\x00\xff"})},
		Tokens: map[node.TokenRequest]node.Value{
			{ServiceAccount: "runner", Audience: "vault", ExpirationSeconds: 600}: value("token-1"),
			{ServiceAccount: "runner", ExpirationSeconds: 3600}:                   value("token-2"),
		},
	}
}

func machine() node.Machine {
	return node.Machine{
		Hostname: "laptop", HostIP: "192.0.2.1", PodIP: "192.0.2.2",
		MilliCPU: 4000, MemoryBytes: 8 << 30, EphemeralBytes: 100 << 30,
	}
}

// in puts a container, volumes and other fields of a pod into a Deployment.
func in(container, volumes, rest string) string {
	if rest != "" {
		rest = ", " + rest
	}
	return `{kind: Deployment, metadata: {name: orders, namespace: shop, uid: u-1}, spec: {template: {` +
		`metadata: {labels: {tier: front, app: orders}, annotations: {note: "two\nlines \"quoted\" é", a: b}}, ` +
		`spec: {serviceAccountName: runner, containers: [` + container + `], volumes: [` + volumes + `]` + rest + `}}}}`
}

func plan(t *testing.T, text, container string) (*node.Plan, error) {
	t.Helper()
	return node.NewPlan(node.Request{Pod: podOf(t, text), Container: container, Objects: objects(), Machine: machine()})
}

// reveal makes a plan comparable and readable, which it must not be outside a test.
func reveal(p *node.Plan) []string {
	var lines []string
	for _, v := range p.Volumes {
		lines = append(lines, revealVolume(v)...)
	}
	for _, m := range p.Mounts {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("mount %s at %s ro=%t %s", m.Volume, m.Path, m.ReadOnly, m.SubPath)))
	}
	for _, v := range p.Env {
		lines = append(lines, fmt.Sprintf("env %s=%s", v.Name, v.Value.Reveal()))
	}
	if len(p.Command) > 0 {
		lines = append(lines, fmt.Sprintf("command %q", node.Words(p.Command)))
	}
	if len(p.Args) > 0 {
		lines = append(lines, fmt.Sprintf("args %q", node.Words(p.Args)))
	}
	return lines
}

func revealVolume(v node.Volume) []string {
	head := "volume " + v.Name
	if v.Scratch {
		head += fmt.Sprintf(" scratch %d", v.SizeLimit)
	}
	lines := []string{head}
	for _, f := range v.Files {
		line := fmt.Sprintf("file %s %q %o", f.Path, f.Value.Reveal(), f.Mode)
		if f.User != nil {
			line += fmt.Sprintf(" user %d", *f.User)
		}
		lines = append(lines, line)
	}
	return lines
}

// sorted gives the keys of a table of tests in an order.
func sorted[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }

// noPrint makes sure that no way of printing shows the secret of the tests.
func noPrint(t *testing.T, what any) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		text := fmt.Sprintf(verb, what)
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("%s prints a secret: %s", verb, text)
		}
	}
}
