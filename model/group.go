package model

import (
	"strings"
	"time"
)

// Group holds keys whose names have a common prefix.
type Group struct {
	Prefix string // ends with a separator; "" if the group has one key
	Keys   []*Watched
}

// separators are the characters that end a part of a key's name.
const separators = ":/|."

// GroupBy groups keys by the first part of their names in which they differ. Groups are in the order of
// their first keys.
func GroupBy(keys []*Watched) []Group {
	common := commonPrefix(keys)
	place := map[string]int{}
	var list []Group
	for _, k := range keys {
		prefix := k.Reading.Key
		if i := strings.IndexAny(prefix[common:], separators); i >= 0 {
			prefix = prefix[:common+i+1]
		}
		i, ok := place[prefix]
		if !ok {
			i = len(list)
			place[prefix] = i
			list = append(list, Group{Prefix: prefix})
		}
		list[i].Keys = append(list[i].Keys, k)
	}
	for i := range list {
		if len(list[i].Keys) == 1 {
			list[i].Prefix = ""
		}
	}
	return list
}

// commonPrefix returns the length, in bytes, of the parts that the names of all keys begin with.
func commonPrefix(keys []*Watched) int {
	if len(keys) == 0 {
		return 0
	}
	first := keys[0].Reading.Key
	n := len(first)
	for _, k := range keys[1:] {
		name := k.Reading.Key
		n = min(n, len(name))
		for i := range n {
			if name[i] != first[i] {
				n = i
				break
			}
		}
	}
	return strings.LastIndexAny(first[:n], separators) + 1
}

// RunAll runs the requests of several keys through a limiter with other terms, one for each key, and
// adds up the outcomes. It begins the given number of windows before each key's latest reading. Past
// denials are known only if those of all keys are. Levels are set only for a single key. The requests
// are also added to the columns of into, unless it is nil.
func RunAll(keys []*Watched, terms Target, windows int, into *Compared) WhatIf {
	sum := WhatIf{DeniedKnown: true}
	for _, k := range keys {
		if k.Timeline == nil || k.Reading.At == 0 {
			continue
		}
		to := k.Reading.At
		w := k.compare(terms, max(to.Add(-time.Duration(windows)*k.Timeline.Window()), k.Timeline.First()), to, into)
		if sum.From == 0 || w.From < sum.From {
			sum.From = w.From
		}
		sum.To = max(sum.To, w.To)
		sum.Admitted, sum.Denied = sum.Admitted+w.Admitted, sum.Denied+w.Denied
		sum.Was, sum.WasDenied = sum.Was+w.Was, sum.WasDenied+w.WasDenied
		sum.DeniedKnown = sum.DeniedKnown && w.DeniedKnown
		sum.Longest = max(sum.Longest, w.Longest)
		if w.Differs != 0 && (sum.Differs == 0 || w.Differs < sum.Differs) {
			sum.Differs, sum.Stricter = w.Differs, w.Stricter
		}
		sum.Levels = w.Levels
	}
	if len(keys) != 1 {
		sum.Levels = nil
	}
	return sum
}
