package extensions_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

// self is who the controller is in a cluster.
const self = "system:serviceaccount:" + install.DefaultNamespace + ":bowline-controller"

// probe has one of each kind that admission looks at.
const probe = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: probe}
spec:
  service: {apiVersion: v1, kind: Secret, name: probe}
  workload: {apiVersion: apps/v1, kind: Deployment, name: probe}
---
apiVersion: service.binding/v1alpha1
kind: ServiceBinding
metadata: {name: probe}
spec:
  service: {apiVersion: v1, kind: Secret, name: probe}
  application: {apiVersion: apps/v1, kind: Deployment, name: probe}
---
apiVersion: service.binding/v1alpha1
kind: SyntheticProvisionedService
metadata: {name: probe}
spec:
  type: probe
  services: [{apiVersion: v1, kind: Secret, name: probe}]
`

// atOnce is how many scenarios are played at a time: they mostly wait.
const atOnce = "8"

var (
	update = flag.Bool("update", false, "write sees*.txt and refused*.txt anew")
	// admin is the administrator of the package's one control plane.
	admin *rest.Config //nolint:gochecknoglobals // set once, by TestMain
	// logged is all that the controller said.
	logged journal //nolint:gochecknoglobals // there is one controller
)

// journal keeps a log in memory.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

// lines gives those that a text stands in.
func (j *journal) lines(of string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []string
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, of) {
			found = append(found, line)
		}
	}
	return found
}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := parallelism(); err != nil {
		panic(err)
	}
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged)))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	if child() {
		return
	}
	planetest.Main(m, func(c *rest.Config) {
		admin = c
		err := install.Apply(context.Background(), c, install.Options{
			External: true, Features: feature.Of(feature.All()...),
		}, func(string) {})
		if err == nil {
			err = createKinds(context.Background())
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "preparing the cluster: %v\n", err)
			os.Exit(1)
		}
		go func() {
			if err := runController(context.Background(), c); err != nil {
				panic(err)
			}
		}()
		if err := awaitAdmission(context.Background()); err != nil {
			fmt.Fprintf(os.Stderr, "waiting for admission: %v\n", err)
			os.Exit(1)
		}
	}, planetest.WithControllerManager())
}

// awaitAdmission waits until who asks for something is recorded: without a record Bowline reads nothing for anybody.
func awaitAdmission(ctx context.Context) error {
	client, err := clientOf("")
	if err != nil {
		return err
	}
	objects, err := parse(probe)
	if err != nil {
		return err
	}
	for _, object := range objects {
		resource, _, err := resourceOf(object.GroupVersionKind())
		if err != nil {
			return err
		}
		err = eventually(ctx, patience, func() error {
			made, err := client.Resource(resource).Namespace(metav1.NamespaceDefault).
				Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil && made.GetAnnotations()[binding.RequesterAnnotation] == "" {
				err = fmt.Errorf("nobody is recorded as who asked for a %s", object.GetKind())
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parallelism lets scenarios be played beside each other, unless the command line says how many.
func parallelism() error {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", atOnce)
}

// runController runs the controller as it runs in a cluster: as its service account, with admission and all features.
func runController(ctx context.Context, c *rest.Config) error {
	ports := [2]int{}
	for i := range ports {
		port, err := localplane.FreePort(0)
		if err != nil {
			return fmt.Errorf("choosing a port: %w", err)
		}
		ports[i] = port
	}
	c = rest.CopyConfig(c)
	c.Impersonate = rest.ImpersonationConfig{UserName: self}
	return controller.Run(ctx, c, controller.Options{
		Namespace:      install.DefaultNamespace,
		MetricsAddress: "0",
		ProbeAddress:   fmt.Sprintf("127.0.0.1:%d", ports[1]),
		WebhookHost:    "127.0.0.1",
		WebhookPort:    ports[0],
		Endpoint:       admission.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", ports[0])},
		Hosts:          []string{"127.0.0.1", "localhost"},
		CreateWebhooks: true,
		Gather:         controller.DefaultGather,
		Features:       feature.Of(feature.All()...),
		Log:            textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged))),
	})
}
