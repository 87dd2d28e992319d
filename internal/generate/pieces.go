package generate

import (
	"strings"
	"unicode/utf8"
)

// piece is a stretch of a text: an expression with its braces, or what stands between expressions.
type piece struct {
	text       string
	at         int
	expression bool
}

// pieces takes a text apart. A brace or a comma within quotes belongs to the expression that the quotes stand in.
func pieces(text string) ([]piece, *wrong) {
	var found []piece
	for at := 0; at < len(text); {
		if text[at] != '{' {
			end := at + strings.IndexByte(text[at:], '{')
			if end < at {
				end = len(text)
			}
			found = append(found, piece{text: text[at:end], at: at})
			at = end
			continue
		}
		end, w := closing(text, at)
		if w != nil {
			return nil, w
		}
		found = append(found, piece{text: text[at : end+1], at: at, expression: true})
		at = end + 1
	}
	return found, nil
}

// closing finds the brace that closes the one at a position.
func closing(text string, opened int) (int, *wrong) {
	var quote byte
	quoted := opened
	for i := opened + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quote == 0 && (c == '\'' || c == '"'):
			quote, quoted = c, i
		case c == quote:
			quote = 0
		case c == '}' && quote == 0:
			return i, nil
		}
	}
	if quote != 0 {
		return 0, &wrong{
			at:      quoted,
			problem: "the quote " + string(quote) + " within the braces is not closed",
			hint:    "close it before the brace",
		}
	}
	return 0, &wrong{at: opened, problem: "the brace is not closed", hint: "an expression is written {.status.field}"}
}

// part is one parameter of a rule.
type part struct {
	text string
	at   int
}

// parts splits a text at the commas that stand outside braces, and takes off the spaces around each part.
func parts(text string) ([]part, *wrong) {
	found, w := pieces(text)
	if w != nil {
		return nil, w
	}
	var split []part
	start := 0
	cut := func(end int) {
		trimmed := strings.TrimLeft(text[start:end], " \t\n")
		at := end - len(trimmed)
		split = append(split, part{text: strings.TrimRight(trimmed, " \t\n"), at: at})
		start = end + 1
	}
	for _, p := range found {
		if p.expression {
			continue
		}
		for i := range len(p.text) {
			if p.text[i] == ',' {
				cut(p.at + i)
			}
		}
	}
	cut(len(text))
	return split, nil
}

// typographic are the quotes that word processors put in place of straight ones.
const typographic = "“”„‟‘’‚‛«»"

// typographicQuote finds such a quote outside braces; -1 without one.
func typographicQuote(text string) (at int, quote string) {
	found, w := pieces(text)
	if w != nil {
		found = []piece{{text: text}}
	}
	for _, p := range found {
		if p.expression {
			continue
		}
		if i := strings.IndexAny(p.text, typographic); i >= 0 {
			r, _ := utf8.DecodeRuneInString(p.text[i:])
			return p.at + i, string(r)
		}
	}
	return -1, ""
}

const straighten = "take it out; YAML takes only straight quotes, \" or ', and they are no part of the value"

// refuseQuotes refuses typographic quotes outside braces.
func refuseQuotes(text string) *wrong {
	at, quote := typographicQuote(text)
	if at < 0 {
		return nil
	}
	return &wrong{at: at, problem: "the typographic quote " + quote + " is not expected here", hint: straighten}
}
