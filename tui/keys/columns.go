package keys

import (
	"ratescope/model"
)

// column is one column of the key table. Columns with a higher rank go first when the width
// is short; those that share grow in a wide table.
type column struct {
	title string
	width int
	rank  int
	right bool
	share bool
	sort  model.Sort
	key   func(keyCell)
	group func(groupCell) // the same of a group; nil leaves it blank
}

// columns are those of the table, from the left; the name takes what the lane leaves over.
var columns = [...]column{
	{title: "key", width: 16, sort: model.ByName, key: keyCell.name, group: groupCell.name},
	{title: "server", sort: model.ByName, key: keyCell.server},
	{title: "limiter", width: 7, rank: 4, sort: model.ByAlgorithm, key: keyCell.limiter, group: groupCell.limiter},
	{title: "library", width: 10, rank: 6, sort: model.ByAlgorithm, key: keyCell.library},
	{title: "limit", width: 11, rank: 2, sort: model.ByAlgorithm, key: keyCell.limit, group: groupCell.limit},
	{title: "used/limit", width: 10, right: true, sort: model.ByUtilization, key: keyCell.used, group: groupCell.used},
	{title: laneTitle, width: leastLane, share: true, sort: model.ByUtilization, key: keyCell.lane, group: groupCell.lane},
	{title: "rate", width: 7, rank: 3, right: true, sort: model.ByRate, key: keyCell.rate, group: groupCell.rate},
	{title: "denied", width: 7, rank: 5, right: true, sort: model.ByDenied, key: keyCell.denied, group: groupCell.denied},
	{title: "next", width: 9, right: true, sort: model.ByNext, key: keyCell.next, group: groupCell.next},
}

// laneTitle is the title of the lanes, in whose place the axis of time stands.
const laneTitle = "lane"

// leastLane is how many cells the lanes have at least, and roomyLane how many they have before a
// column that can be left out takes its place.
const leastLane, roomyLane = 24, 56

// fit says which columns there is room for and how wide each is: names of so many columns take up to
// a quarter of the width, those of servers so many cells, and the lane all that is left.
func fit(w, longest, server int) (widths [len(columns)]int) {
	total := 2
	for i, c := range columns {
		if widths[i] = c.width; i == 1 {
			widths[i] = server
		}
		if widths[i] > 0 {
			total += widths[i] + 1
		}
	}
	name := max(min(longest+1, w/4), columns[0].width)
	total += name - widths[0]
	widths[0] = name
	for rank := 6; rank > 0; rank-- {
		for i, c := range columns {
			if c.rank == rank && total+roomyLane-leastLane > w {
				total -= c.width + 1
				widths[i] = 0
			}
		}
	}
	for i, c := range columns {
		if c.share {
			widths[i] += w - total
		}
	}
	if lane := widths[6]; lane < 1 {
		widths[6] = 0
		widths[0] = max(widths[0]+lane, 1)
	}
	return widths
}

// columnAt returns the title of the column so many cells from the left edge of a row.
func columnAt(widths *[len(columns)]int, at int) string {
	x := 3
	for i, w := range widths {
		if x += w; w > 0 {
			if x++; at < x {
				return columns[i].title
			}
		}
	}
	return ""
}

// laneAt returns how many cells from the left edge of a row the lanes begin, and how many they have.
func laneAt(widths *[len(columns)]int) (at, cells int) {
	at = 2
	for i, w := range widths {
		if columns[i].title == laneTitle {
			return at, w
		}
		if w > 0 {
			at += w + 1
		}
	}
	return at, 0
}
