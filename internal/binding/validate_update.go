package binding

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NewErrors returns what is in now but not in before. Errors are the same when rule, field and value are: each rule
// puts the values that it looked at into the error, so that a change of them makes another error. An update is judged by what
// it newly breaks, so that an object older than a rule stays editable.
func NewErrors(now, before field.ErrorList) field.ErrorList {
	var fresh field.ErrorList
	for _, err := range now {
		known := slices.ContainsFunc(before, func(old *field.Error) bool { return sameError(err, old) })
		if !known {
			fresh = append(fresh, err)
		}
	}
	return fresh
}

func sameError(a, b *field.Error) bool {
	return a.Type == b.Type && a.Field == b.Field && a.Detail == b.Detail && reflect.DeepEqual(a.BadValue, b.BadValue)
}
