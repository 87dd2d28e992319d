package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/controller"
)

// podSpec is what the workloads below run.
const podSpec = `{restartPolicy: %s, containers: [{name: main, image: "example.com/main:1"}], initContainers: [{name: init, image: "example.com/init:1"}]}`

// kindOfWorkload is a built-in kind that has pods.
type kindOfWorkload struct {
	kind, apiVersion, spec string
	fixed                  bool // the pods of an existing one cannot be changed
}

func (w kindOfWorkload) resource() schema.GroupVersionResource {
	group, version, found := strings.Cut(w.apiVersion, "/")
	if !found {
		group, version = "", w.apiVersion
	}
	return resourceOf(schema.GroupVersionKind{Group: group, Version: version, Kind: w.kind})
}

func (w kindOfWorkload) object(name string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", w.apiVersion, w.kind, name, w.spec)
}

func (w kindOfWorkload) binding(name, workload string) string {
	reference := fmt.Sprintf("{apiVersion: %s, kind: %s,", w.apiVersion, w.kind)
	return strings.Replace(bindingText(name, "db", workload), "{apiVersion: apps/v1, kind: Deployment,", reference, 1)
}

// TestEachKindOfWorkload binds each built-in kind that has pods: while it is created, and, where pods of an existing one
// can be changed, afterwards.
func TestEachKindOfWorkload(t *testing.T) {
	t.Parallel()
	labels := `{matchLabels: {app: x}}`
	template := `{metadata: {labels: {app: x}}, spec: ` + fmt.Sprintf(podSpec, "Always") + `}`
	once := `{metadata: {labels: {app: x}}, spec: ` + fmt.Sprintf(podSpec, "Never") + `}`
	for _, test := range []kindOfWorkload{
		{kind: "Deployment", apiVersion: "apps/v1", spec: `{selector: ` + labels + `, template: ` + template + `}`},
		{kind: "StatefulSet", apiVersion: "apps/v1", spec: `{serviceName: x, selector: ` + labels + `, template: ` + template + `}`},
		{kind: "DaemonSet", apiVersion: "apps/v1", spec: `{selector: ` + labels + `, template: ` + template + `}`},
		{kind: "ReplicaSet", apiVersion: "apps/v1", spec: `{replicas: 0, selector: ` + labels + `, template: ` + template + `}`},
		{kind: "ReplicationController", apiVersion: "v1", spec: `{replicas: 0, selector: {app: x}, template: ` + template + `}`},
		{kind: "CronJob", apiVersion: "batch/v1", spec: `{schedule: "0 0 1 1 *", jobTemplate: {spec: {template: ` + once + `}}}`},
		{kind: "Job", apiVersion: "batch/v1", spec: `{suspend: true, template: ` + once + `}`, fixed: true},
		{kind: "Pod", apiVersion: "v1", spec: fmt.Sprintf(podSpec, "Never"), fixed: true},
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			test.bindWhileCreated(t)
			test.bindAfterwards(t)
		})
	}
}

func (w kindOfWorkload) bindWhileCreated(t *testing.T) {
	t.Helper()
	k := newCluster(t)
	k.create(secretText("db"))
	k.create(w.binding("early", "fresh"))
	k.condition("early", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadNotFound)
	k.eventually("admission is asked about "+w.kind, func() error {
		if err := k.tryCreate(w.object("fresh")); err != nil {
			return err
		}
		object := k.get(w.resource(), "fresh")
		if generation := object.GetGeneration(); w.kind != "Pod" && generation != 1 {
			return fmt.Errorf("the generation is %d", generation)
		}
		if !strings.Contains(fmt.Sprint(object.Object["spec"]), "/bindings/early") {
			k.remove(w.resource(), "fresh")
			return errors.New("it was created without the projection")
		}
		return nil
	})
	k.ready("early")
}

func (w kindOfWorkload) bindAfterwards(t *testing.T) {
	t.Helper()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + w.object("late"))
	k.create(w.binding("late", "late"))
	if w.fixed {
		k.condition("late", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadImmutable)
		k.remove(bindings, "late")
		k.gone(bindings, "late")
		return
	}
	k.ready("late")
	k.remove(bindings, "late")
	k.gone(bindings, "late")
	text := fmt.Sprint(k.get(w.resource(), "late").Object)
	if strings.Contains(text, "servicebinding") || strings.Contains(text, "bowline") {
		t.Errorf("unbinding left something behind: %s", text)
	}
}
