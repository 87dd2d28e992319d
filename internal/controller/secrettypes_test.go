package controller_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/service"
)

// TestPlatformSecretsAreNotSeen sees that a Secret with credentials of the platform is as good as none, whether it is
// named directly or by a service.
func TestPlatformSecretsAreNotSeen(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(deploymentText("orders"))
	// Kept here by hand, so that none is forgotten.
	types := map[string]string{
		"kubernetes.io/dockercfg": ".dockercfg: '{}'", "kubernetes.io/dockerconfigjson": ".dockerconfigjson: '{}'",
		"bootstrap.kubernetes.io/token": "token-id: abcdef", "helm.sh/release.v1": "release: x",
		"kubernetes.io/service-account-token": "namespace: x",
	}
	var names []string
	for refused, data := range types {
		name := fmt.Sprintf("platform-%d", len(names))
		names = append(names, name)
		k.create(fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s, annotations: {kubernetes.io/service-account.name: default}}
type: %s
stringData: {%s}
`, name, refused, data))
		k.serve(name, name)
		k.create(bindingText(name, name, "orders"))
		k.create(databaseBinding("via-"+name, name, "orders"))
	}
	k.create(bindingText("absent", "nothing", "orders"))
	want := k.condition("absent", controller.ConditionServiceAvailable, metav1.ConditionFalse, service.ReasonSecretNotFound).Message
	for _, name := range names {
		c := k.condition(name, controller.ConditionServiceAvailable, metav1.ConditionFalse, service.ReasonSecretNotFound)
		if got := strings.ReplaceAll(c.Message, name, "nothing"); got != want {
			t.Errorf("it is told from a Secret that is not there: %s, want %s", got, want)
		}
		k.condition("via-"+name, controller.ConditionServiceAvailable, metav1.ConditionFalse, service.ReasonSecretNotFound)
	}
	k.bound("orders")
}
