package template

import "strings"

// Piece is a part of a template: text that stands for itself, or a token.
type Piece struct {
	// Text is what is meant, without escapes, or the name of the token.
	Text string
	// IsToken says which.
	IsToken bool
}

// Pieces takes the template apart. No piece of text is empty, and no two follow each other.
func (t *Template) Pieces() []Piece {
	pieces := make([]Piece, 0, 2*len(t.tokens)+1)
	from := 0
	for i, token := range t.tokens {
		if t.cuts[i] > from {
			pieces = append(pieces, Piece{Text: t.literal[from:t.cuts[i]]})
		}
		pieces = append(pieces, Piece{Text: token.Name, IsToken: true})
		from = t.cuts[i]
	}
	if from < len(t.literal) {
		pieces = append(pieces, Piece{Text: t.literal[from:]})
	}
	return pieces
}

// Join writes the text of a template with these pieces. The names of tokens MUST be such as Parse gives.
func Join(pieces ...Piece) string {
	var b strings.Builder
	literal := ""
	for _, piece := range pieces {
		if !piece.IsToken {
			literal += piece.Text
			continue
		}
		b.WriteString(escapeBefore(literal) + "((" + piece.Text + "))")
		literal = ""
	}
	b.WriteString(Escape(literal))
	return b.String()
}

// escapeBefore escapes a text that a token follows: backslashes at its end, or before one parenthesis there, would else be
// taken for the token's.
func escapeBefore(text string) string {
	stem := strings.TrimRight(text, "(")
	parentheses := len(text) - len(stem)
	backslashes := len(stem) - len(strings.TrimRight(stem, `\`))
	if parentheses > 1 {
		return Escape(text)
	}
	return Escape(stem) + strings.Repeat(`\`, backslashes) + text[len(stem):]
}
