package main

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestServed(t *testing.T) {
	t.Parallel()
	line := func(verb, resource, sub, code string, n float64) sample {
		return sample{requestMetric, map[string]string{
			"verb": verb, "resource": resource, "subresource": sub, "code": code,
		}, n}
	}
	got := served([]sample{
		line("PATCH", "servicebindings", "status", "200", 3),
		line("PATCH", "servicebindings", "status", "201", 1),
		line("PATCH", "servicebindings", "status", "409", 2),
		line("WATCH", "servicebindings", "", "200", 9),
		line("PUT", "leases", "", "200", 9),
		line("GET", "", "/readyz", "200", 9),
		{"another_metric", map[string]string{"verb": "GET", "resource": "pods"}, 9},
	})
	want := tally{
		{"PATCH", "servicebindings/status", false}: 4,
		{"PATCH", "servicebindings/status", true}:  2,
	}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	create := request{verb: "POST", resource: "servicebindings"}
	patch := request{verb: "PATCH", resource: "deployments"}
	list := request{verb: "LIST", resource: "deployments"}
	ask := request{verb: "POST", resource: "selfsubjectaccessreviews"}
	rest := tally{create: 5, patch: 7, list: 1, ask: 3}.minus(tally{create: 5, patch: 2})
	if diff := gocmp.Diff(tally{patch: 5, list: 1, ask: 3}, rest, gocmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("minus (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]request{patch, ask, list}, rest.sorted(), gocmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
	if writes, reads := rest.sum(request.writes), rest.sum(request.reads); writes != 5 || reads != 4 {
		t.Errorf("got %d writes and %d reads, want 5 and 4", writes, reads)
	}
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path string
		watch        bool
		want         [3]string
	}{
		{"POST", "/api/v1/namespaces/bench/secrets", false, [3]string{"POST", "secrets", ""}},
		{"POST", "/api/v1/namespaces", false, [3]string{"POST", "namespaces", ""}},
		{"GET", "/api/v1/namespaces/bench", false, [3]string{"GET", "namespaces", ""}},
		{"GET", "/apis/apps/v1/namespaces/bench/deployments", false, [3]string{"LIST", "deployments", ""}},
		{"GET", "/apis/apps/v1/namespaces/bench/deployments", true, [3]string{"WATCH", "deployments", ""}},
		{"PATCH", "/apis/apps/v1/namespaces/bench/deployments/a", false, [3]string{"PATCH", "deployments", ""}},
		{
			"PATCH", "/apis/servicebinding.io/v1/namespaces/bench/servicebindings/a/status", false,
			[3]string{"PATCH", "servicebindings", "status"},
		},
		{"DELETE", "/apis/g/v1/kinds/a", false, [3]string{"DELETE", "kinds", ""}},
		{"GET", "/metrics", false, [3]string{"GET", "", ""}},
		{"GET", "/apis/apps/v1", false, [3]string{"GET", "", ""}},
		{"GET", "/", false, [3]string{"GET", "", ""}},
	} {
		verb, resource, sub := parseRequest(test.method, test.path, test.watch)
		if got := [3]string{verb, resource, sub}; got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.method, test.path, got, test.want)
		}
	}
}
