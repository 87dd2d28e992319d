package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/generate"
	"github.com/bowline-dev/bowline/internal/produce"
	"github.com/bowline-dev/bowline/internal/watch"
)

// makers puts what concerns the Secrets that Bowline makes into the queues of those who make them. A queue that is not
// there is that of a feature that is switched off, or of one that has not started.
type makers struct {
	services   atomic.Pointer[queue[watch.ServiceKey]]
	bindings   atomic.Pointer[queue[binding.Key]]
	synthetics atomic.Pointer[queue[types.NamespacedName]]
	// looks have the objects of a group's kinds looked for again. They are all there before the first report.
	looks []func(group string)
}

// ServiceConcerned has a service looked at.
func (m *makers) ServiceConcerned(key watch.ServiceKey) { enqueue(&m.services, key) }

// BindingConcerned has a binding prepared.
func (m *makers) BindingConcerned(key binding.Key) { enqueue(&m.bindings, key) }

// GroupConcerned has sources looked for again whose kind may have come.
func (m *makers) GroupConcerned(group string) {
	for _, look := range m.looks {
		look(group)
	}
}

func (m *makers) syntheticConcerned(name types.NamespacedName) { enqueue(&m.synthetics, name) }

func enqueue[T comparable](into *atomic.Pointer[queue[T]], key T) {
	if q := into.Load(); q != nil {
		q.Add(key)
	}
}

// making is what the makers of Secrets share while they are put together.
type making struct {
	parts   *parts
	mgr     manager.Manager
	options Options
	keeper  *produce.Keeper
	queues  *makers
	errs    []error
}

// addMakers adds those who make Secrets, for the features that are switched on.
func (p *parts) addMakers(mgr manager.Manager, options Options) error {
	has := options.Features.Has
	prepares := has(feature.Templates) || has(feature.EntriesAsEnv)
	if !prepares && !has(feature.SyntheticServices) && !has(feature.SecretGeneration) {
		return nil
	}
	keeper, err := produce.NewKeeper(p.clients, leads(mgr))
	if err != nil {
		return fmt.Errorf("adding the keeper of Secrets: %w", err)
	}
	m := &making{parts: p, mgr: mgr, options: options, keeper: keeper, queues: &makers{}}
	m.add(keeper)
	if prepares {
		m.preparer()
	}
	if has(feature.SecretGeneration) {
		m.generator()
	}
	if has(feature.SyntheticServices) {
		m.synthesizer()
	}
	m.add(manager.RunnableFunc(m.onceLeading))
	return errors.Join(m.errs...)
}

// leads says whether this replica leads.
func leads(mgr manager.Manager) func() bool {
	return func() bool {
		select {
		case <-mgr.Elected():
			return true
		default:
			return false
		}
	}
}

// replay has everything looked at: what is bound, and what was made, since what that was made for may be bound no more.
func (m *making) replay(context.Context) error {
	m.parts.hub.SetMakers(m.queues)
	m.keeper.Replay()
	return nil
}

// onceLeading has everything looked at again: until it leads a replica writes nothing.
func (m *making) onceLeading(ctx context.Context) error {
	select { // this runs a little before it leads
	case <-m.mgr.Elected():
		return m.replay(ctx)
	case <-ctx.Done():
		return nil
	}
}

func (m *making) add(runnable manager.Runnable) {
	m.errs = append(m.errs, m.mgr.Add(runnable))
}

func (m *making) authority() *authority.Reviewer {
	return authority.New(m.parts.clients.AuthorizationV1().SubjectAccessReviews(), m.parts.clients.Discovery(), time.Now)
}

func (m *making) common() produce.Options {
	return produce.Options{Features: m.options.Features, AllowedSecretTypes: m.options.AllowedSecretTypes}
}

func (m *making) preparer() {
	objects := watch.NewObjects(m.parts.reads, nil, m.queues.BindingConcerned)
	m.keeper.Tell(produce.ForBinding, func(namespace string, owner metav1.OwnerReference) {
		m.queues.BindingConcerned(produce.BindingOf(namespace, owner))
	})
	m.queues.looks = append(m.queues.looks, objects.Look)
	m.add(objects)
	addMaker(m, maker[binding.Key]{
		name: "preparer", reconciler: produce.NewPreparer(m.parts.hub, objects, m.keeper, m.common()),
		tenant: tenantOfBinding, queue: &m.queues.bindings, everywhere: true,
		begin: m.replay,
	})
}

func (m *making) generator() {
	known, err := generate.Known(m.options.KnownOperator)
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("adding the generator: %w", err))
		return
	}
	objects := watch.NewObjects(m.parts.reads, produce.KeepVersion, m.queues.ServiceConcerned)
	m.keeper.Tell(produce.ForService, func(namespace string, owner metav1.OwnerReference) {
		m.queues.ServiceConcerned(produce.ServiceOf(namespace, owner))
	})
	m.queues.looks = append(m.queues.looks, objects.Look)
	m.add(objects)
	addMaker(m, maker[watch.ServiceKey]{
		name: "generator",
		reconciler: produce.NewGenerator(produce.GeneratorConfig{
			Options: m.common(), Hub: m.parts.hub, Objects: objects, Keeper: m.keeper,
			Definitions: definitions{m.mgr.GetCache()}, Known: known,
			Authority: m.authority(), Clock: time.Now,
		}),
		tenant: tenantOfWorkload, queue: &m.queues.services, everywhere: true,
		begin: m.replay,
	})
}

func (m *making) synthesizer() {
	objects := watch.NewObjects(m.parts.reads, nil, m.queues.syntheticConcerned)
	m.keeper.Tell(produce.ForSynthetic, func(namespace string, owner metav1.OwnerReference) {
		m.queues.syntheticConcerned(produce.SyntheticNameOf(namespace, owner))
	})
	m.queues.looks = append(m.queues.looks, objects.Look)
	m.add(objects)
	addMaker(m, maker[types.NamespacedName]{
		name: "synthesizer",
		reconciler: produce.NewSynthesizer(produce.SynthesizerConfig{
			Options: m.common(), Client: m.mgr.GetClient(), Objects: objects, Keeper: m.keeper,
			Authority: m.authority(), Clock: time.Now,
		}),
		tenant: func(name types.NamespacedName) string { return name.Namespace }, queue: &m.queues.synthetics,
		begin: m.followSynthetics,
	})
}

// followSynthetics has each synthetic service looked at when it changes.
func (m *making) followSynthetics(ctx context.Context) error {
	informer, err := m.mgr.GetCache().GetInformer(ctx, &draftv1alpha1.SyntheticProvisionedService{})
	if err != nil {
		return fmt.Errorf("getting the informer of synthetic services: %w", err)
	}
	tell := func(item any) {
		if key, err := toolscache.DeletionHandlingObjectToName(item); err == nil {
			m.queues.syntheticConcerned(types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, item any) { tell(item) }, DeleteFunc: tell,
	})
	if err != nil {
		return fmt.Errorf("following synthetic services: %w", err)
	}
	return nil
}

// maker is one of those who make Secrets.
type maker[T comparable] struct {
	name       string
	reconciler reconcile.TypedReconciler[T]
	tenant     func(T) string
	queue      *atomic.Pointer[queue[T]]
	// everywhere says that it runs on each replica, since admission asks for what it finds.
	everywhere bool
	// begin has it told of all that there is. All bindings are known by then.
	begin func(context.Context) error
}

func addMaker[T comparable](m *making, of maker[T]) {
	workers := m.options.Workers
	if workers == 0 {
		workers = DefaultWorkers
	}
	needsLead := !of.everywhere
	c, err := controller.NewTyped(of.name, m.mgr, controller.TypedOptions[T]{
		Reconciler: of.reconciler, MaxConcurrentReconciles: workers, RateLimiter: backoff[T](), NewQueue: newQueue(of.tenant),
		NeedLeaderElection: &needsLead,
	})
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("adding the %s: %w", of.name, err))
		return
	}
	hub := m.parts.hub
	m.errs = append(m.errs, c.Watch(source.TypedFunc[T](
		func(ctx context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
			go func() {
				select {
				case <-ctx.Done():
				case <-hub.Indexed():
					of.queue.Store(&queue[T]{q})
					if err := of.begin(ctx); err != nil && ctx.Err() == nil {
						m.options.Log.Error(err, "Starting to make Secrets", "maker", of.name)
					}
				}
			}()
			return nil
		})))
}

// definitions reads definitions of custom resources from memory, where the hub has them kept.
type definitions struct {
	reader client.Reader
}

// Annotations returns those of a definition.
func (d definitions) Annotations(ctx context.Context, name string) (map[string]string, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(watch.DefinitionKind)
	err := d.reader.Get(ctx, client.ObjectKey{Name: name}, object)
	if client.IgnoreNotFound(err) != nil { // the API server's own kinds have none
		return nil, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	return object.Annotations, nil
}
