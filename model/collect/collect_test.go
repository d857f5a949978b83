package collect

import (
	"slices"
	"strconv"
	"testing"
)

func TestMap(t *testing.T) {
	if got := Map([]int{1, 2}, strconv.Itoa); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("Map = %q", got)
	}
	if got := Map([]int{}, strconv.Itoa); got != nil {
		t.Errorf("Map of an empty list = %v, want nil", got)
	}
}

func TestSum(t *testing.T) {
	if got := Sum([]string{"a", "bc"}, func(s string) int { return len(s) }); got != 3 {
		t.Errorf("Sum = %d, want 3", got)
	}
}

func TestSet(t *testing.T) {
	if got := Set([]string{"a", "b", "a"}); len(got) != 2 || !got["a"] || got["c"] {
		t.Errorf("Set = %v", got)
	}
}

func TestPut(t *testing.T) {
	var m map[string]int
	Put(&m, "a", 1)
	Put(&m, "b", 2)
	if len(m) != 2 || m["a"] != 1 || m["b"] != 2 {
		t.Errorf("Put made %v", m)
	}
}

func TestEntry(t *testing.T) {
	var m map[string]*int
	*Entry(&m, "a") = 7
	if got := Entry(&m, "a"); *got != 7 || len(m) != 1 {
		t.Errorf("Entry = %d of %d", *got, len(m))
	}
}
