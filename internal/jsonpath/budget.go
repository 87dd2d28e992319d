package jsonpath

// Budget is what several evaluations may cost together, where one caller's input holds many paths. It is not safe for
// concurrent use.
type Budget struct {
	limit, left int
}

// NewBudget is a budget of so many nodes, counted as MaxVisits counts them.
func NewBudget(nodes int) *Budget {
	return &Budget{limit: nodes, left: nodes}
}

// Values gives what lies at the places that Find finds, in their order, and takes the cost off the budget. What is given is
// no copy. The error is a *TypeError or a *LimitError.
func (b *Budget) Values(path *Path, root any) ([]any, error) {
	if b.left <= 0 {
		return nil, &LimitError{Expression: path.text, What: "nodes for all paths together", Limit: b.limit}
	}
	e := &evaluation{expression: path.text}
	c := collector{e: e, repeats: mayRepeat(path.steps)}
	err := e.walk(node{value: root, definite: true}, route{steps: path.steps, end: &c})
	b.left -= max(e.spent, 1)
	if err != nil {
		return nil, err
	}
	values := make([]any, 0, len(c.matches))
	for _, m := range c.matches {
		values = append(values, m.Value)
	}
	return values, nil
}
