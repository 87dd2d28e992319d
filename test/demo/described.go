package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/node"
)

// describedFolder is where the manifests of the second part are, seen from the root.
const describedFolder = "examples/greeter/described"

// described are the objects of the second part: a service that is described rather than provisioned.
type described struct {
	definition, role, credentials, settings, broker, binding, url *unstructured.Unstructured
}

func loadDescribed(dir string) (described, error) {
	var d described
	for name, into := range map[string]**unstructured.Unstructured{
		"definition": &d.definition, "role": &d.role, "credentials": &d.credentials, "settings": &d.settings,
		"broker": &d.broker, "binding": &d.binding, "url": &d.url,
	} {
		obj, err := loadManifest(filepath.Join(dir, name+".yaml"))
		if err != nil {
			return described{}, err
		}
		*into = obj
	}
	return d, nil
}

// defineKind lets the cluster know the kind of the service.
func defineKind(ctx context.Context, s *story) error {
	for _, obj := range []*unstructured.Unstructured{s.described.definition, s.described.role} {
		obj.SetNamespace("")
		if _, err := s.cluster.apply(ctx, obj); err != nil {
			return err
		}
	}
	s.sayf("Its annotations say where a Broker keeps what a binding needs:")
	annotations := s.described.definition.GetAnnotations()
	for _, key := range sortedKeys(annotations) {
		s.quote(key + ": " + annotations[key])
	}
	return nil
}

// bindDescribed plays the service's operator, and then binds the service.
func bindDescribed(ctx context.Context, s *story) error {
	if err := s.provide(ctx); err != nil {
		return err
	}
	if _, err := s.cluster.apply(ctx, s.described.settings); err != nil {
		return err
	}
	s.sayf("Broker %s, its Secret and its ConfigMap; it names no Secret to bind", s.described.broker.GetName())
	return s.bindTo(ctx, s.described.broker)
}

// provide tells the cluster of the server that runs, as an operator would.
func (s *story) provide(ctx context.Context) error {
	credentials, err := fill(s.described.credentials, map[string]string{
		"username": s.service.username, "password": string(s.service.password.Reveal()),
	})
	if err != nil {
		return err
	}
	if _, err := s.cluster.apply(ctx, credentials); err != nil {
		return err
	}
	broker := s.described.broker.DeepCopy()
	broker.Object["status"] = map[string]any{"host": s.service.at.Host, "port": int64(s.service.at.Port)}
	return s.cluster.applyServed(ctx, broker)
}

// bindTo binds the Deployment to a service, and waits until it sees the service as it is.
func (s *story) bindTo(ctx context.Context, service *unstructured.Unstructured) error {
	binding := s.described.binding.DeepCopy()
	reference := map[string]any{"apiVersion": service.GetAPIVersion(), "kind": service.GetKind(), "name": service.GetName()}
	if err := unstructured.SetNestedMap(binding.Object, reference, "spec", "service"); err != nil {
		return fmt.Errorf("writing the binding: %w", err)
	}
	binding, err := s.cluster.apply(ctx, binding)
	if err != nil {
		return err
	}
	if binding, err = s.cluster.awaitReady(ctx, binding); err != nil {
		return err
	}
	s.quote(strings.Join(conditions(binding), "\n"))
	name, _, err := unstructured.NestedString(binding.Object, "status", "binding", "name")
	if err != nil {
		return fmt.Errorf("reading which Secret is bound: %w", err)
	}
	s.made = secretNamed(name)
	return s.follow(ctx)
}

func secretNamed(name string) *unstructured.Unstructured {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	secret.SetName(name)
	secret.SetNamespace(namespace)
	return secret
}

// follow waits until the Secret that was made is of the server that runs now, and shows the names of its entries.
func (s *story) follow(ctx context.Context) error {
	secret, err := s.cluster.await(ctx, s.made, "the server's present port and password", func(secret *unstructured.Unstructured) bool {
		return holds(secret, []byte(strconv.Itoa(s.service.at.Port))) && holds(secret, s.service.password.Reveal())
	})
	if err != nil {
		return err
	}
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	s.sayf("Secret %s, made for %s, has the entries %s", secret.GetName(), secret.GetOwnerReferences()[0].Kind, listed(sortedKeys(data)))
	return nil
}

// holds says whether a value of a Secret has a text in it.
func holds(secret *unstructured.Unstructured, text []byte) bool {
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	for _, value := range data {
		if plain, err := base64.StdEncoding.DecodeString(value); err == nil && bytes.Contains(plain, text) {
			return true
		}
	}
	return false
}

// changePassword replaces the service's password: another server takes the place of the first.
func changePassword(ctx context.Context, s *story) error {
	former := s.service
	if err := startService(ctx, s); err != nil {
		return err
	}
	if s.service.at == former.at {
		return errors.New("the other server is at the same address, so nothing would be shown")
	}
	if err := s.provide(ctx); err != nil {
		return err
	}
	if err := s.follow(ctx); err != nil {
		return err
	}
	return s.greetThrough(ctx)
}

// greetThrough runs the program and requires that it reached the server that runs now.
func (s *story) greetThrough(ctx context.Context) error {
	output, err := s.bowlineRun(ctx, s.workload(), "bin/greeter", "--count", "1")
	if err != nil {
		return err
	}
	if !strings.Contains(output, ":"+strconv.Itoa(s.service.at.Port)) {
		return errors.New("greeter did not talk to the server that runs now")
	}
	return nil
}

func runDescribed(ctx context.Context, s *story) error { return s.greetThrough(ctx) }

// composeURL binds a service that is made of three resources, and holds one URL.
func composeURL(ctx context.Context, s *story) error {
	url, err := s.cluster.apply(ctx, s.described.url)
	if err != nil {
		return err
	}
	if _, err := s.cluster.awaitReady(ctx, url); err != nil {
		return err
	}
	if err := s.bindTo(ctx, url); err != nil {
		return err
	}
	return s.greetThrough(ctx)
}

// unbindDescribed deletes the binding: the Deployment is what it was, and nothing is made for the Broker any more.
func unbindDescribed(ctx context.Context, s *story) error {
	if err := s.release(ctx, s.described.binding); err != nil {
		return err
	}
	return s.cluster.remove(ctx, s.described.url)
}

// checkLogs searches what the control plane and Bowline have logged.
func checkLogs(_ context.Context, s *story) error {
	size, plane := 0, os.DirFS(filepath.Join(s.scratch, "plane"))
	err := fs.WalkDir(plane, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		text, err := fs.ReadFile(plane, path)
		size += len(text)
		if err == nil && s.betrays(text) {
			err = fmt.Errorf("a password stands in %s", path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("looking into the logs: %w", err)
	}
	if size == 0 {
		return errors.New("nothing was logged, so nothing is shown")
	}
	s.sayf("%d bytes were logged; no password is among them", size)
	return nil
}

// betrays finds any password of the story, as text and as base64.
func (s *story) betrays(text []byte) bool {
	for _, password := range append([]node.Value{s.service.password}, s.former...) {
		plain := password.Reveal()
		if bytes.Contains(text, plain) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString(plain))) {
			return true
		}
	}
	return false
}
