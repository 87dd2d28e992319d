// Package jsonpath finds places in a tree of JSON values with the JSONPath dialect that users of kubectl know.
//
// It promises an answer in bounded time and memory for every expression and every tree, in an order that depends on
// nothing but the two, and it answers with places, not only with values, so that a caller can change what it found.
// It refuses to guess: an expression that it does not understand is an error that names the position, and a path
// that runs through a string, a number or a boolean is an error that names where.
//
// The dialect: .a.b, ['a.b'], ["a"], .a\.b, [*], .*, [0], [-1], [1:3], [0:5:2], the unions [0,2] and ['a','b'],
// recursive descent ..name, and filters [?(@.name=="x")] with ==, !=, <, <=, >, >= and bare existence [?(@.x)].
// Braces around the expression and a leading $ are optional.
package jsonpath

// The bounds of what one expression may be and may cost.
const (
	// MaxLength is the number of bytes an expression may have.
	MaxLength = 1024
	// MaxSteps is the number of steps an expression may have, those within filters and unions included.
	MaxSteps = 64
	// MaxVisits is the number of nodes that one evaluation may visit. A key that is sorted counts as four nodes, a level of a
	// place that is found as three, a member of a union as one at each node, and long texts as given below. So no evaluation
	// allocates more than 1 MiB, which a test holds, or takes longer than 10 ms, which a benchmark shows.
	MaxVisits = 50_000
	// MaxMatches is the number of places that one evaluation may find.
	MaxMatches = 1_000
	// MaxDepth is the number of levels that an evaluation may descend.
	MaxDepth = 256
	// maxNesting is the number of filters that may stand inside each other.
	maxNesting = 4

	// How many bytes of text count as one more node: of keys that are sorted, of places that are found, and of texts that
	// are compared. A tree may be as large as the API server lets an object be, and most of it may be one text.
	keyBytes   = 128
	tokenBytes = 4
	textBytes  = 512
)
