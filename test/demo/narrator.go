package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// narrator tells a person what happens, and remembers every byte it told.
type narrator struct {
	out        io.Writer
	transcript bytes.Buffer
}

// heading opens a step.
func (n *narrator) heading(number, of int, name string) {
	n.write(fmt.Sprintf("\n[%d/%d] %s\n", number, of, name))
}

// sayf adds a sentence to the step.
func (n *narrator) sayf(format string, args ...any) {
	n.write("  " + fmt.Sprintf(format, args...) + "\n")
}

// quote shows what somebody else said, line by line.
func (n *narrator) quote(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		n.write("    | " + strings.TrimRight(line, "\n") + "\n")
	}
}

// write puts out and remembers. A terminal that went away does not end the demo.
func (n *narrator) write(text string) {
	n.transcript.WriteString(text)
	_, _ = io.WriteString(n.out, text)
}
