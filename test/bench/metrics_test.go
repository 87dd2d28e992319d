package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadMetrics(t *testing.T) {
	t.Parallel()
	const page = `# HELP apiserver_request_total Counter of requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",resource="deployments",verb="POST"} 12
apiserver_request_total_other{code="201"} 99
apiserver_request_total{code="200",path="a\"b,c}d\\e",} 1.5e+03 1700000000
process_open_fds 7
`
	got, err := readMetrics(strings.NewReader(page), "apiserver_request_total", "process_open_fds")
	if err != nil {
		t.Fatal(err)
	}
	want := []sample{
		{"apiserver_request_total", map[string]string{"code": "201", "resource": "deployments", "verb": "POST"}, 12},
		{"apiserver_request_total", map[string]string{"code": "200", "path": `a"b,c}d\e`}, 1500},
		{"process_open_fds", map[string]string{}, 7},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestReadMetricsRefuses(t *testing.T) {
	t.Parallel()
	for reason, page := range map[string]string{
		"no value":           "m{a=\"b\"}\n",
		"a value of letters": "m many\n",
		"labels without end": "m{a=\"b\" 3\n",
		"an unquoted label":  "m{a=b} 3\n",
	} {
		if got, err := readMetrics(strings.NewReader(page), "m"); err == nil {
			t.Errorf("%s: got %v, want an error", reason, got)
		}
	}
}
