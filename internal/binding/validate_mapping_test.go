package binding_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
)

type template = bindingv1.ClusterWorkloadResourceMappingTemplate

func mapping(name string, templates ...template) *bindingv1.ClusterWorkloadResourceMapping {
	return &bindingv1.ClusterWorkloadResourceMapping{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       bindingv1.ClusterWorkloadResourceMappingSpec{Versions: templates},
	}
}

func cronJob() template {
	return template{
		Version:     "*",
		Annotations: ".spec.jobTemplate.spec.template.metadata.annotations",
		Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{{
			Path: ".spec.jobTemplate.spec.template.spec.containers[*]",
			Name: ".name", Env: ".env", VolumeMounts: "['volumeMounts']",
		}},
		Volumes: ".spec.jobTemplate.spec.template.spec.volumes",
	}
}

func TestValidateMapping(t *testing.T) {
	t.Parallel()
	container := bindingv1.ClusterWorkloadResourceMappingContainer{
		Path: ".a[", Name: ".a[*]", Env: "..a", VolumeMounts: ".a[0]",
	}
	for name, c := range map[string]struct {
		reason string
		in     *bindingv1.ClusterWorkloadResourceMapping
		want   []string
	}{
		"cron job":      {reason: "the specification's own example", in: mapping("cronjobs.batch", cronJob())},
		"empty":         {reason: "it means the default", in: mapping("deployments.apps")},
		"only version":  {reason: "the rest has defaults", in: mapping("deployments.apps", template{Version: "v1"})},
		"core workload": {reason: "the core group has no name", in: mapping("pods")},
		"no group":      {reason: "the group was forgotten", in: mapping("deployments"), want: []string{invalid + "metadata.name"}},
		"odd plural":    {reason: "a plural is a label", in: mapping("1jobs.batch"), want: []string{invalid + "metadata.name"}},
		"no version": {
			reason: "the version is needed", in: mapping("jobs.batch", template{}),
			want: []string{required + "spec.versions[0].version"},
		},
		"odd version": {
			reason: "versions are labels", in: mapping("jobs.batch", template{Version: "v1/v2"}),
			want: []string{invalid + "spec.versions[0].version"},
		},
		"version twice": {
			reason: "one would win by chance", in: mapping("jobs.batch", template{Version: "*"}, template{Version: "*"}),
			want: []string{duplicate + "spec.versions[1].version"},
		},
		"paths that are not fixed": {
			reason: "only fields are allowed",
			in:     mapping("jobs.batch", template{Version: "v1", Annotations: ".a[*]", Volumes: "a b"}),
			want:   []string{invalid + "spec.versions[0].annotations", invalid + "spec.versions[0].volumes"},
		},
		"container": {
			reason: "each path counts",
			in: mapping("jobs.batch", template{
				Version: "v1", Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{{}, container},
			}),
			want: []string{
				required + "spec.versions[0].containers[0].path",
				invalid + "spec.versions[0].containers[1].path",
				invalid + "spec.versions[0].containers[1].name",
				invalid + "spec.versions[0].containers[1].env",
				invalid + "spec.versions[0].containers[1].volumeMounts",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := binding.ValidateMapping(c.in)
			if diff := cmp.Diff(c.want, broken(errs)); diff != "" {
				t.Errorf("%s: errors (-want +got):\n%s\n%v", c.reason, diff, errs.ToAggregate())
			}
		})
	}
}

func TestValidateMappingUpdate(t *testing.T) {
	t.Parallel()
	odd := template{Version: "v1", Volumes: ".a[*]"}
	for name, c := range map[string]struct {
		reason       string
		old, updated []template
		want         []string
	}{
		"as broken": {reason: "the path is unchanged", old: []template{odd}, updated: []template{odd, cronJob()}},
		"newly broken": {
			reason: "it was well before", old: []template{cronJob()}, updated: []template{odd},
			want: []string{invalid + "spec.versions[0].volumes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := broken(binding.ValidateMappingUpdate(mapping("jobs.batch", c.updated...), mapping("jobs.batch", c.old...)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: errors (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
