package admission

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
)

// recorded says whether any feature makes Secrets for who asked, so that it must be known who that was.
func recorded(features feature.Set) bool {
	return features.Has(feature.Templates) || features.Has(feature.SyntheticServices) ||
		features.Has(feature.SecretGeneration) || features.Has(feature.EntriesAsEnv)
}

// requesterOf returns the record that an object is to bear, empty for none: of who asks for what it says, as long as nobody
// asks for anything else. Who merely touches the metadata neither lends their authority nor takes it away.
func requesterOf(updated, stored *wish, user authenticationv1.UserInfo) string {
	if updated.asksForMore(stored) {
		return authority.Record(user)
	}
	return stored.object.Annotations[binding.RequesterAnnotation]
}

// checkRequester refuses a record that Bowline has not written: while the mutating webhook is away, anybody could write one.
// Where more is asked for, none at all will do, too: it gives nobody any authority.
func checkRequester(updated, stored *wish, user authenticationv1.UserInfo) field.ErrorList {
	got, present := updated.object.Annotations[binding.RequesterAnnotation]
	want := requesterOf(updated, stored, user)
	if got == want || !present && updated.asksForMore(stored) {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(binding.RequesterAnnotation)
	return field.ErrorList{field.Forbidden(at,
		"Bowline alone records who asked for an object; leave the annotation as it is, or, where the spec changes, remove it")}
}
