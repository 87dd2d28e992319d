package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
)

const closeTimeout = 30 * time.Second

// stage is a fresh control plane with Secrets and Deployments in it, and nothing bound yet. Each run gets its own, so
// that no run finds the API server warmer, or its storage fuller, than another.
type stage struct {
	settings settings
	plane    *localplane.Plane
	client   dynamic.Interface
	clients  *kubernetes.Clientset
	ledger   *ledger
	observer *observer
	created  []*unstructured.Unstructured // the Deployments as the API server first stored them

	stopWatching context.CancelFunc
}

// newStage prepares a stage; whatever it prepared is cleared away when it fails.
func newStage(ctx context.Context, set settings) (*stage, error) {
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	set.tellf("starting a fresh control plane")
	plane, err := localplane.Start(ctx, localplane.Config{Dir: dir, Ephemeral: true, Attached: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), os.RemoveAll(dir))
	}
	s := &stage{settings: set, plane: plane, ledger: newLedger(), stopWatching: func() {}}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// prepare installs Bowline, makes what is to be bound and begins to watch it.
func (s *stage) prepare(ctx context.Context) error {
	config, err := s.plane.RESTConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	s.settings.tellf("installing Bowline's kinds and roles")
	if err := install.Apply(ctx, config, install.Options{External: true, Features: s.settings.features}, func(string) {}); err != nil {
		return fmt.Errorf("installing Bowline: %w", err)
	}
	if err := s.connect(config); err != nil {
		return err
	}
	if err := s.aggregate(ctx); err != nil {
		return err
	}
	s.settings.tellf("creating %d Secrets and %d Deployments", s.settings.N, s.settings.N)
	if err := s.populate(ctx); err != nil {
		return err
	}
	var watching context.Context
	watching, s.stopWatching = context.WithCancel(ctx)
	s.observer = newObserver(s.created)
	return s.observer.start(watching, s.client)
}

func (s *stage) connect(config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.UserAgent = "bowline-bench"
	config.Wrap(s.ledger.wrap)
	var err error
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	if s.clients, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	return nil
}

// aggregate sums up the roles of bindable kinds, which otherwise kube-controller-manager does.
func (s *stage) aggregate(ctx context.Context) error {
	roles := s.clients.RbacV1().ClusterRoles()
	sum, err := roles.Get(ctx, "bowline-bindable", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the aggregated role: %w", err)
	}
	for _, selector := range sum.AggregationRule.ClusterRoleSelectors {
		list, err := roles.List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&selector)})
		if err != nil {
			return fmt.Errorf("listing the roles to aggregate: %w", err)
		}
		for i := range list.Items {
			sum.Rules = append(sum.Rules, list.Items[i].Rules...)
		}
	}
	if _, err := roles.Update(ctx, sum, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("aggregating roles: %w", err)
	}
	return nil
}

// populate makes the namespace, and a Secret and a Deployment for each binding to come.
func (s *stage) populate(ctx context.Context) error {
	home := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	if _, err := s.client.Resource(namespaces()).Create(ctx, home, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %q: %w", namespace, err)
	}
	s.created = make([]*unstructured.Unstructured, s.settings.N)
	return inParallel(ctx, s.settings.Workers, s.settings.N, func(ctx context.Context, i int) error {
		secret, err := object(serviceManifest, nameOf(i))
		if err != nil {
			return err
		}
		if _, err := s.client.Resource(secrets()).Namespace(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating Secret %q: %w", nameOf(i), err)
		}
		workload, err := object(deploymentManifest, nameOf(i))
		if err != nil {
			return err
		}
		s.created[i], err = s.client.Resource(deployments()).Namespace(namespace).Create(ctx, workload, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating Deployment %q: %w", nameOf(i), err)
		}
		return nil
	})
}

// bind creates one binding and returns it as the API server stored it.
func (s *stage) bind(ctx context.Context, i int) (*unstructured.Unstructured, error) {
	binding, err := object(bindingManifest, nameOf(i))
	if err != nil {
		return nil, err
	}
	stored, err := s.client.Resource(servicebindings()).Namespace(namespace).Create(ctx, binding, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating binding %q: %w", nameOf(i), err)
	}
	return stored, nil
}

// close stops the control plane and removes it, also when the run was told to end.
func (s *stage) close(ctx context.Context) error {
	s.stopWatching()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := s.plane.Wipe(ctx)
	if err != nil {
		err = fmt.Errorf("stopping the control plane: %w", err)
	}
	return errors.Join(err, os.RemoveAll(s.plane.Dir()))
}
