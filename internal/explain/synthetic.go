package explain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/template"
)

// synthetic is the kind whose own spec says where the entries of its Secret come from.
var synthetic = draftv1alpha1.GroupVersion.WithKind("SyntheticProvisionedService").GroupKind()

// maxTokens is how many tokens of a mapping are told.
const maxTokens = 5

// mapped says of each entry of a synthetic service which field of its spec makes it, and of what.
func (e *explanation) mapped() {
	if e.service.Kind.GroupKind() != synthetic {
		return
	}
	rules := map[string]string{}
	mappings, _, _ := unstructured.NestedSlice(e.service.Object, "spec", "mappings")
	for i, item := range mappings {
		mapping, _ := item.(map[string]any)
		name, _ := mapping["name"].(string)
		value, _ := mapping["value"].(string)
		rules[name] = fmt.Sprintf("spec.mappings[%d]%s", i, tokensOf(value))
	}
	for _, name := range []string{"type", "provider"} {
		if value, _, _ := unstructured.NestedString(e.service.Object, "spec", name); value != "" {
			rules[name] = "spec." + name
		}
	}
	for i := range e.report.Entries {
		e.report.Entries[i].Rule = rules[e.report.Entries[i].Name]
	}
}

// tokensOf tells what a template is made of; the text between tokens is not told.
func tokensOf(value string) string {
	parsed, err := template.Parse(value)
	if err != nil || len(parsed.Tokens()) == 0 {
		return ""
	}
	var names []string
	for i, token := range parsed.Tokens() {
		if i == maxTokens {
			names = append(names, fmt.Sprintf("and %d more", len(parsed.Tokens())-i))
			break
		}
		names = append(names, "(("+token.Name+"))")
	}
	return ", of " + strings.Join(names, ", ")
}
