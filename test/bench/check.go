package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
)

// checkBound requires each workload to bear all of its binding's projection, and to have been changed once.
func (s *stage) checkBound() error {
	for i, t := range s.observer.seen() {
		operations, err := project(t.binding, t.workload)
		if err != nil {
			return err
		}
		if len(operations) > 0 {
			return fmt.Errorf("checking Deployment %q: %d changes are missing from its projection", nameOf(i), len(operations))
		}
		if before, after := s.created[i].GetGeneration(), t.workload.GetGeneration(); after != before+1 {
			return fmt.Errorf("checking Deployment %q: it went from generation %d to %d instead of the next",
				nameOf(i), before, after)
		}
	}
	return nil
}

// checkRestored requires each workload to be as it was created.
func (s *stage) checkRestored() error {
	for i, t := range s.observer.seen() {
		before, after := s.created[i], t.workload
		if !equality.Semantic.DeepEqual(before.Object["spec"], after.Object["spec"]) ||
			!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
			!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) {
			return fmt.Errorf("checking Deployment %q: unbinding did not restore it", nameOf(i))
		}
	}
	return nil
}
