// Package template puts values in the place of ((tokens)) within a text.
//
// It promises the text between the tokens and the values as they are, byte for byte, in time and memory that the bounds below
// limit. It refuses to guess: a token that is empty, not closed or within another one is an error that names the position.
// What a token's name means is for the caller to say.
//
// A token begins with (( and ends at the first )) that is not within brackets, where JSONPath filters have parentheses of their
// own: ((db.list[?(@.name=="))")].host)) is one token. White space around the name does not count. Within a token a backslash
// protects the next character, and within brackets quotes protect what is between them. Of three parentheses in a row the last
// two begin the token, since no name begins with one: f(((x))) is "f(", the value of x, and ")".
//
// Outside of tokens \(( stands for a literal ((, and \\(( for one backslash before a token, and so on with more backslashes.
// All other backslashes, and )), stand for themselves.
package template

// The bounds of what one template may be and may become.
const (
	// MaxLength is the number of bytes a template may have.
	MaxLength = 64 << 10
	// MaxTokens is the number of tokens a template may have.
	MaxTokens = 1000
	// MaxResult is the number of bytes a template may become: as much as a Secret holds.
	MaxResult = 1 << 20
)
