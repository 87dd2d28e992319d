package bindings

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// redacted stands where a value would.
const redacted = "[redacted]"

// Value is what an entry holds, or what was made of entries. It does not print: the bytes are behind a function, since fmt
// walks the fields of a struct without asking their methods.
type Value struct {
	reveal func() []byte
}

// newValue takes over data.
func newValue(data []byte) Value { return Value{reveal: func() []byte { return data }} }

func textValue(text string) Value { return newValue([]byte(text)) }

func (v Value) bytes() []byte {
	if v.reveal == nil {
		return nil
	}
	return v.reveal()
}

// Bytes returns the bytes of the file, every one of them. The caller may change them.
func (v Value) Bytes() []byte { return bytes.Clone(v.bytes()) }

// Text returns the value as text, without one line break at its end: what an editor or echo left there. Other white space
// stays, since a password may hold it.
func (v Value) Text() string { return catalogue.TrimLineBreak(string(v.bytes())) }

// Len is the number of bytes.
func (v Value) Len() int { return len(v.bytes()) }

// Equal says whether both hold the same bytes.
func (v Value) Equal(other Value) bool { return bytes.Equal(v.bytes(), other.bytes()) }

// Format writes a placeholder, whatever the verb.
func (v Value) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// String returns a placeholder.
func (v Value) String() string { return redacted }

// MarshalText returns a placeholder, for JSON and other encodings.
func (v Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns a placeholder, for log/slog.
func (v Value) LogValue() slog.Value { return slog.StringValue(redacted) }
