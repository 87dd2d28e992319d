package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
)

// designPod is the form that all pods of the design for secrets in Kubernetes have.
const designPod = `
{
  "kind": "Pod",
  "apiVersion": "v1",
  "metadata": {"name": "client-pod", "labels": {"name": "client"}},
  "spec": {
    "volumes": [{"name": "secret-volume", "secret": {"secretName": "SECRET"}}],
    "containers": [
      {
        "name": "client-container",
        "image": "myClientImage",
        "volumeMounts": [{"name": "secret-volume", "readOnly": true, "mountPath": "/etc/secret-volume"}]
      }
    ]
  }
}`

// TestDesignExamples takes the examples of the design: a pod with an SSH key, and two pods that differ in the name of their
// Secret only and see files of the same names with other values.
func TestDesignExamples(t *testing.T) {
	t.Parallel()
	all := node.Objects{Secrets: map[string]node.Entries{
		"ssh-key-secret": entries(map[string]string{"id-rsa": "value-2\r\n\r\n", "id-rsa.pub": "value-1\r\n"}),
		"prod-db-secret": entries(map[string]string{"password": "prod-pw", "username": "prod-user"}),
		"test-db-secret": entries(map[string]string{"password": "test-pw", "username": "test-user"}),
	}}
	for name, want := range map[string][]string{
		"ssh-key-secret": {`file id-rsa "value-2\r\n\r\n" 644`, `file id-rsa.pub "value-1\r\n" 644`},
		"prod-db-secret": {`file password "prod-pw" 644`, `file username "prod-user" 644`},
		"test-db-secret": {`file password "test-pw" 644`, `file username "test-user" 644`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := workload(t, designPod)
			volumes := object["spec"].(map[string]any)["volumes"].([]any)
			volumes[0].(map[string]any)["secret"].(map[string]any)["secretName"] = name
			pod, err := node.PodOf(object, nil)
			if err != nil {
				t.Fatal(err)
			}
			needs, err := pod.Needs("client-container")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(node.Needs{Secrets: []node.Need{{Name: name}}}, needs); diff != "" {
				t.Errorf("what is fetched (-want +got)\n%s", diff)
			}
			got, err := node.NewPlan(node.Request{Pod: pod, Container: "client-container", Objects: all})
			if err != nil {
				t.Fatal(err)
			}
			want := append(append([]string{"volume secret-volume"}, want...), "mount secret-volume at /etc/secret-volume ro=true")
			if diff := cmp.Diff(want, reveal(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
