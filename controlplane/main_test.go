package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestDispatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason     string
		argv, want []string
		complaint  string
	}{
		{
			reason: "the first argument names the component",
			argv:   []string{"bin/bowline-controlplane", "etcd", "--version"}, want: []string{"etcd", "--version"},
		},
		{
			reason: "the name of a link names the component",
			argv:   []string{"/assets/kube-apiserver", "--version"}, want: []string{"kube-apiserver", "--version"},
		},
		{
			reason: "a link's arguments are its component's own",
			argv:   []string{"kubectl", "etcd"}, want: []string{"kubectl", "etcd"},
		},
		{
			reason: "a component without arguments",
			argv:   []string{"bowline-controlplane", "kube-controller-manager"}, want: []string{"kube-controller-manager"},
		},
		{reason: "nothing is named", argv: []string{"bowline-controlplane"}, complaint: "no component named"},
		{
			reason: "nothing of that name",
			argv:   []string{"bowline-controlplane", "coredns"}, complaint: `unknown component "coredns"`,
		},
		{
			reason: "the component comes before its flags",
			argv:   []string{"bowline-controlplane", "--version", "etcd"}, complaint: `unknown component "--version"`,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(c.argv)
			got, err := dispatch(c.argv)
			complaint := ""
			if err != nil {
				complaint = err.Error()
			}
			if !slices.Equal(got, c.want) || complaint != c.complaint {
				t.Errorf("dispatch(%q) = %q, %q; want %q, %q", c.argv, got, complaint, c.want, c.complaint)
			}
			if !slices.Equal(c.argv, before) {
				t.Errorf("dispatch changed its argument to %q", c.argv)
			}
		})
	}
}

func TestUsageNamesEveryComponent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, err := dispatch([]string{"bowline-controlplane"})
	usage(&out, err)
	for name := range components {
		if !strings.Contains(out.String(), name) {
			t.Errorf("usage does not name %s: %s", name, out.String())
		}
	}
	if !strings.HasPrefix(out.String(), "bowline-controlplane: no component named\nhint: ") {
		t.Errorf("usage does not say what is wrong: %s", out.String())
	}
}
