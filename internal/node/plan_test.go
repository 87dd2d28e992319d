package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/node"
)

// projected is a Deployment as it looks once a binding with type override and env is projected into one container.
const projected = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: team}
spec:
  template:
    metadata:
      labels: {tier: front}
      annotations: {projector.servicebinding.io/type-u1: nats}
    spec:
      containers:
      - name: app
        env:
        - {name: HOST, value: h}
        - {name: URL, value: "tcp://$(HOST):$(PORT) $$(HOST) $x $(HOST"}
        - {name: SERVICE_BINDING_ROOT, value: /bindings}
        - {name: SUBJECT, valueFrom: {secretKeyRef: {name: creds, key: subject}}}
        - {name: KIND, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['projector.servicebinding.io/type-u1']"}}}
        - {name: TIER, valueFrom: {fieldRef: {fieldPath: "metadata.labels['tier']"}}}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: ABSENT, valueFrom: {secretKeyRef: {name: none, key: x, optional: true}}}
        - {name: HOST, value: last}
        volumeMounts:
        - {name: servicebinding-u1, mountPath: /bindings/events, readOnly: true}
        - {name: scratch, mountPath: /scratch}
      - name: other
        envFrom:
        - {prefix: P_, secretRef: {name: creds}}
        volumeMounts:
        - {name: own, mountPath: etc/own/}
      volumes:
      - name: servicebinding-u1
        projected:
          defaultMode: 420
          sources:
          - secret: {name: creds}
          - downwardAPI:
              items:
              - path: type
                fieldRef: {fieldPath: "metadata.annotations['projector.servicebinding.io/type-u1']"}
      - {name: scratch, emptyDir: {}}
      - name: own
        secret:
          secretName: creds
          defaultMode: 256
          items: [{key: password, path: deep/pw, mode: 288}, {key: subject, path: deep/subject}]
`

func workload(t *testing.T, text string) map[string]any {
	t.Helper()
	var w map[string]any
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func value(text string) node.Value { return node.NewValue([]byte(text)) }

func secrets() node.Secrets {
	return node.Secrets{"creds": {"password": value("pw"), "subject": value("greetings"), "type": value("other")}}
}

func TestNewPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, container string
		want              *node.Plan
	}{
		{
			reason:    "the files and variables of a binding; the override wins over the Secret's own type",
			container: "app",
			want: &node.Plan{
				Mounts: []node.Mount{
					{Path: "/bindings/events", Files: []node.File{
						{Path: "password", Value: value("pw"), Mode: 0o644},
						{Path: "subject", Value: value("greetings"), Mode: 0o644},
						{Path: "type", Value: value("nats"), Mode: 0o644},
					}},
					{Path: "/scratch"},
				},
				Env: []node.Variable{
					{Name: "HOST", Value: value("last")},
					{Name: "URL", Value: value("tcp://h:$(PORT) $(HOST) $x $(HOST")},
					{Name: "SERVICE_BINDING_ROOT", Value: value("/bindings")},
					{Name: "SUBJECT", Value: value("greetings")},
					{Name: "KIND", Value: value("nats")},
					{Name: "TIER", Value: value("front")},
					{Name: "NAMESPACE", Value: value("team")},
				},
			},
		},
		{
			reason:    "a person's own volume with items and modes, and all entries as variables",
			container: "other",
			want: &node.Plan{
				Mounts: []node.Mount{{Path: "/etc/own", Files: []node.File{
					{Path: "deep/pw", Value: value("pw"), Mode: 0o440},
					{Path: "deep/subject", Value: value("greetings"), Mode: 0o400},
				}}},
				Env: []node.Variable{
					{Name: "P_password", Value: value("pw")},
					{Name: "P_subject", Value: value("greetings")},
					{Name: "P_type", Value: value("other")},
				},
			},
		},
	}
	for _, tc := range tests {
		t.Run(tc.container, func(t *testing.T) {
			t.Parallel()
			w, untouched := workload(t, projected), workload(t, projected)
			got, err := node.NewPlan(w, tc.container, secrets())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(reveal(tc.want), reveal(got)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(untouched, w); diff != "" {
				t.Errorf("the workload was changed: %s", diff)
			}
		})
	}
}

// reveal makes a plan comparable and readable, which it must not be outside a test.
func reveal(p *node.Plan) []string {
	var lines []string
	for _, m := range p.Mounts {
		lines = append(lines, "mount "+m.Path)
		for _, f := range m.Files {
			lines = append(lines, fmt.Sprintf("file %s %s %o", f.Path, f.Value.Reveal(), f.Mode))
		}
	}
	for _, v := range p.Env {
		lines = append(lines, fmt.Sprintf("env %s=%s", v.Name, v.Value.Reveal()))
	}
	return lines
}

func TestNewPlanFindsThePod(t *testing.T) {
	t.Parallel()
	const pod = "{containers: [{name: c, env: [{name: A, value: a}]}], initContainers: [{name: i, env: [{name: A, value: b}]}]}"
	for name, text := range map[string]string{
		"Pod":         "{kind: Pod, spec: " + pod + "}",
		"StatefulSet": "{kind: StatefulSet, spec: {template: {spec: " + pod + "}}}",
		"CronJob":     "{kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: " + pod + "}}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for container, want := range map[string]string{"c": "env A=a", "i": "env A=b"} {
				got, err := node.NewPlan(workload(t, text), container, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{want}, reveal(got)); diff != "" {
					t.Errorf("container %s (-want +got)\n%s", container, diff)
				}
			}
		})
	}
}

func TestNewPlanRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, container, volumes string
		missing                  bool
		where                    string
	}{
		{"no such container", `{name: other}`, ``, true, ".spec.containers"},
		{"no such volume", `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`, ``, true, ".volumeMounts[0]"},
		{"no such Secret", `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`,
			`{name: v, projected: {sources: [{secret: {name: none}}]}}`, true, ".spec.volumes[v].projected.sources[0].secret"},
		{"no such item", `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`,
			`{name: v, secret: {secretName: creds, items: [{key: none, path: x}]}}`, true, ".spec.volumes[v].secret"},
		{"no such entry", `{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: creds, key: none}}}]}`, ``, true,
			".env[0].valueFrom.secretKeyRef"},
		{"sub-path", `{name: c, volumeMounts: [{name: v, mountPath: /v, subPath: s}]}`, `{name: v, emptyDir: {}}`, false,
			".volumeMounts[0]"},
		{"host path", `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`, `{name: v, hostPath: {path: /}}`, false,
			".spec.volumes[v]"},
		{"token source", `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`,
			`{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}`, false, ".spec.volumes[v].projected.sources[0]"},
		{"resource field", `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`,
			`{name: v, downwardAPI: {items: [{path: c, resourceFieldRef: {resource: limits.cpu}}]}}`, false,
			".spec.volumes[v].downwardAPI.items[0]"},
		{"pod IP", `{name: c, env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}`, ``, false,
			".env[0].valueFrom.fieldRef"},
		{"config map", `{name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}}}]}`, ``, false,
			".env[0].valueFrom"},
		{"all of a config map", `{name: c, envFrom: [{configMapRef: {name: a}}]}`, ``, false, ".envFrom[0]"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := workload(t, "{kind: Deployment, spec: {template: {spec: {containers: ["+tc.container+"], volumes: ["+
				tc.volumes+"]}}}}")
			_, err := node.NewPlan(w, "c", secrets())
			var missing *node.MissingError
			where := ""
			if errors.As(err, &missing) {
				where = missing.Where
			} else if unsupported, ok := errors.AsType[*node.UnsupportedError](err); ok {
				where = unsupported.Where
			}
			if where != tc.where || (missing != nil) != tc.missing {
				t.Errorf("error %v, want one at %s", err, tc.where)
			}
		})
	}
}

func TestNewPlanNeedsAPodTemplate(t *testing.T) {
	t.Parallel()
	var unsupported *node.UnsupportedError
	if _, err := node.NewPlan(map[string]any{"kind": "Service"}, "c", nil); !errors.As(err, &unsupported) {
		t.Errorf("error %v, want an UnsupportedError", err)
	}
	for _, text := range []string{"{spec: {template: 5}}", "{spec: {template: {spec: {containers: 5}}}}"} {
		if _, err := node.NewPlan(workload(t, text), "c", nil); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestValuesDoNotPrint(t *testing.T) {
	t.Parallel()
	plan, err := node.NewPlan(workload(t, projected), "app", node.Secrets{"creds": {"subject": value("hunter2")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		text := fmt.Sprintf(verb, plan)
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("%s prints a secret", verb)
		}
	}
}
