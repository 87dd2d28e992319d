package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// subject is one Secret or ConfigMap that is followed.
type subject struct {
	target

	get   func(context.Context) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// version is the resource version that was last seen; empty where there is no object. gone says that there was one.
	version string
	gone    bool
	// troubled says that the present trouble was told of.
	troubled bool
}

func (c *Client) secret(namespace, name string) *subject {
	secrets := c.core.Secrets(namespace)
	return &subject{
		target: target{resource: schema.GroupResource{Resource: "secrets"}, kind: "Secret", name: name, namespace: namespace},
		get:    func(ctx context.Context) (runtime.Object, error) { return secrets.Get(ctx, name, metav1.GetOptions{}) },
		watch:  secrets.Watch,
	}
}

func (c *Client) configMap(namespace, name string) *subject {
	configMaps := c.core.ConfigMaps(namespace)
	return &subject{
		target: target{resource: schema.GroupResource{Resource: "configmaps"}, kind: "ConfigMap", name: name, namespace: namespace},
		get: func(ctx context.Context) (runtime.Object, error) {
			return configMaps.Get(ctx, name, metav1.GetOptions{})
		},
		watch: configMaps.Watch,
	}
}

// look reads the object. It says whether that was news; an object that is not there is no error.
func (s *subject) look(ctx context.Context, f *Feed) (news bool, err error) {
	object, err := s.get(ctx)
	if apierrors.IsNotFound(err) {
		news = s.version != ""
		s.version, s.gone = "", s.gone || news
		return news, nil
	}
	if err != nil {
		return false, s.explain(err, "get", "watch")
	}
	return s.take(f, object), nil
}

// take remembers an object and says whether it is another than before.
func (s *subject) take(f *Feed, object runtime.Object) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	var version string
	switch o := object.(type) {
	case *corev1.Secret:
		version = o.ResourceVersion
		f.objects.Secrets[s.name] = hide(o.Data)
	case *corev1.ConfigMap:
		version = o.ResourceVersion
		f.objects.ConfigMaps[s.name], f.objects.BinaryData[s.name] = hideText(o.Data), hide(o.BinaryData)
	default:
		return false
	}
	news := s.version != version
	s.version, s.gone = version, false
	return news
}

// follow tells of changes until the context ends: it watches from what was last seen, and looks again whenever a watch ends.
func (s *subject) follow(ctx context.Context, f *Feed, tell func(Event)) {
	backoff := f.backoff
	for ctx.Err() == nil {
		began := time.Now()
		seen, err := s.stream(ctx, f, tell)
		if seen || time.Since(began) > lastRetry {
			backoff = f.backoff
		}
		if apierrors.IsForbidden(err) {
			s.trouble(ctx, s.explain(err, "watch"), tell)
			pause(ctx, f.poll)
		} else {
			pause(ctx, backoff.Step())
		}
		news, err := s.look(ctx, f)
		if err != nil {
			s.trouble(ctx, err, tell)
			continue
		}
		s.settle(news, tell)
	}
}

// stream watches until the watch ends, and says whether it brought anything.
func (s *subject) stream(ctx context.Context, f *Feed, tell func(Event)) (seen bool, err error) {
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, s.name).String(), ResourceVersion: s.version,
	}
	w, err := s.watch(ctx, options)
	if err != nil {
		return false, fmt.Errorf("watching: %w", err)
	}
	defer w.Stop()
	s.troubled = false
	for {
		select {
		case <-ctx.Done():
			return seen, nil
		case event, open := <-w.ResultChan():
			if !open || event.Type == watch.Error {
				return seen, nil
			}
			seen = true
			s.receive(f, event, tell)
		}
	}
}

// receive takes in one event of a watch.
func (s *subject) receive(f *Feed, event watch.Event, tell func(Event)) {
	switch event.Type {
	case watch.Added, watch.Modified:
		if s.take(f, event.Object) {
			tell(Event{What: quoted(s.kind, s.name), Kind: Changed})
		}
	case watch.Deleted:
		s.version, s.gone = "", true
		tell(Event{What: quoted(s.kind, s.name), Kind: Gone})
	case watch.Bookmark, watch.Error:
	}
}

// settle tells what a look brought.
func (s *subject) settle(news bool, tell func(Event)) {
	switch {
	case news && s.gone:
		tell(Event{What: quoted(s.kind, s.name), Kind: Gone})
	case news:
		tell(Event{What: quoted(s.kind, s.name), Kind: Changed})
	}
}

// trouble tells of what is in the way, once.
func (s *subject) trouble(ctx context.Context, err error, tell func(Event)) {
	if s.troubled || ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	s.troubled = true
	tell(Event{What: quoted(s.kind, s.name), Kind: Troubled, Err: err})
}
