package service

import (
	"fmt"
	"io"
)

// Secret holds a text that must not be printed. It keeps the text behind a function, because fmt walks the fields of a
// struct without asking their methods.
type Secret struct {
	reveal func() string
}

// NewSecret hides text.
func NewSecret(text string) Secret {
	return Secret{reveal: func() string { return text }}
}

// Reveal returns the text, for the one call that needs it.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Format writes a placeholder, whatever the verb.
func (s Secret) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "[redacted]")
}
