package cmd

import (
	"slices"
	"testing"
)

// TestTerminals: one that can write lines alone gets lines, one without UTF-8 gets ASCII, and an
// output that is no terminal is not asked what it can do.
func TestTerminals(t *testing.T) {
	for _, c := range []struct {
		term            string
		plain, terminal bool
		want            bool
	}{
		{"dumb", false, true, true}, {"dumb", false, false, false}, {"xterm-256color", false, true, false},
		{"", false, true, false}, {"xterm-256color", true, true, true}, {"dumb", true, false, true},
	} {
		t.Setenv("TERM", c.term)
		if got := (&look{plain: c.plain}).lines(c.terminal); got != c.want {
			t.Errorf("TERM=%q, --plain %v, terminal %v: lines %v, want %v", c.term, c.plain, c.terminal, got, c.want)
		}
	}
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false}, {"", "", "C", true}, {"", "", "POSIX", true}, {"", "", "de_DE.UTF-8", false}, {"", "", "C.utf8", false},
		{"C", "", "de_DE.UTF-8", true}, {"", "en_US.UTF-8", "C", false}, {"", "C", "en_US.UTF-8", true}, {"", "", "de_DE@euro", true},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		if got := asciiOnly(); got != c.want {
			t.Errorf("LC_ALL=%q LC_CTYPE=%q LANG=%q: ASCII alone is %v, want %v", c.all, c.ctype, c.lang, got, c.want)
		}
	}
}

// TestFlagSets: every name in a set is that of a shared flag.
func TestFlagSets(t *testing.T) {
	root := Tree()
	for _, name := range slices.Concat(watchFlags, fireFlags, boardFlags) {
		if root.PersistentFlags().Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}
