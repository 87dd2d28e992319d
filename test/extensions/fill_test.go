package extensions_test

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unknown stands for the reason or the message of a condition in a section that is being written: -update fills it in.
const unknown = `"?"`

// fill waits for what a section wants but for what is unknown, and writes that.
func (p *player) fill(i int, text string) error {
	objects, err := parse(text)
	if err != nil {
		return err
	}
	for _, object := range objects {
		open := takeUnknown(object)
		if err := p.want(object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		resource, err := p.of(p.admin, object)
		if err != nil {
			return err
		}
		got, err := resource.Get(p.t.Context(), object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, one := range open {
			text = strings.Replace(text, unknown, quoted(told(got, one)), 1)
		}
	}
	p.scenario.rewrite(i, text)
	return nil
}

// blank is a field of a condition.
type blank struct{ condition, field string }

// takeUnknown takes out what is unknown, in the order in which it stands in the text.
func takeUnknown(object *unstructured.Unstructured) []blank {
	var open []blank
	for _, c := range conditions(object) {
		for _, field := range []string{"reason", "message"} {
			if c[field] == "?" {
				open = append(open, blank{fmt.Sprint(c["type"]), field})
				delete(c, field)
			}
		}
	}
	return open
}

func told(object *unstructured.Unstructured, of blank) string {
	for _, c := range conditions(object) {
		if c["type"] == of.condition {
			return fmt.Sprint(c[of.field])
		}
	}
	return ""
}

// conditions are those of an object, not copies of them.
func conditions(object *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	items, _ := list.([]any)
	var all []map[string]any
	for _, item := range items {
		if c, ok := item.(map[string]any); ok {
			all = append(all, c)
		}
	}
	return all
}

// quoted writes a text as YAML, in the place of a value of a condition.
func quoted(text string) string {
	if !strings.Contains(text, "\n") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	style := "|-"
	if strings.HasSuffix(text, "\n") {
		style = "|"
	}
	return style + "\n      " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n      ")
}
