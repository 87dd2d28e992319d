package run

import (
	"strings"

	"github.com/bowline-dev/bowline/internal/node"
)

// environment is what a program is started with. It may hold secret values.
type environment struct {
	list []string
	// moved are the names of variables whose paths were moved.
	moved []string
}

// environ puts the container's variables over inherited ones. A relocator that is nil moves nothing.
func environ(inherited []string, plan *node.Plan, move *relocator) environment {
	var e environment
	own := map[string]bool{node.RootVariable: true} // that of another program names other bindings
	for _, v := range plan.Env {
		own[v.Name] = true
	}
	for _, pair := range inherited {
		if name, _, _ := strings.Cut(pair, "="); !own[name] {
			e.list = append(e.list, pair)
		}
	}
	for _, v := range plan.Env {
		value := string(v.Value.Reveal())
		if move != nil {
			if moved := move.variable(v.Name, value); moved != value {
				value = moved
				e.moved = append(e.moved, v.Name)
			}
		}
		e.list = append(e.list, v.Name+"="+value)
	}
	return e
}

// Clean keeps of an environment what a program can hardly do without: where to find others.
func Clean(inherited []string) []string {
	for _, pair := range inherited {
		if strings.HasPrefix(pair, "PATH=") {
			return []string{pair}
		}
	}
	return nil
}
