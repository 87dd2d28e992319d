package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSecretTypesThatAreAllowed(t *testing.T) {
	t.Parallel()
	const others = "type!=kubernetes.io/service-account-token,type!=bootstrap.kubernetes.io/token,type!=kubernetes.io/dockercfg"
	for _, test := range []struct {
		reason  string
		allowed []string
		want    string
	}{
		{"none is allowed unasked", nil, others + ",type!=kubernetes.io/dockerconfigjson,type!=helm.sh/release.v1"},
		{"what is allowed is looked at", []string{"helm.sh/release.v1", "kubernetes.io/dockerconfigjson"}, others},
		{"nothing else is allowed by it", []string{"*"}, others + ",type!=kubernetes.io/dockerconfigjson,type!=helm.sh/release.v1"},
	} {
		var options metav1.ListOptions
		exceptTypes(test.allowed)(&options)
		if diff := cmp.Diff(test.want, options.FieldSelector); diff != "" {
			t.Errorf("%s: field selector (-want +got):\n%s", test.reason, diff)
		}
	}
}
