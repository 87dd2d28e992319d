package binding

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/jsonpath"
	"github.com/bowline-dev/bowline/projection"
)

// anyVersion is the version of the template that stands for all versions without one of their own.
const anyVersion = "*"

// ValidateMapping tells which rules a ClusterWorkloadResourceMapping breaks. No versions at all are allowed: an empty
// mapping means the same as none.
func ValidateMapping(m *bindingv1.ClusterWorkloadResourceMapping) field.ErrorList {
	errs := validateMappingName(m.Name, field.NewPath("metadata", "name"))
	versions := field.NewPath("spec", "versions")
	seen := make(map[string]bool, len(m.Spec.Versions))
	for i := range m.Spec.Versions {
		template, at := &m.Spec.Versions[i], versions.Index(i)
		errs = append(errs, validateMappingVersion(template.Version, at.Child("version"))...)
		if template.Version != "" && seen[template.Version] {
			errs = append(errs, field.Duplicate(at.Child("version"), template.Version))
		}
		seen[template.Version] = true
		errs = append(errs, validateTemplate(template, at)...)
	}
	return errs
}

// ValidateMappingUpdate tells which rules a changed mapping breaks that it did not break before, as NewErrors has it.
func ValidateMappingUpdate(updated, old *bindingv1.ClusterWorkloadResourceMapping) field.ErrorList {
	errs := ValidateMapping(updated)
	if len(errs) == 0 {
		return nil
	}
	return NewErrors(errs, ValidateMapping(old))
}

// validateMappingName wants <plural>.<group>. The core group has no name, and an object's name cannot end in a dot: what
// looks like a workload there goes by its plural alone. Any other name without a dot lacks its group by mistake.
func validateMappingName(name string, at *field.Path) field.ErrorList {
	plural, group, found := strings.Cut(name, ".")
	if !found && coreWorkload(name) {
		return nil
	}
	fits := found && len(validation.IsDNS1035Label(plural)) == 0 && len(validation.IsDNS1123Subdomain(group)) == 0
	if fits {
		return nil
	}
	return field.ErrorList{field.Invalid(at, name, "must be <plural>.<group> of the mapped resource, such as "+
		"cronjobs.batch; only pods, podtemplates and replicationcontrollers, of the core group, stand alone")}
}

// coreWorkload names the resources of the core group that hold containers.
func coreWorkload(plural string) bool {
	switch plural {
	case "pods", "podtemplates", "replicationcontrollers":
		return true
	default:
		return false
	}
}

func validateMappingVersion(version string, at *field.Path) field.ErrorList {
	switch version {
	case "":
		return field.ErrorList{field.Required(at,
			`must be a version of the mapped resource, such as v1, or "*" for each version without a template of its own`)}
	case anyVersion:
		return nil
	default:
		return invalid(at, version, validation.IsDNS1035Label(version),
			`use a version of the mapped resource, such as v1, or "*"`)
	}
}

func validateTemplate(t *bindingv1.ClusterWorkloadResourceMappingTemplate, at *field.Path) field.ErrorList {
	errs := validateFixed(t.Annotations, at.Child("annotations"))
	errs = append(errs, validateFixed(t.Volumes, at.Child("volumes"))...)
	for i := range t.Containers {
		errs = append(errs, validateMappingContainer(&t.Containers[i], at.Child("containers").Index(i))...)
	}
	if len(errs) > 0 {
		return errs
	}
	// What projects must have the last word: a template that passes here must never fail there.
	if _, err := projection.Compile(*t); err != nil {
		return field.ErrorList{field.Invalid(at, t.Version, err.Error())}
	}
	return nil
}

func validateMappingContainer(c *bindingv1.ClusterWorkloadResourceMappingContainer, at *field.Path) field.ErrorList {
	errs := validateContainerPath(c.Path, at.Child("path"))
	errs = append(errs, validateFixed(c.Name, at.Child("name"))...)
	errs = append(errs, validateFixed(c.Env, at.Child("env"))...)
	return append(errs, validateFixed(c.VolumeMounts, at.Child("volumeMounts"))...)
}

func validateContainerPath(expression string, at *field.Path) field.ErrorList {
	if expression == "" {
		return field.ErrorList{field.Required(at,
			"must be the JSONPath of the containers, such as .spec.template.spec.containers[*]")}
	}
	if _, err := jsonpath.Parse(expression); err != nil {
		return field.ErrorList{field.Invalid(at, expression,
			"must be a JSONPath, such as .spec.template.spec.containers[*]: "+err.Error())}
	}
	return nil
}

// validateFixed checks an optional Fixed JSONPath; an empty one means its default.
func validateFixed(expression string, at *field.Path) field.ErrorList {
	if expression == "" {
		return nil
	}
	if _, err := jsonpath.ParseFixed(expression); err != nil {
		return field.ErrorList{field.Invalid(at, expression, "must be a Fixed JSONPath, which names fields only, "+
			"such as .spec.template.spec.volumes or ['spec'].volumes: "+err.Error())}
	}
	return nil
}
