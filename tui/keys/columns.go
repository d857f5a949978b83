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

// columns are those of the table, from the left; the name takes what is left over.
var columns = [...]column{
	{title: "key", width: 16, sort: model.ByName, key: keyCell.name, group: groupCell.name},
	{title: "limiter", width: 7, rank: 3, sort: model.ByAlgorithm, key: keyCell.limiter, group: groupCell.limiter},
	{title: "used/limit", width: 10, right: true, sort: model.ByUtilization, key: keyCell.used, group: groupCell.used},
	{title: "fill", width: 8, rank: 1, share: true, sort: model.ByUtilization, key: keyCell.fill, group: groupCell.fill},
	{title: "rate", width: 7, rank: 2, right: true, sort: model.ByRate, key: keyCell.rate, group: groupCell.rate},
	{title: "denied", width: 7, rank: 5, right: true, sort: model.ByDenied, key: keyCell.denied, group: groupCell.denied},
	{title: "past", width: 6, rank: 4, share: true, sort: model.ByRate, key: keyCell.spark},
	{title: "library", width: 10, rank: 6, sort: model.ByAlgorithm, key: keyCell.library},
	{title: "next", width: 5, right: true, sort: model.ByNext, key: keyCell.next, group: groupCell.next},
}

// fit says which columns there is room for and how wide each is; the name takes what
// is left over, the fill bar and the sparkline share in very wide tables.
func fit(w int) (widths [len(columns)]int) {
	total := 0
	for i, c := range columns {
		widths[i] = c.width
		total += c.width + 1
	}
	const roomy = 16 // the library is worth less than a longer past
	for rank := 6; rank > 0 && (total > w-1 || rank == 6 && total > w-roomy); rank-- {
		for i, c := range columns {
			if c.rank == rank {
				total -= c.width + 1
				widths[i] = 0
			}
		}
	}
	spare := max(0, w-2-total)
	grow := min(spare, 10)
	widths[0] += grow
	spare -= grow
	for i, c := range columns {
		if c.share && widths[i] > 0 {
			share := min(spare*2/5, 40)
			widths[i] += share
		}
	}
	total = 2
	for _, n := range widths {
		if n > 0 {
			total += n + 1
		}
	}
	widths[0] += max(0, w-total+1)
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
