package admission

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/compose"
)

// checkOptions tells which annotations of a binding say what no option means.
func checkOptions(annotations map[string]string) field.ErrorList {
	_, err := compose.ParseEnvRule(annotations)
	if faults, ok := errors.AsType[compose.Faults](err); ok {
		return faults.List()
	}
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("metadata", "annotations"), err)}
	}
	return nil
}

// joined adds errors, but none of a field that something is wrong with already.
func joined(errs, more field.ErrorList) field.ErrorList {
	all := slices.Clone(errs)
	for _, err := range more {
		if !slices.ContainsFunc(errs, func(known *field.Error) bool { return known.Field == err.Field }) {
			all = append(all, err)
		}
	}
	return all
}
