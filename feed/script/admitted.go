package script

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Admitted says which replies of a script admit a request. The zero value takes 1 and true, alone or
// as the first of an array.
type Admitted struct {
	index   int    // of an array, from 1; 0: the reply itself, or the first of an array
	compare string // one of = >= > <= <; "" for the zero value
	number  float64
}

var admitted = regexp.MustCompile(`^(?:\[(\d+)\])?(=|>=|>|<=|<)?(-?\d+(?:\.\d+)?)$`)

// ParseAdmitted reads which replies admit: 1, 0, >=0, [2]=1. Empty is 1.
func ParseAdmitted(text string) (Admitted, error) {
	if text == "" {
		text = "1"
	}
	parts := admitted.FindStringSubmatch(text)
	if parts == nil || parts[1] != "" && (parts[2] == "" || parts[1] == "0") {
		return Admitted{}, fmt.Errorf("%q does not say which replies admit a request: "+
			"use 1 (1 or true admits), 0, >=0, or [2]=1 for the second of an array", text)
	}
	index, indexErr := strconv.Atoi("0" + parts[1])
	number, err := strconv.ParseFloat(parts[3], 64)
	switch {
	case errors.Join(indexErr, err) != nil:
		return Admitted{}, fmt.Errorf("%q does not say which replies admit a request: the number is too large", text)
	case text == "1":
		return Admitted{}, nil
	case parts[2] == "":
		parts[2] = "="
	}
	return Admitted{index: index, compare: parts[2], number: number}, nil
}

// String returns the text that ParseAdmitted reads.
func (a Admitted) String() string {
	number := strconv.FormatFloat(a.number, 'f', -1, 64)
	switch {
	case a.compare == "":
		return "1"
	case a.index > 0:
		return fmt.Sprintf("[%d]%s%s", a.index, a.compare, number)
	case a.compare == "=" && a.number != 1:
		return number
	}
	return a.compare + number
}

// Admits judges the reply of a script, as go-redis returns it: nil is a script's false or nil. The
// error says that the reply is of a form that a does not speak of, so that nothing is known.
func (a Admitted) Admits(reply any) (bool, error) {
	if list, ok := reply.([]any); ok {
		at := max(a.index, 1) - 1
		if at >= len(list) {
			return false, fmt.Errorf("the script's reply has %d elements, and admitted %s asks for number %d", len(list), a, at+1)
		}
		reply = list[at]
	} else if a.index > 0 {
		return false, fmt.Errorf("the script's reply is no array, and admitted %s asks for number %d", a, a.index)
	}
	n, ok := number(reply)
	if !ok && a.compare == "" {
		if reply == nil {
			return false, nil // what Redis makes of false
		}
		if b, isBool := reply.(bool); isBool {
			return b, nil
		}
	}
	if !ok {
		return false, fmt.Errorf("the script's reply is no number: say with admitted which replies admit, as in [2]=1")
	}
	switch a.compare {
	case ">=":
		return n >= a.number, nil
	case ">":
		return n > a.number, nil
	case "<=":
		return n <= a.number, nil
	case "<":
		return n < a.number, nil
	case "=":
		return n == a.number, nil
	}
	return n == 1, nil
}

// number reads a reply as a number: an integer, a double, or a text that is one.
func number(reply any) (float64, bool) {
	switch v := reply.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil
	}
	return 0, false
}
