package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, tc := range environments() {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := plan(t, in(`{name: c, `+tc.field+`}`, "", ""), "c")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, reveal(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// planned is a part of a pod and what becomes of it.
type planned struct {
	reason, field, rest string
	want                []string
}

func environments() []planned {
	return []planned{
		{
			reason: "references go to variables before; others stay as they are, and two dollars are one",
			field: `env: [{name: HOST, value: h}, {name: URL, value: "tcp://$(HOST):$(PORT) $$(HOST) $x $(HOST"}, ` +
				`{name: PORT, value: "1"}, {name: HOST, value: last}, {name: EMPTY}]`,
			want: []string{"env HOST=last", "env URL=tcp://h:$(PORT) $(HOST) $x $(HOST", "env PORT=1", "env EMPTY="},
		},
		{
			reason: "envFrom in order, then env in order; a later one wins at the place of the first",
			field: `envFrom: [{configMapRef: {name: conf}}, {secretRef: {name: creds}}, {secretRef: {name: creds}, prefix: "p="}, ` +
				`{prefix: P_, configMapRef: {name: conf}}, {secretRef: {name: none, optional: true}}, {configMapRef: {name: none, optional: true}}], ` +
				`env: [{name: level, value: "$(level)-own"}, {name: type, valueFrom: {secretKeyRef: {name: creds, key: none, optional: true}}}]`,
			want: []string{
				"env level=info-own", "env odd.key=odd", "env password=pw", "env subject=greetings", "env type=other",
				"env P_level=info", "env P_odd.key=odd",
			},
		},
		{
			reason: "entries of objects; what is optional and absent is no variable",
			field: `env: [{name: A, valueFrom: {secretKeyRef: {name: creds, key: password}}}, ` +
				`{name: B, valueFrom: {configMapKeyRef: {name: conf, key: level}}}, ` +
				`{name: C, valueFrom: {secretKeyRef: {name: none, key: x, optional: true}}}, ` +
				`{name: D, valueFrom: {configMapKeyRef: {name: conf, key: blob, optional: true}}}, {name: E, value: "$(A)$(C)"}, ` +
				`{name: F, value: own, valueFrom: {secretKeyRef: {name: none, key: x}}}]`,
			want: []string{"env A=pw", "env B=info", "env E=pw$(C)", "env F=own"},
		},
		{
			reason: "what the downward API tells a process",
			field: `env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, ` +
				`{name: C, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}, {name: D, valueFrom: {fieldRef: {fieldPath: "metadata.labels['tier']"}}}, ` +
				`{name: E, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a']"}}}, {name: F, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, ` +
				`{name: G, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}, {name: H, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}, ` +
				`{name: I, valueFrom: {fieldRef: {fieldPath: status.hostIPs}}}, {name: J, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, ` +
				`{name: K, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}]`,
			want: []string{
				"env A=orders", "env B=shop", "env C=u-1", "env D=front", "env E=b", "env F=laptop", "env G=runner",
				"env H=192.0.2.1", "env I=192.0.2.1", "env J=192.0.2.2", "env K=192.0.2.2",
			},
		},
		{
			reason: "command and arguments, with all variables, the later ones too",
			field: `command: [run, "$(A)", "$$(A)", "$(NONE)"], args: ["--to=$(level)$(A)"], envFrom: [{configMapRef: {name: conf}}], ` +
				`env: [{name: A, value: x}, {name: A, value: "y$(A)"}]`,
			want: []string{
				"env level=info", "env odd.key=odd", "env A=yx",
				`command ["run" "yx" "$(A)" "$(NONE)"]`, `args ["--to=infoyx"]`,
			},
		},
	}
}

func TestEnvironmentRefused(t *testing.T) {
	t.Parallel()
	from := func(source string) string { return `env: [{name: A, valueFrom: {` + source + `}}]` }
	tests := []struct{ reason, container, want, where string }{
		{"no such Secret", from(`secretKeyRef: {name: none, key: x}`), "missing", ".env[0].valueFrom.secretKeyRef: Secret \"none\""},
		{"no such entry", from(`secretKeyRef: {name: creds, key: x}`), "missing", `entry "x" of Secret "creds"`},
		{"no such ConfigMap", from(`configMapKeyRef: {name: none, key: x}`), "missing", `.env[0].valueFrom.configMapKeyRef: ConfigMap "none"`},
		{"binary data is no text", from(`configMapKeyRef: {name: conf, key: blob}`), "missing", `entry "blob" of ConfigMap "conf"`},
		{"no such Secret of all", `envFrom: [{secretRef: {name: none}}]`, "missing", ".envFrom[0].secretRef"},
		{"no such ConfigMap of all", `envFrom: [{configMapRef: {name: none}}]`, "missing", ".envFrom[0].configMapRef"},
		{"all labels", from(`fieldRef: {fieldPath: metadata.labels}`), "invalid", ".env[0].valueFrom.fieldRef"},
		{"unknown field", from(`fieldRef: {fieldPath: spec.hostname}`), "unsupported", ".env[0].valueFrom.fieldRef"},
		{"unknown container", from(`resourceFieldRef: {containerName: x, resource: limits.cpu}`), "missing", ".env[0].valueFrom.resourceFieldRef"},
		{"unknown resource", from(`resourceFieldRef: {resource: usage.cpu}`), "unsupported", ".env[0].valueFrom.resourceFieldRef"},
		{"file of variables", from(`fileKeyRef: {volumeName: v, path: p, key: k}`), "unsupported", ".env[0].valueFrom"},
		{"name with an equals sign", `env: [{name: "A=B"}]`, "invalid", ".env[0].name"},
		{"no name", `env: [{value: x}]`, "invalid", ".env[0].name"},
		{"NUL", `env: [{name: A, value: "x\u0000y"}]`, "invalid", `variable "A"`},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			_, err := plan(t, in(`{name: c, `+tc.container+`}`, "", ""), "c")
			if got := outcomeOf(err); got != tc.want || !strings.Contains(err.Error(), tc.where) {
				t.Errorf("error %v (%s), want %s at %s", err, got, tc.want, tc.where)
			}
		})
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	tests := []struct{ reason, env, want string }{
		{"a variable of itself", `{name: PATH, value: "$(PATH):/x"}`, "$(PATH) -> $(PATH)"},
		{"two of each other", `{name: A, value: "$(B)"}, {name: B, value: "$(A)"}`, "$(A) -> $(B) -> $(A)"},
		{
			"three, entered from outside", `{name: X, value: "$(A)"}, {name: A, value: "$(B)"}, {name: B, value: "$(C)$(NONE)"}, {name: C, value: "$(A)"}`,
			"$(A) -> $(B) -> $(C) -> $(A)",
		},
		{"a later one alone is text, as in a cluster", `{name: A, value: "$(B)"}, {name: B, value: b}`, ""},
		{"an earlier one of the same name is meant", `{name: A, value: a}, {name: A, value: "$(A)b"}`, ""},
		{"one of envFrom is meant", `{name: level, value: "$(level)b"}`, ""},
		{"back and forth without a circle", `{name: H, value: h}, {name: U, value: "$(H)"}, {name: H, value: "$(U)"}`, ""},
		{"two dollars are no reference", `{name: A, value: "$$(A)"}`, ""},
		{"twice the same one", `{name: A, value: a}, {name: B, value: "$(A)$(A)"}`, ""},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			_, err := plan(t, in(`{name: c, envFrom: [{configMapRef: {name: conf}}], env: [`+tc.env+`]}`, "", ""), "c")
			if tc.want == "" && err != nil {
				t.Errorf("error %v, want none", err)
			}
			if tc.want != "" && (outcomeOf(err) != "cycle" || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want the circle %s", err, tc.want)
			}
		})
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	const resources = `resources: {limits: {cpu: 1500m, memory: 100M, hugepages-2Mi: 4Mi}, requests: {cpu: 250m, ephemeral-storage: 1Gi}}`
	const podLimits = `resources: {limits: {cpu: "2", memory: 1Gi}}`
	tests := []struct{ resource, divisor, own, pod, want, file string }{
		{"limits.cpu", "0", resources, "", "2", "2"},
		{"limits.cpu", "1m", resources, podLimits, "1500", "1500"},
		{"limits.cpu", "1", "", "", "4", "4"},
		{"limits.cpu", "1", "", podLimits, "2", "4"},
		{"limits.cpu", "1", `resources: {limits: {cpu: 0}}`, "", "4", "4"},
		{"requests.cpu", "100m", resources, "", "3", "3"},
		{"requests.cpu", "1", "", podLimits, "0", "0"},
		{"requests.memory", "1", resources, "", "100000000", "100000000"},
		{"limits.memory", "1Mi", resources, "", "96", "96"},
		{"limits.memory", "1Gi", "", "", "8", "8"},
		{"limits.memory", "1Mi", "", podLimits, "1024", "8192"},
		{"limits.ephemeral-storage", "1Gi", resources, podLimits, "100", "100"},
		{"requests.ephemeral-storage", "1Mi", resources, "", "1024", "1024"},
		{"limits.hugepages-2Mi", "1Mi", resources, podLimits, "4", "4"},
		{"requests.hugepages-2Mi", "1Mi", resources, "", "4", "4"},
		{"limits.hugepages-1Gi", "1", resources, "", "0", "0"},
	}
	for _, tc := range tests {
		t.Run(tc.resource+" in "+tc.divisor, func(t *testing.T) {
			t.Parallel()
			own := tc.own
			if own != "" {
				own = ", " + own
			}
			field := `{containerName: other, resource: ` + tc.resource + `, divisor: ` + tc.divisor + `}`
			got, err := plan(t, in(`{name: c, env: [{name: A, valueFrom: {resourceFieldRef: `+field+`}}], volumeMounts: [{name: v, mountPath: /v}]}, `+
				`{name: other`+own+`}`, `{name: v, downwardAPI: {items: [{path: f, resourceFieldRef: `+field+`}]}}`, tc.pod), "c")
			if err != nil {
				t.Fatal(err)
			}
			if v := string(got.Env[0].Value.Reveal()); v != tc.want {
				t.Errorf("variable %s, want %s", v, tc.want)
			}
			if v := string(got.Volumes[0].Files[0].Value.Reveal()); v != tc.file {
				t.Errorf("file %s, want %s", v, tc.file)
			}
		})
	}
	got, err := plan(t, in(`{name: c, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}], `+resources+`}`, "", ""), "c")
	if err != nil || string(got.Env[0].Value.Reveal()) != "2" {
		t.Errorf("the container's own: %v, %v", got, err)
	}
}

func TestValuesDoNotPrint(t *testing.T) {
	t.Parallel()
	pod := podOf(t, in(`{name: c, command: ["$(A)"], args: ["$(A)"], env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}, `+
		`{name: B, value: "x$(A)"}], volumeMounts: [{name: v, mountPath: /v}]}`, `{name: v, secret: {secretName: s}}`, ""))
	objects := node.Objects{Secrets: map[string]node.Entries{"s": entries(map[string]string{"k": "hunter2"})}}
	got, err := node.NewPlan(node.Request{Pod: pod, Container: "c", Objects: objects})
	if err != nil {
		t.Fatal(err)
	}
	if words := node.Words(got.Command); words[0] != "hunter2" || got.Command[0].Text != "$(A)" {
		t.Errorf("command %q", words)
	}
	noPrint(t, got)
	noPrint(t, objects)
}
