// Package produce makes the Secrets that Bowline makes itself: for services that annotations or descriptors describe, for
// synthetic services, and for bindings that compose entries. What they hold is decided by packages generate and compose; here
// it is fetched, written and kept in step. It makes a Secret for no described service that is not bound, follows no reference out of a
// namespace, takes over no Secret that it did not make, and reads nothing on behalf of somebody who may not read it.
package produce

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Reasons for which a Secret is not made.
const (
	// ReasonNameTaken is the reason when a Secret of the name exists that Bowline did not make for this.
	ReasonNameTaken = "SecretNameTaken"
	// ReasonWriteRefused is the reason when the API server does not let Bowline write the Secret.
	ReasonWriteRefused = "SecretRefused"
	// ReasonSourceMissing is the reason when something that the Secret is made from does not exist.
	ReasonSourceMissing = "SourceNotFound"
	// ReasonSourceUnreadable is the reason when Bowline may not read something that the Secret is made from.
	ReasonSourceUnreadable = "SourceForbidden"
	// ReasonSourceMade is the reason when the Secret would be made from one that Bowline made, which might go on for ever.
	ReasonSourceMade = "SourceMadeByBowline"
	// ReasonSourceUnreachable is the reason when the API server does not give what the Secret is made from, such as a kind
	// whose conversion fails.
	ReasonSourceUnreachable = "SourceUnreachable"
	// ReasonRequester is the reason when who asked may not read something that the Secret is made from, or is not known.
	ReasonRequester = "RequesterForbidden"
	// ReasonSecretShared is the reason when the Secret cannot be made from something else while a binding has it whose
	// requester may not read that.
	ReasonSecretShared = "SecretShared"
	// ReasonDescription is the reason when annotations or descriptors are wrong, or point to what is not there.
	ReasonDescription = "DescriptionInvalid"
	// ReasonTemplate is the reason when a template cannot be filled in.
	ReasonTemplate = "TemplateInvalid"
	// ReasonOptions is the reason when annotations that set options are wrong, or cannot be followed.
	ReasonOptions = "OptionsInvalid"
)

const (
	// maxName is how long the name of a Secret may be.
	maxName = 253
	// hashed is how much of a name is made from what it is for.
	hashed = 8
)

// SecretName is the name of the Secret that is made for something: the same for the same. base is what it begins with, of
// tells it from others of that name.
func SecretName(base string, of ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00") + "\x00" + base))
	tail := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashed]
	head := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(base))
	head = head[:min(len(head), maxName-hashed-1)]
	return strings.Trim(strings.Trim(head, "-.")+"-"+tail, "-")
}
