package projection

import (
	"slices"
)

// gap is a stretch in which two lists differ, after a stretch of kept elements that are the same.
type gap struct {
	kept          int
	before, after []any
}

// align finds the longest common subsequence of two lists, in time and space that grow with how much they differ, and
// gives the gaps between what they have in common.
func align(before, after []any) []gap {
	var gaps []gap
	open := gap{}
	flush := func() {
		if len(open.before)+len(open.after) > 0 {
			gaps = append(gaps, open)
			open = gap{}
		}
	}
	x, y := 0, 0
	for _, edit := range edits(before, after) {
		for x < edit.x && y < edit.y {
			flush()
			open.kept++
			x++
			y++
		}
		if edit.insert {
			open.after = append(open.after, after[y])
			y++
		} else {
			open.before = append(open.before, before[x])
			x++
		}
	}
	flush()
	return gaps
}

// edit is the insertion of an element of the second list, or the deletion of one of the first, at a point in both.
type edit struct {
	x, y   int
	insert bool
}

// frontier is how far the first list is read on each diagonal, which is its position less that in the second list.
type frontier map[int]int

// edits gives the least number of insertions and deletions, by the greedy method of Myers.
func edits(before, after []any) []edit {
	var history []frontier
	reach := frontier{1: 0}
	for cost := 0; ; cost++ {
		next := frontier{}
		for diagonal := -cost; diagonal <= cost; diagonal += 2 {
			x := step(reach, diagonal, cost)
			for x < len(before) && x-diagonal < len(after) && x-diagonal >= 0 &&
				equal(before[x], after[x-diagonal]) {
				x++
			}
			next[diagonal] = x
			if x >= len(before) && x-diagonal >= len(after) {
				return trace(history, x, x-diagonal)
			}
		}
		history = append(history, next)
		reach = next
	}
}

// step extends the frontier of one cost less by an insertion or a deletion.
func step(reach frontier, diagonal, cost int) int {
	if cost == 0 {
		return 0
	}
	if inserts(reach, diagonal, cost) {
		return reach[diagonal+1]
	}
	return reach[diagonal-1] + 1
}

func inserts(reach frontier, diagonal, cost int) bool {
	return diagonal == -cost || diagonal != cost && reach[diagonal-1] < reach[diagonal+1]
}

// trace walks back from the end through the frontiers of each cost.
func trace(history []frontier, x, y int) []edit {
	var found []edit
	for cost := len(history); cost > 0; cost-- {
		reach := history[cost-1]
		diagonal := x - y
		if inserts(reach, diagonal, cost) {
			x = reach[diagonal+1]
			y = x - diagonal - 1
			found = append(found, edit{x: x, y: y, insert: true})
		} else {
			x = reach[diagonal-1]
			y = x - diagonal + 1
			found = append(found, edit{x: x, y: y})
		}
	}
	slices.Reverse(found)
	return found
}
