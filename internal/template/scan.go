package template

import "strings"

// scanner goes through a text once.
type scanner struct {
	text string
	pos  int
	// mark is the last place whose line and column are known; it only moves forward.
	mark    Position
	literal []byte
	tokens  []Token
	cuts    []int
}

// next reads literal text up to and including the next token.
func (s *scanner) next() error {
	rest := s.text[s.pos:]
	plain := strings.IndexAny(rest, `\(`)
	if plain < 0 {
		plain = len(rest)
	}
	s.take(plain)
	backslashes, parentheses := runs(rest[plain:])
	if parentheses < 2 {
		s.take(backslashes + parentheses)
		return nil
	}
	s.take(backslashes / 2)
	s.pos += backslashes - backslashes/2
	if backslashes%2 == 1 {
		s.take(2)
		return nil
	}
	if parentheses == 3 {
		s.take(1)
	}
	return s.token()
}

// take reads bytes that stand for themselves.
func (s *scanner) take(n int) {
	s.literal = append(s.literal, s.text[s.pos:s.pos+n]...)
	s.pos += n
}

// token reads a token, whose opening parentheses are next.
func (s *scanner) token() error {
	opened := s.position(s.pos)
	end, err := s.end(opened)
	if err != nil {
		return err
	}
	if len(s.tokens) == MaxTokens {
		return &LimitError{What: "tokens", Limit: MaxTokens}
	}
	from, to := trimmed(s.text, s.pos+2, end)
	if from == to {
		return &SyntaxError{
			Position: opened, Expected: "a name is expected between (( and )), none was found",
			Hint: `name an entry, such as ((host)), or write \(( for the two parentheses themselves`,
		}
	}
	s.tokens = append(s.tokens, Token{Position: opened, Name: s.text[from:to], NameOffset: from})
	s.cuts = append(s.cuts, len(s.literal))
	s.pos = end + 2
	return nil
}

// end finds the closing parentheses of the token that was opened.
func (s *scanner) end(opened Position) (int, error) {
	brackets := 0
	for i := opened.Offset + 2; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\\':
			i++
		case c == '[':
			brackets++
		case c == '(' && strings.HasPrefix(s.text[i:], "(("):
			return 0, &SyntaxError{
				Position: s.position(i), Expected: "tokens do not nest: )) is expected before the next ((, for the token of " + opened.String(),
				Hint: unclosed(brackets),
			}
		case brackets > 0:
			i, brackets = within(s.text, i, brackets)
		case strings.HasPrefix(s.text[i:], "))"):
			return i, nil
		}
	}
	return 0, &SyntaxError{
		Position: opened, Expected: ")) is expected to end the token that begins here, the text ended first", Hint: unclosed(brackets),
	}
}

// within looks at a character between brackets: it gives the place of the last one that is done with, and the brackets that are
// still open.
func within(text string, i, brackets int) (last, open int) {
	switch text[i] {
	case '\'', '"':
		return quoted(text, i), brackets
	case ']':
		return i, brackets - 1
	default:
		return i, brackets
	}
}

// unclosed says what to do about a token that does not end.
func unclosed(brackets int) string {
	if brackets > 0 {
		return "close the bracket, and the quote in it if there is one, before the ))"
	}
	return `close the token with )), or write \(( for the two parentheses themselves`
}

// quoted gives the place of the quote that ends the one at i, or the end of the text.
func quoted(text string, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// trimmed takes the white space off both ends, but for a character at the end that a backslash protects.
func trimmed(text string, from, to int) (int, int) {
	name := strings.TrimLeft(text[from:to], " \t\r\n")
	from = to - len(name)
	short := strings.TrimRight(name, " \t\r\n")
	backslashes := len(short) - len(strings.TrimRight(short, `\`))
	if backslashes%2 == 1 && len(short) < len(name) {
		short = name[:len(short)+1]
	}
	return from, from + len(short)
}

// position tells line and column of a place, which must not lie before one that was asked for already.
func (s *scanner) position(offset int) Position {
	s.mark = s.mark.After(s.text[s.mark.Offset:offset])
	return s.mark
}
