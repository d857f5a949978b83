// Package script is the grammar in which a user says how a limiter script of their own is called and
// what its reply means: the keys and the arguments with words in braces, as rl:{who} and {window_ms},
// and the replies that admit. It parses, expands and judges, and calls nothing.
package script

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// Call is how a script is called. The zero value has no keys and no arguments, and admits by the
// reply 1. It is safe for concurrent use.
type Call struct {
	Keys, Args []string // with words in braces
	Admitted   Admitted
}

// Values are what the words of a call stand for.
type Values struct {
	Who   string        // {who}: the subject that is limited
	Limit limiter.Limit // {limit}, {window_s}, {window_ms}
	Now   limiter.Instant
	Cost  int64
	ID    string // {id}: differs from request to request
}

// words are what may stand between braces, with its value.
var words = map[string]func(v *Values) string{
	"who":       func(v *Values) string { return v.Who },
	"limit":     func(v *Values) string { return strconv.FormatInt(v.Limit.Count, 10) },
	"window_s":  func(v *Values) string { return strconv.FormatFloat(v.Limit.Window.Seconds(), 'f', -1, 64) },
	"window_ms": func(v *Values) string { return strconv.FormatInt(v.Limit.Window.Milliseconds(), 10) },
	"now_s":     func(v *Values) string { return strconv.FormatInt(int64(v.Now.Floor(time.Second))/1e6, 10) },
	"now_ms":    func(v *Values) string { return strconv.FormatInt(v.Now.Millis(), 10) },
	"cost":      func(v *Values) string { return strconv.FormatInt(v.Cost, 10) },
	"id":        func(v *Values) string { return v.ID },
}

// Default is how a script is called of which nothing is said: one key, and the limit, the window, the
// instant and the cost.
var Default = Call{Keys: []string{"{who}"}, Args: []string{"{limit}", "{window_ms}", "{now_ms}", "{cost}"}}

// word finds a word in braces; what else stands in braces is itself, as the hash tag of a cluster.
var word = collect.Regexp(`\{[a-z_]+\}`)

// Parse reads a call. Keys may hold braces of any other meaning; an argument that is a word in braces
// alone has to be one that is known.
func Parse(keys, args []string, admitted string) (Call, error) {
	c := Call{Keys: keys, Args: args}
	for _, a := range args {
		if name := strings.Trim(a, "{}"); word().FindString(a) == a && a != "" && words[name] == nil {
			return c, fmt.Errorf("%s is no argument of a script that is known: use %s", a, strings.Join(Words(), ", "))
		}
	}
	var err error
	c.Admitted, err = ParseAdmitted(admitted)
	return c, err
}

// Words returns the words that are known, with their braces.
func Words() []string {
	return collect.Map(slices.Sorted(maps.Keys(words)), func(name string) string { return "{" + name + "}" })
}

// Expand returns the keys and the arguments of one request.
func (c *Call) Expand(v Values) (keys, args []string) { return expand(c.Keys, &v), expand(c.Args, &v) }

func expand(texts []string, v *Values) []string {
	return collect.Map(texts, func(text string) string {
		var b strings.Builder
		for {
			before, rest, open := strings.Cut(text, "{")
			b.WriteString(before)
			if !open {
				return b.String()
			}
			name, after, closed := strings.Cut(rest, "}")
			if value := words[name]; closed && value != nil {
				b.WriteString(value(v))
				text = after
			} else {
				b.WriteByte('{')
				text = rest
			}
		}
	})
}

// Head returns the call that the comment at the head of a script says, as in
//
//	-- ratescope: keys rl:{who}; args {limit} {window_ms}; admitted >=0
//
// found is false where no comment before the first statement begins so. What the comment leaves out
// is as in Default.
func Head(text string) (c Call, found bool, err error) {
	c = Default
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		said, ours := strings.CutPrefix(strings.TrimSpace(strings.TrimLeft(line, "-")), "ratescope:")
		switch {
		case line == "" || strings.HasPrefix(line, "#!"):
			continue
		case !strings.HasPrefix(line, "--"):
			return c, false, nil
		case !ours:
			continue
		}
		keys, args, admitted := c.Keys, c.Args, ""
		for part := range strings.SplitSeq(said, ";") {
			switch name, rest, _ := strings.Cut(strings.TrimSpace(part), " "); name {
			case "keys":
				keys = strings.Fields(rest)
			case "args":
				args = strings.Fields(rest)
			case "admitted":
				admitted = strings.TrimSpace(rest)
			case "":
			default:
				return c, true, fmt.Errorf("%q is no word of the comment \"-- ratescope:\": use keys, args, admitted", name)
			}
		}
		c, err = Parse(keys, args, admitted)
		return c, true, err
	}
	return c, false, nil
}

// Admitted says which replies of a script admit a request. The zero value takes 1 and true, alone or
// as the first of an array.
type Admitted struct {
	part    string // of an array, its number from 1, or the name of a field of JSON; "": the reply itself, or the first of an array
	compare string // one of = >= > <= <; "" for the zero value, or where text is set
	number  float64
	text    string // that alone admits; nil stands for no reply, and any for every one
	denies  bool   // an error that the script returns denies
}

var admitted = collect.Regexp(`^(?:\[([1-9]\d{0,3}|[A-Za-z_]\w*)\])?(?:(=|>=|>|<=|<)?(-?\d{1,18}(?:\.\d+)?)|=?([A-Za-z][\w-]*))$`)

// ParseAdmitted reads which replies admit: 1, 0, >=0, OK, nil, any, [2]=1, [allowed]=1, and with /error behind it that
// an error which the script returns denies. Empty is 1.
func ParseAdmitted(text string) (a Admitted, err error) {
	form, denies := strings.CutSuffix(text, "/error")
	parts := admitted().FindStringSubmatch(form)
	switch {
	case text == "" || form == "1" || form == "true":
		return Admitted{denies: denies}, nil
	case parts == nil || parts[1] != "" && !strings.Contains(form, "]=") && parts[2] == "":
		return Admitted{}, fmt.Errorf("%q does not say which replies admit a request: use 1 (1 or true admits), 0, >=0, OK "+
			"or another text, nil, any, [2]=1 for the second of an array, or [allowed]=1 for a field of JSON, and /error behind it "+
			"where an error denies", text)
	}
	a = Admitted{part: parts[1], denies: denies}
	if a.text = parts[4]; a.text == "true" || a.text == "false" && a.part != "" {
		a.compare, a.number, a.text = "=", collect.If(a.text == "true", 1.0, 0), ""
	} else if a.text == "" {
		a.compare = cmp.Or(parts[2], "=")
		a.number, _ = strconv.ParseFloat(parts[3], 64)
	}
	return a, nil
}

// String returns the text that ParseAdmitted reads.
func (a Admitted) String() string {
	text := cmp.Or(a.compare, "=") + cmp.Or(a.text, strconv.FormatFloat(a.number, 'f', -1, 64))
	switch {
	case a.compare == "" && a.text == "":
		text = "1"
	case a.part != "":
		text = "[" + a.part + "]" + text
	case text != "=1":
		text = strings.TrimPrefix(text, "=")
	}
	if a.denies {
		text += "/error"
	}
	return text
}

// Admits judges the reply of a script, as go-redis returns it: nil is a script's false or nil, and an error one
// that it returned. The error says that the reply is of a form that a does not speak of, so that nothing is known.
func (a Admitted) Admits(reply any) (bool, error) {
	if failed, ok := reply.(error); ok {
		if a.denies {
			return false, nil
		}
		return false, failed
	}
	if a.text == "any" && a.part == "" {
		return true, nil
	}
	reply, err := a.pick(reply)
	if err != nil {
		return false, err
	}
	text, isText := reply.(string)
	switch {
	case a.text == "nil":
		return reply == nil, nil
	case a.text != "" && isText:
		return text == a.text, nil
	}
	if b, ok := reply.(bool); ok && (a.compare == "" || a.part != "") {
		reply = collect.If(b, 1, int64(0))
	}
	n, ok := number(reply)
	switch {
	case ok && a.text == "":
	case reply == nil && (a.compare != "=" || a.number != 0):
		return false, nil // what Redis makes of false
	default:
		return false, fmt.Errorf("the script's reply is not what admitted %s speaks of: say which replies admit, as in [2]=1 or OK", a)
	}
	if a.compare == "" {
		return n == 1, nil
	}
	side := []string{"<", "=", ">"}[cmp.Compare(n, a.number)+1]
	return strings.Contains(a.compare, side), nil
}

// pick returns the part of a reply that tells.
func (a Admitted) pick(reply any) (any, error) {
	index, err := strconv.Atoi(cmp.Or(a.part, "1"))
	if err != nil {
		var object map[string]any
		text, _ := reply.(string)
		if json.Unmarshal([]byte(text), &object) != nil {
			return nil, fmt.Errorf("the script's reply is no JSON object, and admitted %s asks for a field", a)
		}
		part, found := object[a.part]
		if !found {
			return nil, fmt.Errorf("the script's reply has no field %q, for which admitted %s asks", a.part, a)
		}
		return part, nil
	}
	list, ok := reply.([]any)
	switch {
	case !ok && a.part != "" && reply != nil:
		return nil, fmt.Errorf("the script's reply is no array, and admitted %s asks for number %d", a, index)
	case !ok:
		return reply, nil
	case index > len(list):
		return nil, fmt.Errorf("the script's reply has %d elements, and admitted %s asks for number %d", len(list), a, index)
	}
	return list[index-1], nil
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
