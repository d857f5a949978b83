package fire

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/fire/foreign"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
)

// maxLine bounds one line of the audit file, in bytes.
const maxLine = 16 << 20

// maxAside is how many of the files that rotate has renamed are searched for an action.
const maxAside = 16

// asideName returns the name that rotate gives to the file at a time.
func (a *audit) asideName(at time.Time) string {
	return a.asidePrefix() + at.UTC().Format("20060102T150405") + ".jsonl"
}

func (a *audit) asidePrefix() string { return strings.TrimSuffix(a.path, ".jsonl") + "-" }

// files returns the audit files to search, oldest first: the latest renamed ones, and the
// current one.
func (a *audit) files() []string {
	folder, prefix := filepath.Split(a.asidePrefix())
	found, _ := os.ReadDir(filepath.Clean(folder)) // sorted by name, which is a time; opening the current file reports an error
	var list []string
	for _, e := range found {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), ".jsonl") && e.Type().IsRegular() {
			list = append(list, folder+e.Name())
		}
	}
	return append(list[max(len(list)-maxAside, 0):], a.path)
}

// each calls take for every line of an action in all files, oldest first. Incomplete lines are
// skipped.
func (a *audit) each(id string, take func(e *entry)) error {
	for _, name := range a.files() {
		if err := eachLine(name, id, take); err != nil {
			return err
		}
	}
	return nil
}

// eachLine calls take for every line of an action in one file.
func eachLine(name, id string, take func(e *entry)) error {
	f, err := file.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e entry
		if strings.Contains(lines.Text(), id) && json.Unmarshal(lines.Bytes(), &e) == nil && e.Action == id {
			take(&e)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the audit file %q cannot be read: %w", name, err)
	}
	return nil
}

// find returns the first and the last line of an action as a whole. It fails if the action is
// unknown, unfinished, or was taken back.
func (a *audit) find(id string) (first, last entry, err error) {
	taken := "" // when it was taken back; "" if it was not
	err = a.each(id, func(e *entry) {
		switch {
		case e.Request != "":
		case e.Outcome == begun:
			first = *e
		case e.Outcome == ended:
			last = *e
		case e.Outcome == undone: // written before it is done; a second line has the error if that failed
			if taken = e.At; e.Error != "" {
				taken = ""
			}
		}
	})
	switch {
	case taken != "":
		return first, last, fmt.Errorf("%s was taken back already, %s", id, age(taken))
	case err != nil:
		return first, last, err
	case first.Action == "":
		return first, last, fmt.Errorf("there is no action %s in %s: fire prints the id as the last word of its summary", safetext.Clean(strconv.Quote(id)), a.path)
	case last.Action == "":
		return first, last, fmt.Errorf("%s cannot be taken back: the program that fired it ended before all its requests were accounted for (%s)", id, age(first.At))
	}
	return first, last, nil
}

// charge is one request of an action that was charged.
type charge struct {
	at         limiter.Instant // when it was decided
	cost, used int64           // its cost, and the units used after it
	asNew      limiter.Instant // see asNewOf, after the request; 0 if unknown
}

// held returns by how much a charge increases the number that a log, a stream or a counter
// holds: a stream has one entry for each request or for each unit.
func (c charge) held(t *model.Target) int64 {
	if t.Algorithm == limiter.StreamCounter && !t.Layout.PerUnit {
		return 1
	}
	return c.cost
}

// deniedCharged reports whether the limiter of t counts denied requests too.
func deniedCharged(t *model.Target) bool {
	w := foreign.For(t)
	return w != nil && w.Charged || w == nil && t.Convention.Denied == limiter.DeniedCharged
}

// first reports whether the charge was the first one of its counter.
func (c charge) first() bool { return c.used == c.cost }

// charges returns the charges of an action's requests, oldest first: of the admitted ones and,
// with denied, of the denied ones too.
func (a *audit) charges(id string, denied bool) (list []charge, err error) {
	err = a.each(id, func(e *entry) {
		charged := e.Outcome == model.Admitted.String() || denied && e.Outcome == model.Denied.String()
		if charged && e.ServerAt != 0 {
			list = append(list, charge{limiter.Instant(e.ServerAt), e.Cost, e.Used, limiter.Instant(e.AsNew)})
		}
	})
	slices.SortStableFunc(list, func(a, b charge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.asNew, b.asNew)) })
	return list, err
}
