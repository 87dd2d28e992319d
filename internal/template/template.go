package template

import "strings"

// Template is a parsed text. It is immutable and safe for concurrent use.
type Template struct {
	literal string  // all text outside of tokens
	tokens  []Token // in their order
	cuts    []int   // where in the literal text each token stands
}

// Token is a place for a value.
type Token struct {
	// Position is that of the opening parentheses.
	Position

	// Name is what stands between the parentheses, without the white space around it. It is never empty.
	Name string
	// NameOffset is the byte of the text at which the name begins.
	NameOffset int
}

// Parse reads a text. The error is a *SyntaxError or a *LimitError.
func Parse(text string) (*Template, error) {
	if len(text) > MaxLength {
		return nil, &LimitError{What: "bytes", Limit: MaxLength}
	}
	s := &scanner{text: text, mark: Position{Line: 1, Column: 1}}
	for s.pos < len(text) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	return &Template{literal: string(s.literal), tokens: s.tokens, cuts: s.cuts}, nil
}

// Tokens are the tokens in their order. They belong to the template: do not change them.
func (t *Template) Tokens() []Token {
	return t.tokens
}

// Whole gives the token that is all there is of the template, if so.
func (t *Template) Whole() (Token, bool) {
	if len(t.tokens) != 1 || t.literal != "" {
		return Token{}, false
	}
	return t.tokens[0], true
}

// Expand puts what lookup gives in the place of each token. The result is the caller's. The error is that of lookup as it is,
// or a *LimitError.
func (t *Template) Expand(lookup func(Token) ([]byte, error)) ([]byte, error) {
	result := make([]byte, 0, len(t.literal))
	from := 0
	for i, token := range t.tokens {
		result = append(result, t.literal[from:t.cuts[i]]...)
		from = t.cuts[i]
		value, err := lookup(token)
		if err != nil {
			return nil, err
		}
		if len(result)+len(value) > MaxResult {
			return nil, &LimitError{What: "bytes of the result", Limit: MaxResult}
		}
		result = append(result, value...)
	}
	if len(result)+len(t.literal)-from > MaxResult {
		return nil, &LimitError{What: "bytes of the result", Limit: MaxResult}
	}
	return append(result, t.literal[from:]...), nil
}

// Escape writes a text as the template that has no tokens and stands for it.
func Escape(text string) string {
	var b strings.Builder
	for text != "" {
		plain := strings.IndexAny(text, `\(`)
		if plain < 0 {
			break
		}
		b.WriteString(text[:plain])
		text = text[plain:]
		backslashes, parentheses := runs(text)
		b.WriteString(text[:backslashes])
		if parentheses >= 2 {
			b.WriteString(text[:backslashes])
		}
		for range parentheses / 2 {
			b.WriteString(`\((`)
		}
		if parentheses%2 == 1 {
			b.WriteByte('(')
		}
		text = text[backslashes+parentheses:]
	}
	b.WriteString(text)
	return b.String()
}

// runs counts the backslashes that a text begins with, and the opening parentheses after them.
func runs(text string) (backslashes, parentheses int) {
	rest := strings.TrimLeft(text, `\`)
	backslashes = len(text) - len(rest)
	return backslashes, len(rest) - len(strings.TrimLeft(rest, "("))
}
