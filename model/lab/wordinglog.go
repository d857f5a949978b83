package lab

import (
	"fmt"
	"sort"
	"strconv"

	"ratescope/limiter"
)

// excess is how many units have to leave before the request fits.
func (w *wording) excess() int64 {
	if w.terms.Rule == limiter.RuleBelow {
		return w.m.Decision.Used - w.limit.Count + 1
	}
	return w.m.Decision.Used - w.limit.Count + w.n
}

// live returns the entries that count after the decision.
func (w *wording) live() []limiter.Entry {
	log := w.m.Before.Log
	if w.charge {
		log = w.m.After.Log
	}
	low := lowest(w.at, w.limit.Window, w.terms)
	return log[sort.Search(len(log), func(i int) bool { return log[i].At >= low }):]
}

// latestScore is above every instant that a member may be of.
const latestScore = 1 << 53

// shownMembers is how many members of one ZADD are written out.
const shownMembers = 4

func (w *wording) log() {
	used := w.look.Used
	w.run(strconv.FormatInt(used, 10), "ZCOUNT", key, int64(lowest(w.at, w.limit.Window, w.terms)), int64(latestScore))
	if used == 0 {
		newest := "nothing" // on the server's own clock a set in which nothing counts has expired
		if log := w.m.Before.Log; w.given && w.m.Stored.Units > 0 && len(log) > 0 {
			newest = fmt.Sprint(int64(log[len(log)-1].At))
		}
		w.run(newest, "ZRANGE", key, -1, -1, "WITHSCORES")
		if newest != "nothing" {
			w.run("", "PTTL", key)
		}
	}
	if w.charge {
		if used == 0 {
			w.run("", "UNLINK", key)
			w.m.Stored.Units = 0
		}
		w.members()
		w.expire(key, w.limit.Window+edgeOf(w.terms))
		if w.given && int64(w.at)%trimLogEvery < w.n || !w.given && trims(w.at, w.n) {
			stored := w.m.Stored.Units + w.n
			w.run(strconv.FormatInt(stored, 10), "ZCARD", key)
			after := w.m.Stored
			after.Units = stored
			if dead := after.trimmed(w.n, used+w.n); dead > 0 {
				w.run("", "ZRANGE", key, 0, 0, "WITHSCORES")
				w.run(strconv.FormatInt(dead, 10), "ZREMRANGEBYRANK", key, 0, dead-1)
			}
		}
	}
	if w.m.Decision.Allowed || w.m.Decision.Used == 0 {
		return
	}
	live := w.live()
	if k := w.excess(); w.s.Limit.Count > 0 && k > 0 && k <= w.m.Decision.Used {
		rank := k - w.m.Decision.Used - 1
		w.run(w.memberAt(live, k), "ZRANGE", key, rank, rank, "WITHSCORES")
		w.list[len(w.list)-1].in = "rank, rank"
	}
	w.run(fmt.Sprint(int64(live[len(live)-1].At)), "ZRANGE", key, -1, -1, "WITHSCORES")
	w.list[len(w.list)-1].in = "newest"
}

// memberAt is the score of the k-th unit that counts.
func (w *wording) memberAt(live []limiter.Entry, k int64) string {
	for _, e := range live {
		if k -= e.Count; k <= 0 {
			return fmt.Sprint(int64(e.At))
		}
	}
	return ""
}

// members adds one member a unit: the microsecond, and a number behind it where that is
// not enough to tell them apart.
func (w *wording) members() {
	var have int64 // of this very microsecond
	for _, entry := range w.m.Before.Log {
		if entry.At == w.at {
			have += entry.Count
		}
	}
	at := int64(w.at)
	if w.n == 1 {
		answer := "1"
		if have > 0 {
			answer = "0: it is a member already"
		}
		w.run(answer, "ZADD", key, "NX", at, at)
		if have == 0 {
			return
		}
	}
	w.run(strconv.FormatInt(have, 10), "ZCOUNT", key, at, at)
	words := []any{"ZADD", key, "NX"}
	for i := int64(1); i <= w.n; i++ {
		if i > shownMembers {
			words = append(words, "…")
			break
		}
		words = append(words, at, fmt.Sprintf("%d-%d", at, have+i))
	}
	w.run(strconv.FormatInt(w.n, 10), words...)
}

// faulty is a sorted set under a script with one of the faults.
func (w *wording) faulty() {
	low, member, score := w.at.Add(-w.limit.Window).Millis(), w.at.Millis(), w.at.Millis()
	if w.c.Fault == SecondsAsMillis {
		seconds := int64(w.at) / 1_000_000
		low, member, score = seconds-w.s.Limit.Window.Milliseconds(), int64(w.at), seconds
	}
	after := "("
	if w.terms.Edge == limiter.EdgeClosed {
		after = ""
	}
	w.run(strconv.FormatInt(w.look.Used, 10), "ZCOUNT", key, after+strconv.FormatInt(low, 10), "+inf")
	if w.charge {
		w.run("", "ZADD", key, score, member)
		w.expire(key, w.s.Limit.Window+edgeOf(w.terms))
	}
}

// streamID is the id of an entry: its millisecond, and its microsecond plus one before the
// running total.
func streamID(at limiter.Instant, total int64) string {
	return fmt.Sprintf("%d-%d%015d", at.Millis(), int64(at)%1000+1, total)
}

func (w *wording) stream() {
	used, total := w.look.Used, w.m.Total
	exists := len(w.m.Stored.Nodes) > 0 && (w.slack > 0 || w.at < w.m.Stored.Expires)
	low := lowest(w.at, w.limit.Window, w.terms)
	if !exists {
		w.run("nothing", "XREVRANGE", key, "+", "(0", "COUNT", 1)
	} else {
		w.run(fmt.Sprintf("total %d", total), "XREVRANGE", key, "+", "(0", "COUNT", 1)
		answer := "nothing"
		if used > 0 {
			answer = fmt.Sprintf("total %d before it: used %d - %d = %d", total-used, total, total-used, used)
		}
		w.run(answer, "XRANGE", key, streamID(low, 0), "+", "COUNT", 1)
	}
	if w.charge {
		stored := w.m.Stored.clone()
		if exists && used == 0 {
			w.run("", "UNLINK", key)
		}
		if used == 0 {
			total, stored.Nodes = 0, nil
		}
		total += w.n
		stored.append(w.at)
		w.run("", "XADD", key, streamID(w.at, total), "count", w.n, "total", total)
		w.expire(key, w.limit.Window+edgeOf(w.terms))
		w.trim(&stored, low, total)
	}
	if !w.m.Decision.Allowed && w.m.Decision.Used > 0 {
		w.leaving(low, total)
	}
}

// trim drops nodes of a stream with every so many units.
func (w *wording) trim(stored *Stored, low limiter.Instant, total int64) {
	if total%trimStreamEvery >= w.n {
		return
	}
	gone := stored.trimNodes(low, trimStreamMost)
	w.run(strconv.Itoa(gone), "XTRIM", key, "MINID", "~", low.Millis(), "LIMIT", trimStreamMost)
	if gone == 0 && total%trimStreamLeft < w.n {
		w.run(strconv.Itoa(stored.trimNodes(low, 100*nodeEntries)), "XTRIM", key, "MINID", "~", low.Millis())
	}
}

// leaving looks for the entry that has to leave before the request fits: between two
// known ones, in turns by their totals and by half the time between them.
func (w *wording) leaving(low limiter.Instant, total int64) {
	live := w.live()
	ends := make([]int64, len(live)) // the running total with each entry
	sum := total - w.m.Decision.Used
	for i, e := range live {
		sum += e.Count
		ends[i] = sum
	}
	newest := live[len(live)-1].At
	w.run(fmt.Sprintf("newest at %d", newest), "XREVRANGE", key, "+", "-", "COUNT", 1)
	k := w.excess()
	if w.s.Limit.Count == 0 || k <= 0 || k > w.m.Decision.Used {
		return
	}
	if w.look.Used == 0 { // the first one was not known
		w.run(fmt.Sprintf("total %d", ends[0]), "XRANGE", key, streamID(low, 0), "+", "COUNT", 1)
	}
	goal := total - w.m.Decision.Used + k
	before, high, under, over := float64(live[0].At), float64(newest), float64(ends[0]), float64(total)
	for halve := false; under < float64(goal) && high-before > 1; halve = !halve {
		part := 0.5
		if !halve {
			part = (float64(goal) - under) / (over - under)
		}
		mid := limiter.Instant(min(max(float64(int64(before+(high-before)*part)), before+1), high-1))
		at := sort.Search(len(live), func(i int) bool { return live[i].At > mid }) - 1
		w.run(fmt.Sprintf("total %d", ends[at]), "XREVRANGE", key, fmt.Sprintf("%d-%d999999999999999", mid.Millis(), int64(mid)%1000+1), "-", "COUNT", 1)
		if ends[at] < goal {
			before, under = float64(mid), float64(ends[at])
			continue
		}
		high, over = float64(live[at].At), float64(ends[at])
		answer := "nothing"
		if at > 0 {
			answer = fmt.Sprintf("total %d", ends[at-1])
		}
		w.run(answer, "XREVRANGE", key, "("+streamID(live[at].At, ends[at]), "-", "COUNT", 1)
		if at > 0 && ends[at-1] < goal {
			return
		}
	}
}
