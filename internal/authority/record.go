package authority

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// MaxRecord is how many bytes a record may have. Annotations of one object share 256 KiB.
const MaxRecord = 32 << 10

// ErrNoRecord says that nobody is recorded who asked for something, so that nobody's authority stands behind it.
var ErrNoRecord = errors.New("it is not recorded who asked for it; change its spec while Bowline runs, so that it is")

// errNoName says that a record names nobody.
var errNoName = errors.New("it names no user")

// Record writes down all that the API server told of a user, as JSON: the same text for the same user. It is empty where
// there is no user, or where there is too much to tell: no record is no authority.
func Record(user authenticationv1.UserInfo) string {
	if user.Username == "" {
		return ""
	}
	user.Groups = slices.Compact(slices.Sorted(slices.Values(user.Groups)))
	text, err := json.Marshal(user)
	if err != nil || len(text) > MaxRecord {
		return ""
	}
	return string(text)
}

// Requester reads what Record wrote. The error is ErrNoRecord for an empty record; a record that cannot be read, or that
// names nobody, is an error, too.
func Requester(record string) (authenticationv1.UserInfo, error) {
	var user authenticationv1.UserInfo
	if record == "" {
		return user, ErrNoRecord
	}
	if err := json.Unmarshal([]byte(record), &user); err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("reading the record of who asked: %w", err)
	}
	if user.Username == "" {
		return authenticationv1.UserInfo{}, fmt.Errorf("reading the record of who asked: %w", errNoName)
	}
	return user, nil
}
