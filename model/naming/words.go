package naming

import (
	_ "embed"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Words returns the words of a name in lower case: its parts, taken apart where letters meet digits and
// where a capital begins another word, as in apiRateLimit and RATE_LIMITER500.
func Words(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := range len(name) + 1 {
			ends := i == len(name) || !letter(name[i]) ||
				i > from && upper(name[i]) && (!upper(name[i-1]) || i+1 < len(name) && letter(name[i+1]) && !upper(name[i+1]))
			if !ends {
				continue
			}
			if i > from && letter(name[from]) && !yield(strings.ToLower(name[from:i])) {
				return
			}
			if from = i; i < len(name) && !letter(name[i]) {
				from = i + 1
			}
		}
	}
}

func upper(b byte) bool { return b >= 'A' && b <= 'Z' }

// Sense is what the words of a name speak of.
type Sense struct {
	Limits   string // the word that is one for limiters, "" for none
	Attempts string // a word for what is only counted to be limited: attempts, a quota
	Requests string // a word for what may be limited: requests
	Subject  bool   // a word for who is limited
	Settings bool   // a word for what is kept beside limiters: switches, settings, lists of clients
	Other    bool   // a word for what is counted, expires or holds a time and limits nothing
}

//go:embed words.txt
var wordsText string

// lists are the words that names are weighed by, by the name of their list.
var lists = func() map[string]map[string]bool {
	all := make(map[string]map[string]bool)
	var list map[string]bool
	for line := range strings.Lines(wordsText) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok {
			list = make(map[string]bool)
			all[name] = list
		} else if !strings.HasPrefix(line, "#") {
			for word := range strings.FieldsSeq(line) {
				list[word] = true
			}
		}
	}
	return all
}()

var limits, attempts, requests, subjects, settings, others = lists["limits"], lists["attempts"], lists["requests"], lists["subjects"],
	lists["settings"], lists["others"]

// HoldsState says whether the name of a field is one for what a bucket or a window holds, HoldsTime whether it is one
// for when a window ends or a bucket was filled.
func HoldsState(field string) bool { return lists["state"][plain(field)] }

func HoldsTime(field string) bool { return lists["times"][plain(field)] }

// HoldsCount, HoldsTokens and HoldsBegin say whether the name of a field is one for what a window has counted, for what a
// bucket has left, and for when a window began.
func HoldsCount(field string) bool { return lists["counts"][plain(field)] }

func HoldsTokens(field string) bool { return lists["tokens"][plain(field)] }

func HoldsBegin(field string) bool { return lists["begins"][plain(field)] }

// plain returns the name of a field in small letters alone.
func plain(field string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(field))
}

// SenseOf returns what the words of a name speak of.
func SenseOf(name string) (s Sense) {
	before := ""
	for w := range Words(name) {
		switch {
		case settings[w]:
			return Sense{Settings: true, Other: true}
		case limits[w], len(w) > 5 && !strings.HasPrefix(w, "un") && (strings.HasSuffix(w, "limit") || strings.HasSuffix(w, "limiter")):
			s.Limits = w
		case limits[before+"+"+w]:
			s.Limits = before + " " + w
		case attempts[w]:
			s.Attempts = w
		case requests[w]:
			s.Requests = w
		}
		s.Subject = s.Subject || subjects[w]
		s.Other = s.Other || others[w]
		before = w
	}
	if ends := len(name) - len(strings.TrimRight(name, "0123456789")); ends >= 10 && s.Limits == "" && s.Requests == "limit" { // mail-limit@1795300000
		s.Limits = "limit"
	}
	return s
}

// periods are how long the windows are that words are for.
var periods = func() map[string]time.Duration {
	all := make(map[string]time.Duration)
	for list, length := range map[string]time.Duration{
		"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour,
	} {
		for word := range lists[list] {
			all[word] = length
		}
	}
	return all
}()

// lengthPart finds a part of a name that says how long a window is, as 60s, 5min and 1h do.
var lengthPart = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])([1-9]\d{0,3})(s|sec|m|min|h)(?:$|[^a-z0-9])`)

// HoldsLength reports whether a word of Period is a number with a unit.
func HoldsLength(word string) bool { return word != "" && digit(word[0]) }

// Period returns the part of a name that says how long a window is, or the last word of it that does, and that; "" and 0 for none.
func Period(name string) (word string, length time.Duration) {
	if found := lengthPart.FindStringSubmatch(name); found != nil {
		n, _ := strconv.Atoi(found[1])
		one := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}[found[2][0]|0x20]
		return found[1] + found[2], time.Duration(n) * one
	}
	for w := range Words(name) {
		if l := periods[w]; l > 0 {
			word, length = w, l
		}
	}
	return word, length
}
