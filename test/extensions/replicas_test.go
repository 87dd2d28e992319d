package extensions_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/produce"
)

// replica is one of several controllers of which one leads.
type replica struct {
	t     *testing.T
	meter *meter
	port  int
	stop  func()
}

func newReplica(t *testing.T, config *rest.Config) *replica {
	t.Helper()
	port, err := localplane.FreePort(0)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, meter: &meter{}, port: port}
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: self}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.meter.next = next
		return r.meter
	})
	options := settings(&journal{})
	options.LeaderElection = true
	options.WebhookHost, options.WebhookPort, options.Hosts = "127.0.0.1", port, []string{"127.0.0.1"}
	options.Endpoint = admission.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", port)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- controller.Run(ctx, config, options) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the controller ended with: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// mutates asks the replica's admission about a Deployment and returns the changes that it answers.
func (r *replica) mutates(p *place, deployment string) (string, error) {
	objects, err := parse(deployment)
	if err != nil {
		return "", err
	}
	objects[0].SetNamespace(p.ns)
	raw, err := objects[0].MarshalJSON()
	if err != nil {
		return "", err
	}
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "test", Kind: metav1.GroupVersionKind(deploymentKind), Operation: admissionv1.Create,
			Namespace: p.ns, Name: objects[0].GetName(), Object: runtime.RawExtension{Raw: raw},
		},
	})
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	url := fmt.Sprintf("https://127.0.0.1:%d%s", r.port, admission.PathMutateWorkload)
	response, err := client.Post(url, "application/json", bytes.NewReader(review))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &answer); err != nil || answer.Response == nil {
		return "", fmt.Errorf("the answer is %s: %w", text, err)
	}
	return string(answer.Response.Patch), nil
}

// testReplicas: the one that follows writes nothing and knows all: its admission projects what was made. Once the other one
// is gone, it goes on.
func testReplicas(t *testing.T, config *rest.Config) {
	p := newPlace(t, config)
	leader := newReplica(t, config)
	p.create(documents(plainSecret("lease", "x"), deploymentText("lease")))
	first := strings.Replace(bindingText("lease", "lease"), "apps.kube.io/v1beta1, kind: Database", "v1, kind: Secret", 1)
	p.until("there is a leader", func() error { return p.try(first) })
	p.ready("lease")
	follower := newReplica(t, config)

	p.create(documents(plainSecret("source", "first"), databaseText("db", "source"),
		deploymentText("plain"), deploymentText("composed"), deploymentText("synthetic"),
		bindingText("plain", "db"), draftText("composed", "db"), syntheticText("synthetic", "source"), syntheticBinding("synthetic")))
	p.told("first")
	for name, purpose := range map[string]produce.Purpose{
		"plain": produce.ForService, "composed": produce.ForBinding, "synthetic": produce.ForSynthetic,
	} {
		want := fmt.Sprintf("%q", p.made(purpose)[0].GetName())
		p.until("the follower's admission projects "+want, func() error {
			patch, err := follower.mutates(p, deploymentText(name))
			if err == nil && !strings.Contains(patch, want) {
				err = errors.New("the changes are " + patch)
			}
			return err
		})
	}
	if wrote := follower.meter.wrote(p.ns); len(wrote) > 0 {
		t.Errorf("the follower wrote: %v", wrote)
	}
	if wrote := about(leader.meter.wrote(p.ns), "/secrets"); len(wrote) != 3 {
		t.Errorf("the leader wrote: %v", wrote)
	}

	leader.stop()
	p.rotate("second")
	p.told("second")
	if wrote := about(follower.meter.wrote(p.ns), "/secrets"); len(wrote) != 3 {
		t.Errorf("the one that came to lead wrote: %v", wrote)
	}
	p.unbind()
}
