package node

import (
	"bytes"
	"fmt"
	"io"
)

// Value is the content of a file or variable. It may come from a Secret, so it does not print: the bytes are kept
// behind a function, since fmt walks unexported fields without calling their methods.
type Value struct {
	reveal func() []byte
}

// NewValue hides a copy of data.
func NewValue(data []byte) Value {
	own := bytes.Clone(data)
	return Value{reveal: func() []byte { return own }}
}

// Reveal returns the bytes, which the caller MUST NOT change.
func (v Value) Reveal() []byte {
	if v.reveal == nil {
		return nil
	}
	return v.reveal()
}

// Equal reports whether both hold the same bytes.
func (v Value) Equal(other Value) bool {
	return bytes.Equal(v.Reveal(), other.Reveal())
}

// Format writes a placeholder, whatever the verb.
func (v Value) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "[redacted]")
}
