package node_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
)

func TestVolumes(t *testing.T) {
	t.Parallel()
	const mounted = `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`
	for _, tc := range append(volumes(), tokens()...) {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := plan(t, in(mounted, "{name: v, "+tc.field+"}", tc.rest), "c")
			if err != nil {
				t.Fatal(err)
			}
			want := append(append([]string{"volume v"}, tc.want...), "mount v at /v ro=true")
			if diff := cmp.Diff(want, reveal(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func volumes() []planned {
	creds := []string{`file password "pw" 644`, `file subject "greetings" 644`, `file type "other" 644`}
	return []planned{
		{reason: "all entries of a Secret, with the API server's default mode", field: `secret: {secretName: creds}`, want: creds},
		{
			reason: "items choose entries and where they lie; each may have a mode",
			field:  `secret: {secretName: creds, defaultMode: 256, items: [{key: password, path: deep/./pw, mode: 288}, {key: subject, path: s}]}`,
			want:   []string{`file deep/pw "pw" 440`, `file s "greetings" 400`},
		},
		{reason: "an optional Secret that is not there leaves an empty volume", field: `secret: {secretName: none, optional: true}`},
		{
			reason: "an optional item that is not there is left out",
			field:  `secret: {secretName: creds, optional: true, items: [{key: none, path: gone}, {key: type, path: t}]}`,
			want:   []string{`file t "other" 644`},
		},
		{
			reason: "a ConfigMap gives text and binary data",
			field:  `configMap: {name: conf, defaultMode: 292}`,
			want:   []string{`file blob "\x00\xff" 444`, `file level "info" 444`, `file odd.key "odd" 444`},
		},
		{
			reason: "binary data can be an item, too", field: `configMap: {name: conf, items: [{key: blob, path: b}]}`,
			want: []string{`file b "\x00\xff" 644`},
		},
		{
			reason: "the downward API tells of the pod; whole maps are sorted, quoted lines without a newline at the end",
			field: `downwardAPI: {items: [` +
				`{path: l, fieldRef: {fieldPath: metadata.labels}}, {path: a, fieldRef: {fieldPath: metadata.annotations}}, ` +
				`{path: name, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}, {path: u, fieldRef: {fieldPath: metadata.uid}, mode: 256}, ` +
				`{path: one, fieldRef: {fieldPath: "metadata.labels['tier']"}}, {path: none, fieldRef: {fieldPath: "metadata.annotations['x']"}}, ` +
				`{path: cpu, resourceFieldRef: {containerName: c, resource: limits.cpu}}]}`,
			want: []string{
				`file a "a=\"b\"\nnote=\"two\\nlines \\\"quoted\\\" é\"" 644`, `file cpu "4" 644`,
				`file l "app=\"orders\"\ntier=\"front\"" 644`, `file name "orders" 644`, `file none "" 644`, `file one "front" 644`,
				`file u "u-1" 400`,
			},
		},
		{
			reason: "of two sources with one path the later one counts",
			field: `projected: {defaultMode: 384, sources: [{secret: {name: creds}}, {configMap: {name: conf, items: [{key: level, path: type}]}}, ` +
				`{downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}]}}, {secret: {name: none, optional: true}}]}`,
			want: []string{`file ns "shop" 600`, `file password "pw" 600`, `file subject "greetings" 600`, `file type "info" 600`},
		},
	}
}

// tokens are files that the kubelet gives away.
func tokens() []planned {
	return []planned{
		{
			reason: "a token has the volume's mode where nobody knows who reads it",
			field:  `projected: {sources: [{serviceAccountToken: {path: t, audience: vault, expirationSeconds: 600}}, {serviceAccountToken: {path: u}}]}`,
			want:   []string{`file t "token-1" 644`, `file u "token-2" 644`},
		},
		{
			reason: "a token is the user's alone", rest: `securityContext: {runAsUser: 1000}`,
			field: `projected: {sources: [{serviceAccountToken: {path: u}}, {secret: {name: creds, items: [{key: type, path: t}]}}]}`,
			want:  []string{`file t "other" 644`, `file u "token-2" 600 user 1000`},
		},
		{
			reason: "the group of the volumes can read a token, and everything else, too", rest: `securityContext: {fsGroup: 2000}`,
			field: `projected: {defaultMode: 256, sources: [{serviceAccountToken: {path: u}}, {secret: {name: creds, items: [{key: type, path: t}]}}]}`,
			want:  []string{`file t "other" 440`, `file u "token-2" 640`},
		},
		{
			reason: "containers of several users have no common one", field: `projected: {sources: [{serviceAccountToken: {path: u}}]}`,
			rest: `securityContext: {runAsUser: 1}, initContainers: [{name: i, securityContext: {runAsUser: 2}}]`,
			want: []string{`file u "token-2" 644`},
		},
	}
}

func TestFoldersInMemoryAreSticky(t *testing.T) {
	t.Parallel()
	for volume, want := range map[string]bool{
		`{name: v, secret: {secretName: none, optional: true}}`: true,
		`{name: v, projected: {sources: []}}`:                   true,
		`{name: v, downwardAPI: {}}`:                            true,
		`{name: v, emptyDir: {medium: Memory}}`:                 true,
		`{name: v, emptyDir: {}}`:                               false,
		`{name: v}`:                                             false,
		`{name: v, configMap: {name: none, optional: true}}`:    false,
	} {
		got, err := plan(t, in(`{name: c, volumeMounts: [{name: v, mountPath: /v}]}`, volume, ""), "c")
		if err != nil {
			t.Fatal(err)
		}
		if got.Volumes[0].Sticky != want {
			t.Errorf("%s: sticky is %v, want %v, as the kubelet has it", volume, got.Volumes[0].Sticky, want)
		}
	}
}

func TestScratchVolumes(t *testing.T) {
	t.Parallel()
	const mounted = `{name: c, volumeMounts: [{name: v, mountPath: v/, readOnly: %}, {name: v, mountPath: /w, subPath: a//b/}]}`
	for volume, want := range map[string]string{
		`{name: v, emptyDir: {}}`:                               "0",
		`{name: v, emptyDir: {medium: Memory, sizeLimit: 2Mi}}`: "2097152",
		`{name: v}`: "0",
		`{name: v, emptyDir: {}}, {name: o, hostPath: {path: /}}`: "0",
	} {
		for _, readOnly := range []string{"true", "false"} {
			got, err := plan(t, in(strings.ReplaceAll(mounted, "%", readOnly), volume, ""), "c")
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"volume v scratch " + want, "mount v at /v ro=" + readOnly, "mount v at /w ro=false a/b"}
			if diff := cmp.Diff(want, reveal(got)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", volume, diff)
			}
		}
	}
}

func TestSubPathExpressions(t *testing.T) {
	t.Parallel()
	const env = `env: [{name: WHO, value: me}, {name: EMPTY, value: ""}, {name: UP, value: ../x}, {name: ROOT, value: /x}]`
	for expression, want := range map[string]string{
		"logs/$(WHO)": "logs/me", "$$(WHO)": "$(WHO)", "$(WHO)/$(WHO)": "me/me",
		"$(EMPTY)": "missing", "$(NONE)": "missing", "$(UP)": "invalid", "$(ROOT)": "invalid", "a..b": "a..b",
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			got, err := plan(t, in(`{name: c, `+env+`, volumeMounts: [{name: v, mountPath: /v, subPathExpr: "`+expression+`"}]}`,
				`{name: v, emptyDir: {}}`, ""), "c")
			if outcome := outcomeOf(err); outcome != "" {
				if outcome != want {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			if got.Mounts[0].SubPath != want {
				t.Errorf("%q, want %q", got.Mounts[0].SubPath, want)
			}
		})
	}
}

// outcomeOf names the kind of an error.
func outcomeOf(err error) string {
	kinds := map[string]func() bool{
		"missing":     func() bool { _, ok := errors.AsType[*node.MissingError](err); return ok },
		"unsupported": func() bool { _, ok := errors.AsType[*node.UnsupportedError](err); return ok },
		"invalid":     func() bool { _, ok := errors.AsType[*node.InvalidError](err); return ok },
		"path":        func() bool { _, ok := errors.AsType[*node.PathError](err); return ok },
		"large":       func() bool { _, ok := errors.AsType[*node.TooLargeError](err); return ok },
		"cycle":       func() bool { _, ok := errors.AsType[*node.CycleError](err); return ok },
		"ambiguous":   func() bool { _, ok := errors.AsType[*node.AmbiguousError](err); return ok },
	}
	for _, name := range sorted(kinds) {
		if kinds[name]() {
			return name
		}
	}
	if err != nil {
		return "other"
	}
	return ""
}

func TestVolumesRefused(t *testing.T) {
	t.Parallel()
	const at, source = ".spec.volumes[v]", ".spec.volumes[v].projected.sources[0]"
	tests := []struct{ reason, volume, want, where string }{
		{"no such Secret", `secret: {secretName: none}`, "missing", at + ".secret"},
		{"no such Secret in a source", `projected: {sources: [{secret: {name: none}}]}`, "missing", source + ".secret"},
		{"no such ConfigMap", `configMap: {name: none}`, "missing", at + ".configMap"},
		{"no such entry", `secret: {secretName: creds, items: [{key: none, path: x}]}`, "missing", at + ".secret.items[0]"},
		{"no token", `projected: {sources: [{serviceAccountToken: {path: t, audience: other}}]}`, "missing", source + ".serviceAccountToken"},
		{"path of a host", `hostPath: {path: /}`, "unsupported", "kind hostPath"},
		{"claim", `persistentVolumeClaim: {claimName: x}`, "unsupported", "kind persistentVolumeClaim"},
		{"driver", `csi: {driver: x}`, "unsupported", "kind csi"},
		{"trust bundle", `projected: {sources: [{clusterTrustBundle: {name: x, path: p}}]}`, "unsupported", "kind clusterTrustBundle"},
		{"pod certificate", `projected: {sources: [{podCertificate: {signerName: x, keyType: k}}]}`, "unsupported", "kind podCertificate"},
		{"huge pages", `emptyDir: {medium: HugePages}`, "unsupported", at + ".emptyDir.medium"},
		{"negative size", `emptyDir: {sizeLimit: -1}`, "invalid", at + ".emptyDir.sizeLimit"},
		{"mode", `secret: {secretName: creds, defaultMode: 512}`, "invalid", at + ".secret.defaultMode"},
		{"mode of an item", `configMap: {name: conf, items: [{key: level, path: x, mode: -1}]}`, "invalid", at + ".configMap.items[0].mode"},
		{"path upwards", `secret: {secretName: creds, items: [{key: type, path: a/../../x}]}`, "path", at},
		{"absolute path", `secret: {secretName: creds, items: [{key: type, path: /x}]}`, "path", at},
		{"reserved path", `secret: {secretName: creds, items: [{key: type, path: ..data}]}`, "path", at},
		{"empty path", `downwardAPI: {items: [{fieldRef: {fieldPath: metadata.name}}]}`, "path", at},
		{"file as a directory", `secret: {secretName: creds, items: [{key: type, path: x}, {key: type, path: x/y}]}`, "path", at},
		{"nothing referred to", `downwardAPI: {items: [{path: x}]}`, "invalid", at + ".downwardAPI.items[0]"},
		{"field of no volume", `downwardAPI: {items: [{path: x, fieldRef: {fieldPath: status.podIP}}]}`, "unsupported",
			at + ".downwardAPI.items[0].fieldRef"},
		{"version of the fields", `downwardAPI: {items: [{path: x, fieldRef: {apiVersion: v2, fieldPath: metadata.name}}]}`, "unsupported", "v2"},
		{"no container of a resource", `downwardAPI: {items: [{path: x, resourceFieldRef: {resource: limits.cpu}}]}`, "missing",
			at + ".downwardAPI.items[0].resourceFieldRef.containerName"},
		{"unknown resource", `downwardAPI: {items: [{path: x, resourceFieldRef: {containerName: c, resource: limits.gpu}}]}`, "unsupported", "limits.gpu"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			const mounted = `{name: c, volumeMounts: [{name: v, mountPath: /v}]}`
			_, err := plan(t, in(mounted, "{name: v, "+tc.volume+"}", ""), "c")
			if got := outcomeOf(err); got != tc.want || !strings.Contains(err.Error(), tc.where) {
				t.Errorf("error %v (%s), want %s at %s", err, got, tc.want, tc.where)
			}
			if _, err := plan(t, in(`{name: c}`, "{name: v, "+tc.volume+"}", ""), "c"); err != nil {
				t.Errorf("a volume that is not mounted stands in the way: %v", err)
			}
		})
	}
}

func TestMountsRefused(t *testing.T) {
	t.Parallel()
	for mounts, want := range map[string]string{
		`{name: none, mountPath: /v}`:                         "missing .volumeMounts[0]",
		`{name: v, mountPath: /v}, {name: v, mountPath: /v/}`: "invalid .volumeMounts[1].mountPath",
		`{name: v, mountPath: ""}`:                            "invalid .volumeMounts[0].mountPath",
		`{name: v, mountPath: /}`:                             "invalid .volumeMounts[0].mountPath",
		`{name: v, mountPath: /v, subPath: /etc}`:             "invalid .volumeMounts[0].subPath",
		`{name: v, mountPath: /v, subPath: a/../b}`:           "invalid .volumeMounts[0].subPath",
	} {
		kind, where, _ := strings.Cut(want, " ")
		_, err := plan(t, in(`{name: c, volumeMounts: [`+mounts+`]}`, `{name: v, emptyDir: {}}`, ""), "c")
		if outcomeOf(err) != kind || !strings.Contains(err.Error(), where+":") {
			t.Errorf("%s: error %v, want %s", mounts, err, want)
		}
	}
	_, err := plan(t, in(`{name: c, volumeDevices: [{name: v, devicePath: /dev/x}]}`, ``, ""), "c")
	if outcomeOf(err) != "unsupported" {
		t.Errorf("a device: %v", err)
	}
}

func TestClaimsOfAStatefulSetAreKnown(t *testing.T) {
	t.Parallel()
	_, err := plan(t, `{kind: StatefulSet, spec: {volumeClaimTemplates: [{metadata: {name: data}}], template: {spec: {containers: [`+
		`{name: c, volumeMounts: [{name: data, mountPath: /data}]}]}}}}`, "c")
	if outcomeOf(err) != "unsupported" || !strings.Contains(err.Error(), "persistentVolumeClaim") {
		t.Errorf("error %v", err)
	}
}

func TestLargeObjectsAreRefused(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	of := func(size int) node.Objects {
		half := value(strings.Repeat("x", size/2))
		rest := value(strings.Repeat("y", size-size/2))
		return node.Objects{
			Secrets:    map[string]node.Entries{"s": {"a": half, "b": rest}},
			ConfigMaps: map[string]node.Entries{"c": {"a": half}}, BinaryData: map[string]node.Entries{"c": {"b": rest}},
		}
	}
	for kind, container := range map[string]string{
		"Secret by volume":      `{name: c, volumeMounts: [{name: s, mountPath: /v}]}`,
		"Secret by variable":    `{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: none, optional: true}}}]}`,
		"ConfigMap by volume":   `{name: c, volumeMounts: [{name: m, mountPath: /v}]}`,
		"ConfigMap by variable": `{name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: none, optional: true}}}]}`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pod := podOf(t, in(container, `{name: s, secret: {secretName: s, items: [{key: a, path: a}]}}, {name: m, configMap: {name: c}}`, ""))
			if _, err := node.NewPlan(node.Request{Pod: pod, Container: "c", Objects: of(limit)}); err != nil {
				t.Errorf("exactly the limit: %v", err)
			}
			_, err := node.NewPlan(node.Request{Pod: pod, Container: "c", Objects: of(limit + 1)})
			large, ok := errors.AsType[*node.TooLargeError](err)
			if !ok || large.Size != limit+1 || large.Limit != limit || !strings.HasPrefix(kind, large.Kind) {
				t.Errorf("error %v, want one that names sizes", err)
			}
		})
	}
}

func TestSizeCountsFiles(t *testing.T) {
	t.Parallel()
	got, err := plan(t, in(`{name: c, volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /w}, {name: e, mountPath: /e}]}`,
		`{name: v, secret: {secretName: creds}}, {name: e, emptyDir: {}}, {name: other, secret: {secretName: creds}}`, ""), "c")
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(len("pw") + len("greetings") + len("other")); got.Size() != want {
		t.Errorf("%d bytes, want %d", got.Size(), want)
	}
}
