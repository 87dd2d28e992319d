package node_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/node"
)

func TestPodOfFindsThePod(t *testing.T) {
	t.Parallel()
	const pod = "{containers: [{name: c, env: [{name: A, value: a}]}], initContainers: [{name: i, env: [{name: A, value: b}]}]}"
	for name, text := range map[string]string{
		"Pod":         "{kind: Pod, spec: " + pod + "}",
		"StatefulSet": "{kind: StatefulSet, spec: {template: {spec: " + pod + "}}}",
		"CronJob":     "{kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: " + pod + "}}}}}",
		"PodTemplate": "{kind: PodTemplate, template: {spec: " + pod + "}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, untouched := workload(t, text), workload(t, text)
			p, err := node.PodOf(w, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"c", "i"}, p.Containers()); diff != "" {
				t.Errorf("containers (-want +got)\n%s", diff)
			}
			for container, want := range map[string]string{"c": "env A=a", "i": "env A=b"} {
				got, err := node.NewPlan(node.Request{Pod: p, Container: container})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{want}, reveal(got)); diff != "" {
					t.Errorf("container %s (-want +got)\n%s", container, diff)
				}
			}
			if diff := cmp.Diff(untouched, w); diff != "" {
				t.Errorf("the workload was changed: %s", diff)
			}
		})
	}
}

func TestAPodKeepsItsOwnNames(t *testing.T) {
	t.Parallel()
	pod := podOf(t, `{kind: Pod, metadata: {name: p, namespace: ns, uid: u}, spec: {nodeName: m, serviceAccount: old, containers: [{name: c, `+
		`image: i:1, workingDir: /w, env: [`+
		`{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}, `+
		`{name: C, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: D, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}]}]}}`)
	got, err := node.NewPlan(node.Request{Pod: pod, Container: "c", Machine: machine()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"env A=p", "env B=u", "env C=m", "env D=old"}, reveal(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.Image != "i:1" || got.WorkingDir != "/w" || pod.Namespace() != "ns" {
		t.Errorf("image %q, directory %q, namespace %q", got.Image, got.WorkingDir, pod.Namespace())
	}
}

func TestPodOfRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{kind: Service, spec: {ports: []}}`:                                    "unsupported kind Service, which has no pod template",
		`{spec: {template: 5}}`:                                                 "unsupported .spec",
		`{spec: {template: {spec: {containers: 5}}}}`:                           "other containers",
		`{spec: {template: {spec: {containers: [{name: c, command: x}]}}}}`:     "other command",
		`{spec: {volumeClaimTemplates: 5, template: {spec: {containers: []}}}}`: "other volumeClaimTemplates",
	} {
		kind, words, _ := strings.Cut(want, " ")
		_, err := node.PodOf(workload(t, text), nil)
		if outcomeOf(err) != kind || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	const one, two = `{containers: [{name: a}], initContainers: [{name: i}]}`, `{containers: [{name: a}, {name: b}], initContainers: [{name: i}]}`
	const said = `annotations: {kubectl.kubernetes.io/default-container: b}`
	tests := []struct{ reason, meta, spec, name, want string }{
		{"the only one", "", one, "", "a"},
		{"one that is named", "", two, "b", "b"},
		{"an init container that is named", "", two, "i", "i"},
		{"several", "", two, "", "ambiguous"},
		{"the pod says", said, two, "", "b"},
		{"a name goes before what the pod says", said, two, "a", "a"},
		{"the pod says one that is not there", said, one, "", "missing"},
		{"not there", "", one, "x", "missing"},
		{"none at all", "", `{containers: []}`, "", "missing"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			pod := podOf(t, `{kind: Deployment, spec: {template: {metadata: {`+tc.meta+`}, spec: `+tc.spec+`}}}`)
			got, err := pod.Pick(tc.name)
			if err != nil {
				got = outcomeOf(err)
			}
			if got != tc.want {
				t.Errorf("%q (%v), want %q", got, err, tc.want)
			}
			if ambiguous, ok := errors.AsType[*node.AmbiguousError](err); ok {
				if diff := cmp.Diff([]string{"a", "b"}, ambiguous.Containers); diff != "" {
					t.Errorf("the choice (-want +got)\n%s", diff)
				}
			}
			if _, err := node.NewPlan(node.Request{Pod: pod, Container: "x"}); outcomeOf(err) != "missing" {
				t.Errorf("a plan of no container: %v", err)
			}
			if _, err := pod.Needs("x"); outcomeOf(err) != "missing" {
				t.Errorf("needs of no container: %v", err)
			}
		})
	}
}

// app is a kind of its own: its containers are an object of objects, and one list is called otherwise.
const app = `
kind: App
metadata: {name: app, namespace: shop, uid: u}
spec:
  pods:
    annotations: {projector.servicebinding.io/type-1: nats}
    labels: {tier: front}
    storage:
    - {name: v, projected: {sources: [{secret: {name: creds}},
        {downwardAPI: {items: [{path: type, fieldRef: {fieldPath: "metadata.annotations['projector.servicebinding.io/type-1']"}}]}}]}}
  main:
    title: web
    command: 5
    variables: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels['tier']"}}}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    mounts: [{name: v, mountPath: /bindings/x}]
  initContainers:
  - {name: prepare, image: i, command: [run], env: [{name: A, value: a}]}
`

func appMapping() *bindingv1.ClusterWorkloadResourceMappingTemplate {
	return &bindingv1.ClusterWorkloadResourceMappingTemplate{
		Version: "*", Annotations: ".spec.pods.annotations", Volumes: ".spec.pods.storage",
		Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{
			{Path: ".spec.main", Name: ".title", Env: ".variables", VolumeMounts: ".mounts"},
			{Path: ".spec['main']", Env: ".variables", VolumeMounts: ".mounts"},
			{Path: ".spec.initContainers[*]", Name: ".name"},
		},
	}
}

func TestPodOfMappedKind(t *testing.T) {
	t.Parallel()
	pod, err := node.PodOf(workload(t, app), appMapping())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"web", "prepare"}, pod.Containers()); diff != "" {
		t.Errorf("containers (-want +got)\n%s", diff)
	}
	if name, err := pod.Pick(""); err != nil || name != "web" {
		t.Errorf("picked %q, %v", name, err)
	}
	got, err := node.NewPlan(node.Request{Pod: pod, Container: "web", Objects: objects()})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"volume v", `file password "pw" 644`, `file subject "greetings" 644`, `file type "nats" 644`,
		"mount v at /bindings/x ro=true", "env A=front", "env B=app",
	}
	if diff := cmp.Diff(want, reveal(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got, err = node.NewPlan(node.Request{Pod: pod, Container: "prepare"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"env A=a", `command ["run"]`}, reveal(got)); diff != "" || got.Image != "i" {
		t.Errorf("a container like that of a pod, image %q (-want +got)\n%s", got.Image, diff)
	}
}

func TestPodOfMappedKindEdges(t *testing.T) {
	t.Parallel()
	with := func(change func(*bindingv1.ClusterWorkloadResourceMappingTemplate)) *bindingv1.ClusterWorkloadResourceMappingTemplate {
		m := appMapping()
		change(m)
		return m
	}
	unnamed := with(func(m *bindingv1.ClusterWorkloadResourceMappingTemplate) { m.Containers = m.Containers[1:2] })
	pod, err := node.PodOf(workload(t, app), unnamed)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := pod.Pick(""); err != nil || name != "/spec/main" {
		t.Errorf("a container without a name is called %q, %v", name, err)
	}
	deployment := in(`{name: c}`, "", "")
	if pod, err := node.PodOf(workload(t, deployment), appMapping()); err != nil || len(pod.Containers()) != 1 {
		t.Errorf("a pod template counts more than a mapping: %v", err)
	}
	for reason, m := range map[string]*bindingv1.ClusterWorkloadResourceMappingTemplate{
		"default mapping": {Version: "*"},
		"bad path":        with(func(m *bindingv1.ClusterWorkloadResourceMappingTemplate) { m.Volumes = "[" }),
		"not volumes":     with(func(m *bindingv1.ClusterWorkloadResourceMappingTemplate) { m.Volumes = ".spec.pods.labels" }),
		"not annotations": with(func(m *bindingv1.ClusterWorkloadResourceMappingTemplate) { m.Annotations = ".spec.pods.storage" }),
		"not a name":      with(func(m *bindingv1.ClusterWorkloadResourceMappingTemplate) { m.Containers[0].Name = ".mounts" }),
		"not variables":   with(func(m *bindingv1.ClusterWorkloadResourceMappingTemplate) { m.Containers[0].Env = ".title" }),
	} {
		if _, err := node.PodOf(workload(t, app), m); err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	pod := podOf(t, in(`{name: c, envFrom: [{secretRef: {name: s1, optional: true}}, {configMapRef: {name: c1}}], env: [`+
		`{name: A, valueFrom: {secretKeyRef: {name: s2, key: k, optional: true}}}, {name: B, valueFrom: {secretKeyRef: {name: s2, key: l}}}, `+
		`{name: C, valueFrom: {configMapKeyRef: {name: c2, key: k, optional: true}}}, {name: D, valueFrom: {secretKeyRef: {name: "", key: k}}}, `+
		`{name: E, value: set, valueFrom: {secretKeyRef: {name: unused, key: k}}}], volumeMounts: [{name: v1, mountPath: /1}, {name: v2, mountPath: /2}, `+
		`{name: v3, mountPath: /3}, {name: gone, mountPath: /4}]}, {name: other, envFrom: [{secretRef: {name: others}}]}`,
		`{name: v1, secret: {secretName: s1, optional: true}}, {name: v2, configMap: {name: c1, optional: true}}, {name: v3, projected: {sources: [`+
			`{secret: {name: s3}}, {configMap: {name: kube-root-ca.crt}}, {serviceAccountToken: {path: t}}, {serviceAccountToken: {path: u}}, `+
			`{serviceAccountToken: {path: w, audience: vault, expirationSeconds: 600}}, {downwardAPI: {items: []}}]}}, {name: v4, secret: {secretName: hidden}}`, ""))
	got, err := pod.Needs("c")
	if err != nil {
		t.Fatal(err)
	}
	want := node.Needs{
		Secrets:    []node.Need{{Name: "s1", Optional: true}, {Name: "s2"}, {Name: "s3"}},
		ConfigMaps: []node.Need{{Name: "c1"}, {Name: "c2", Optional: true}, {Name: "kube-root-ca.crt"}},
		Tokens: []node.TokenRequest{
			{ServiceAccount: "runner", ExpirationSeconds: 3600},
			{ServiceAccount: "runner", Audience: "vault", ExpirationSeconds: 600},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, pod, own string
		want             node.Security
	}{
		{reason: "nothing said"},
		{
			reason: "the pod's",
			pod:    `{runAsUser: 1, runAsGroup: 2, fsGroup: 3, supplementalGroups: [4, 5], runAsNonRoot: true}`,
			want:   node.Security{User: new(int64(1)), Group: new(int64(2)), FSGroup: new(int64(3)), Groups: []int64{3, 4, 5}, RunAsNonRoot: true},
		},
		{
			reason: "the container's counts",
			pod:    `{runAsUser: 1, runAsGroup: 2, runAsNonRoot: true}`,
			own:    `{runAsUser: 0, runAsGroup: 7, runAsNonRoot: false, readOnlyRootFilesystem: true, privileged: true}`,
			want:   node.Security{User: new(int64(0)), Group: new(int64(7)), ReadOnlyRoot: true, Privileged: true},
		},
		{
			reason: "what a container may do",
			own:    `{allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}`,
			want:   node.Security{NoNewPrivileges: true, Drop: []string{"ALL"}, Add: []string{"NET_BIND_SERVICE"}},
		},
		{reason: "escalation allowed in so many words", own: `{allowPrivilegeEscalation: true}`},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			own, rest := "", ""
			if tc.own != "" {
				own = ", securityContext: " + tc.own
			}
			if tc.pod != "" {
				rest = "securityContext: " + tc.pod
			}
			got, err := plan(t, in(`{name: c`+own+`}`, "", rest), "c")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Security); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	_, err := plan(t, in(`{name: c, securityContext: {runAsUser: 0}}`, "", `securityContext: {runAsNonRoot: true}`), "c")
	if outcomeOf(err) != "invalid" {
		t.Errorf("user 0 that must not be: %v", err)
	}
}
