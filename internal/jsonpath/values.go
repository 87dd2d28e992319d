package jsonpath

import "errors"

// Values gives what lies at the places of the tree that the path leads to, in the order of Find and with its bounds. Nulls are
// among them. The values are no copies.
func (p *Path) Values(root any) ([]any, error) {
	return NewBudget(MaxVisits).Values(p, root)
}

// Budget is what several evaluations may cost together. It is not safe for concurrent use.
type Budget struct {
	limit, spent int
}

// NewBudget allows evaluations to visit this many nodes together, counted as MaxVisits counts them; each by itself remains bound
// by MaxVisits.
func NewBudget(nodes int) *Budget {
	return &Budget{limit: nodes}
}

// Values does what the path's own Values does, at the cost of the budget. The error is a *TypeError or a *LimitError.
func (b *Budget) Values(p *Path, root any) ([]any, error) {
	// What is not left for this evaluation counts as spent before it began.
	before := max(0, MaxVisits-(b.limit-b.spent))
	e := &evaluation{expression: p.text, spent: before}
	matches, err := p.find(e, root)
	b.spent += min(e.spent, MaxVisits+1) - before
	if err != nil {
		return nil, b.explain(err)
	}
	values := make([]any, 0, len(matches))
	for _, match := range matches {
		values = append(values, match.Value)
	}
	return values, nil
}

// explain names the bound that was gone over, which is the budget's where that is spent.
func (b *Budget) explain(err error) error {
	var limit *LimitError
	if !errors.As(err, &limit) || limit.What != "nodes" || b.spent <= b.limit || b.limit == MaxVisits {
		return err
	}
	return &LimitError{Expression: limit.Expression, What: "nodes for all paths together", Limit: b.limit}
}
