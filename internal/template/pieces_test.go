package template_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/template"
)

// What is joined is what was taken apart, whatever stands before and behind a token.
func TestJoinIsUndone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.Custom(drawPiece), 0, 6).Draw(t, "pieces")
		want := merged(pieces)
		text := template.Join(pieces...)
		parsed, err := template.Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got := parsed.Pieces()
		if len(got) == 0 && len(want) == 0 {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("pieces of %q (-want +got):\n%s", text, diff)
		}
	})
}

func drawPiece(t *rapid.T) template.Piece {
	if rapid.Bool().Draw(t, "token") {
		return template.Piece{Text: rapid.SampledFrom([]string{"host", "a.b['c)) (d']", "x\\ "}).Draw(t, "name"), IsToken: true}
	}
	return template.Piece{Text: texts().Draw(t, "text")}
}

// merged puts texts that follow each other together, and leaves empty ones out.
func merged(pieces []template.Piece) []template.Piece {
	var all []template.Piece
	for _, piece := range pieces {
		switch last := len(all) - 1; {
		case !piece.IsToken && piece.Text == "":
		case !piece.IsToken && last >= 0 && !all[last].IsToken:
			all[last].Text += piece.Text
		default:
			all = append(all, piece)
		}
	}
	return all
}
