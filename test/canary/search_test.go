package canary_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"
)

// traces are the forms in which a value may show: as it is, in hexadecimal, and as what base64 makes of it, wherever in a
// longer text it begins.
func traces(value string) map[string][]byte {
	found := map[string][]byte{"plain": []byte(value), "hex": []byte(hex.EncodeToString([]byte(value)))}
	for skip := range 3 {
		// Of the first and the last group of three bytes, part may belong to the neighbours.
		whole := value[(3-skip)%3:]
		whole = whole[:len(whole)-len(whole)%3]
		found[fmt.Sprintf("base64, %d bytes after a group", skip)] = []byte(base64.StdEncoding.EncodeToString([]byte(whole)))
	}
	return found
}

// search tells in which form a value stands in a text; "" for in none.
func search(text []byte, value string) string {
	for form, trace := range traces(value) {
		if bytes.Contains(text, trace) {
			return form
		}
	}
	return ""
}

// canary returns a value that nobody else has.
func canary() string { return "canary" + rand.Text() }

func TestSearchFinds(t *testing.T) {
	t.Parallel()
	value := canary()
	for around := range 4 {
		text := bytes.Repeat([]byte("x"), around)
		text = append(append(text, value...), "yy"...)
		for form, hidden := range map[string]string{
			"plain": string(text), "base64": base64.StdEncoding.EncodeToString(text), "hex": hex.EncodeToString(text),
		} {
			if search([]byte(hidden), value) == "" {
				t.Errorf("it is not found as %s after %d bytes", form, around)
			}
			if search([]byte(hidden), canary()) != "" {
				t.Errorf("another is found as %s after %d bytes", form, around)
			}
		}
	}
}
