// Package check says what is wrong with a binding before a program trips over it: what breaks the specification, and what the
// libraries of the catalogue will miss, or will not read. It decides from values that are handed in; it reads nothing. What it says
// names entries and never shows a value.
package check
