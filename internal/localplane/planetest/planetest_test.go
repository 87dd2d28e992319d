package planetest_test

import (
	"context"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

func TestStartLeavesNothing(t *testing.T) {
	t.Parallel()
	var plane *localplane.Plane
	t.Run("one test", func(t *testing.T) { // not parallel: what follows looks at what it left
		plane = planetest.Start(t, planetest.WithControllerManager(), planetest.WithAuditLog())
		config, err := plane.RESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
			t.Errorf("reading the default service account: %v", err)
		}
		if info, err := os.Stat(plane.AuditLog()); err != nil || info.Size() == 0 {
			t.Errorf("the audit log is empty or missing: %v", err)
		}
	})
	for _, s := range plane.Status() {
		if s.Running {
			t.Errorf("%s still runs with pid %d", s.Component, s.PID)
		}
	}
	if _, err := os.Stat(plane.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder %s is still there: %v", plane.Dir(), err)
	}
}
