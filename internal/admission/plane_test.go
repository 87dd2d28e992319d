package admission_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

// config reaches the control plane that this package's tests share, as its administrator.
var config *rest.Config

func TestMain(m *testing.M) {
	planetest.Main(m, func(c *rest.Config) { config = c })
}

// clients returns a client, acting as a user unless the user is empty.
func clients(t *testing.T, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// namespace makes a namespace for one test.
func namespace(t *testing.T) string {
	t.Helper()
	made, err := clients(t, "").CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "admission-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, holds); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
